#include "common/tinygpu/engines/mma/tensor_mma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "common/tinygpu/engines/mma/mma_statistics.h"
#include "common/tinygpu/engines/mma/operand_planes.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {
namespace {

using numerics::Format;
using numerics::MmaTile;
using Accumulator = InstructionDescriptor::Accumulator;

/// How an MMA spreads over CTAs, lanes and columns. Each CTA computes `rows` rows of D in as many parts as there are
/// CTAs: part p multiplies by the columns of B that CTA p's shared memory holds. The lanes of A in Tensor Memory are
/// D's.
struct DataPath {
  uint32_t ctas = 1;
  uint32_t rows = 0;     // of D, and of A, in a CTA
  uint32_t columns = 0;  // of D in a part
  bool halves = false;   // 16 lanes of each partition (layout F)
  bool banks = false;    // part p in lanes 64 p on, the same columns; A there once more (layout B)

  DataPath() = default;
  DataPath(uint32_t cta_group, uint32_t m, uint32_t n)
      : ctas(cta_group),
        rows(m / cta_group),
        columns(n / cta_group),
        halves(cta_group == 1 && m == 64),
        banks(cta_group == 2 && m == 128) {}

  /// Lane of row 16 `i` of part `p`, relative to the address.
  uint32_t lane(uint32_t p, uint32_t i) const { return halves ? 32 * i : 64 * p * banks + 16 * i; }
  /// First column of part `p`, relative to the address.
  uint32_t column(uint32_t p) const { return banks ? 0 : p * columns; }
  /// Columns of Tensor Memory that D takes. ptxas -g-tmem-access-check asks for N even of layout B; only these are
  /// touched.
  uint32_t width() const { return banks ? columns : ctas * columns; }
  /// Lanes from the first to the last.
  uint32_t height() const { return halves ? 112 : 128; }
};

/// A checked request: all that execution needs.
struct Operation {
  std::array<Cta*, 2> cta{};  // of the pair: the even one, the odd one
  Origin who;
  MmaRequest request;
  InstructionDescriptor idesc;
  DataPath path;
  OperandLayout a, b;
  TmemAddress d, a_tmem;  // in range
};

[[noreturn]] void illegal(const Origin& who, const char* code, const FieldProblem& p, const char* which,
                          std::string help) {
  who.fault(FaultKind::illegal_instruction, code, fmt::format("In {}, {}.", which, p.sentence()), std::move(help));
}

/// The accumulator's cells in one CTA, or A's.
std::vector<TmemRect> rects(const DataPath& path, TmemAddress at, uint32_t columns) {
  if (!path.halves) return {{at.lane, path.height(), at.column, columns}};
  std::vector<TmemRect> r;
  for (uint32_t p = 0; p < 4; ++p) r.push_back({at.lane + 32 * p, 16, at.column, columns});
  return r;
}

/// As ptxas -g-tmem-access-check: bounds, ownership and data-path alignment of an operand in Tensor Memory.
TmemAddress check_tmem(const Operation& o, uint32_t address, uint32_t columns, std::string what) {
  TmemAddress at = TmemAddress::from(address);
  if (o.path.halves ? at.lane != 0 && at.lane != 16 : at.lane != 0) {
    tmem_violation(
        o.who, "mma-lane-alignment",
        fmt::format("The address of {} names lane {}; with M = {}{} it must be {}.", what, at.lane, o.idesc.m,
                    o.path.ctas == 2 ? " in a pair" : "", o.path.halves ? "0 or 16" : "0"),
        o.path.halves ? "An M = 64 tile fills 16 lanes of every partition: choose the lower (0) or the upper half (16)."
                      : "The tile fills all 128 lanes: let the lane field (bits 31:16) be 0.");
    at.lane = o.path.halves ? at.lane & 16 : 0;
  }
  TmemRect r;
  for (uint32_t c = 0; c < o.path.ctas; ++c) {
    const std::string place = o.path.ctas == 2 ? fmt::format("{} in CTA rank {}", what, o.cta[c]->rank) : what;
    r = tmem_check(TensorMemory::of(o.cta[c]->sm), *o.cta[c], at, o.path.height(), columns, o.who, place.c_str());
  }
  return {r.lane, r.column};
}

/// Cells that the operation is going to touch.
void use_tmem(const Operation& o, TensorWork& work, uint32_t columns, TmemAddress at, bool writes, const char* what) {
  for (uint32_t c = 0; c < o.path.ctas; ++c)
    for (const TmemRect& r : rects(o.path, at, columns)) work.cells.push_back({&o.cta[c]->sm, r, writes, what});
}

void gather_shared(const Operation& o, Cta& cta, const OperandLayout& layout, uint32_t rows, const char* name,
                   OperandPlanes& out) {
  const int64_t outside = gather(cta, layout, rows, out);
  if (outside < 0) return;
  o.who.fault(
      FaultKind::illegal_address, "matrix-out-of-bounds",
      fmt::format("{} of tcgen05.mma ({} rows from shared offset {:#x}{}, LBO {}, SBO {}, swizzle {}) reaches shared "
                  "offset {:#x}; the CTA's shared memory is {:#x} to {:#x}.",
                  name, rows, layout.descriptor.start, o.path.ctas == 2 ? fmt::format(" of CTA rank {}", cta.rank) : "",
                  layout.descriptor.leading, layout.descriptor.stride, name_of(layout.descriptor.swizzle), outside,
                  kSharedBase, cta.shared.size()),
      "Check the descriptor's start address, LBO and SBO (in units of 16 bytes), and that M or N rows fit.");
}

/// What an MMA multiplies. Only what it reads is filled: nobody looks at rows beyond M or N.
struct Operands {
  OperandPlanes a[4];  // of each CTA; layout B's copies in Tensor Memory: of each CTA and part
  uint32_t a_copies = 1;
  OperandPlanes b[2];  // of each part
};

uint64_t fingerprint(const OperandPlanes* planes, uint32_t count) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const OperandPlanes* p = planes; p < planes + count; ++p)
    for (size_t i = 0; i < sizeof p->bytes; i += 8) {
      uint64_t v;
      std::memcpy(&v, p->bytes + i, 8);
      h = (h ^ v) * 0x100000001b3ull;
      h ^= h >> 29;
    }
  return h;
}

void check_collector(const Operation& o, const Operands& operands) {
  using Collector = MmaRequest::Collector;
  std::optional<uint64_t>& kept = TensorCore::of(*o.cta[0], o.request.cta_group).collector_a();
  const Collector c = o.request.collector;
  const auto now = [&] { return fingerprint(operands.a, o.path.ctas * operands.a_copies); };
  if (c == Collector::use || c == Collector::lastuse) {
    if (!kept)
      o.who.report(Severity::warning, "collector-empty",
                   "This tcgen05.mma uses the collector buffer of A, but no earlier one filled it.",
                   "Issue the first tcgen05.mma with .collector::a::fill.");
    else if (*kept != now())
      o.who.report(
          Severity::error, "collector-stale",
          "A is not what the collector buffer was filled with: hardware may take either.",
          "Keep A's memory unmodified from .collector::a::fill to .collector::a::lastuse, and name the same A.");
  }
  if (c == Collector::fill) kept = now();
  if (c == Collector::lastuse || c == Collector::discard) kept.reset();
}

void shift_rows_down(TensorMemory& memory, TmemAddress at) {
  for (uint32_t c = at.column; c < at.column + 8; ++c)
    for (uint32_t p = 0; p < 4; ++p) {
      uint32_t* lanes = memory.column(c) + 32 * p;
      std::memmove(lanes, lanes + 1, 31 * sizeof *lanes);
    }
}

/// Observers are told of what the operation reads and writes.
void tell_accesses(const Operation& o, const Origin& who, uint64_t now) {
  const Domain& domain = o.cta[0]->cluster.domain;
  for (uint32_t c = 0; c < o.path.ctas; ++c) {
    Cta& cta = *o.cta[c];
    const auto cells = [&](AccessKind kind, TmemAddress at, uint32_t columns) {
      for (const TmemRect& r : rects(o.path, at, columns)) tell(TmemAccess{domain, kind, who, cta.sm.index, r, now});
    };
    if (!o.request.a_in_tmem) tell_read(cta, o.a, o.path.rows, who, "A", now);
    tell_read(cta, o.b, o.path.columns, who, "B", now);
    if (!domain.launch.observers.want(Observer::tensor_accesses)) continue;
    if (o.request.a_in_tmem) cells(AccessKind::read, o.a_tmem, 8);
    if (o.request.shift_a) cells(AccessKind::write, o.a_tmem, 8);
    if (o.request.accumulate) cells(AccessKind::read, o.d, o.path.width());
    cells(AccessKind::write, o.d, o.path.width());
  }
}

void gather_operands(const Operation& o, Operands& out) {
  const DataPath& path = o.path;
  out.a_copies = path.banks && o.request.a_in_tmem ? 2 : 1;
  for (uint32_t i = 0; i < path.ctas * out.a_copies; ++i) {
    Cta& cta = *o.cta[i / out.a_copies];
    OperandPlanes& a = out.a[i];
    if (o.request.collector != MmaRequest::Collector::discard) std::memset(a.bytes, 0, sizeof a.bytes);
    if (!o.request.a_in_tmem) {
      gather_shared(o, cta, o.a, path.rows, "A", a);
      continue;
    }
    uint32_t lanes[8];
    for (uint32_t r = 0; r < path.rows / 16; ++r) lanes[r] = o.a_tmem.lane + path.lane(i % out.a_copies, r);
    gather(TensorMemory::of(cta.sm), lanes, o.a_tmem.column, path.rows, o.b.element_bytes, a);
  }
  for (uint32_t c = 0; c < path.ctas; ++c) gather_shared(o, *o.cta[c], o.b, path.columns, "B", out.b[c]);
}

bool all_written(const Operation& o) {
  for (uint32_t c = 0; c < o.path.ctas; ++c)
    for (const TmemRect& r : rects(o.path, o.d, o.path.width()))
      if (!TensorMemory::of(o.cta[c]->sm).all_written(r)) return false;
  return true;
}

void mark_written(const Operation& o) {
  for (uint32_t c = 0; c < o.path.ctas; ++c)
    for (const TmemRect& r : rects(o.path, o.d, o.path.width())) TensorMemory::of(o.cta[c]->sm).mark_written(r);
}

/// D's rows in one CTA of the operation.
void multiply(const Operation& o, uint32_t index, const Operands& operands) {
  TensorMemory& memory = TensorMemory::of(o.cta[index]->sm);
  const InstructionDescriptor& id = o.idesc;
  std::vector<uint32_t> kept;  // cells of disabled lanes, put back afterwards
  const auto each_disabled = [&](auto&& f) {
    if (!o.request.masked) return;
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane)
      if (o.request.disable_lane[4 * index + lane / 32] >> lane % 32 & 1)
        for (uint32_t c = 0; c < o.path.width(); ++c) f(memory.column(o.d.column + c)[lane]);
  };
  each_disabled([&](uint32_t cell) { kept.push_back(cell); });
  for (uint32_t part = 0; part < o.path.ctas; ++part) {
    MmaTile t;
    t.rule = *id.d_type() == Accumulator::f16 ? numerics::kSumF16 : numerics::kSumF32;
    t.a_format = *id.a_type();
    t.b_format = *id.b_type();
    t.rows = o.path.rows;
    t.columns = o.path.columns;
    t.terms = id.k();
    t.a = operands.a[index * operands.a_copies + part % operands.a_copies].bytes;
    t.b = operands.b[part].bytes;
    t.negate_a = id.negate_a;
    t.negate_b = id.negate_b;
    t.read_c = o.request.accumulate;
    t.c_scale = o.request.scale;
    t.d = memory.column(o.d.column + o.path.column(part));
    t.column_stride = kTmemLanes;
    for (uint32_t i = 0; i < o.path.rows / 16; ++i) t.lane[i] = o.d.lane + o.path.lane(part, i);
    MmaStatistics::count_scalar(o.cta[index]->sm, numerics::mma(t));
  }
  size_t i = 0;
  each_disabled([&](uint32_t& cell) { cell = kept[i++]; });
}

void execute(const Operation& o, uint64_t now, const Origin& who) {
  Operands operands;
  gather_operands(o, operands);
  tell_accesses(o, who, now);
  check_collector(o, operands);
  const bool written = o.request.accumulate && all_written(o);
  if (o.request.accumulate && !written)
    o.who.report(Severity::warning, "tmem-uninitialised",
                 "This tcgen05.mma accumulates into cells that nothing has written since their allocation.",
                 "Pass enable-input-d = false for the first MMA of a tile.");
  for (uint32_t c = 0; c < o.path.ctas; ++c) {
    multiply(o, c, operands);
    if (o.request.shift_a) shift_rows_down(TensorMemory::of(o.cta[c]->sm), o.a_tmem);
  }
  if (!written) mark_written(o);
}

}  // namespace

void issue_mma(Cta& cta, Domain& domain, const Origin& who, const MmaRequest& request, uint64_t now) {
  auto o = std::make_shared<Operation>();
  o->cta[0] = &cta;
  o->who = who;
  o->request = request;
  o->idesc = InstructionDescriptor::decode(request.idesc, request.kind);
  MmaForm form;
  form.cta_group = int(request.cta_group);
  form.a_in_tmem = request.a_in_tmem;
  if (auto p = check(o->idesc, form))
    illegal(who, "instruction-descriptor", *p, fmt::format("instruction descriptor {:#010x}", request.idesc).c_str(),
            "Encode the descriptor for this kind and shape; `gen5 explain --instr-desc` prints its fields.");
  tmem_check_cta_group(cta, request.cta_group, who);
  Cta* peer = nullptr;
  if (request.cta_group == 2) {
    peer = &tmem_peer(cta, who, "tcgen05.mma");
    o->cta = {cta.rank & 1 ? peer : &cta, cta.rank & 1 ? &cta : peer};
  }
  o->path = DataPath(request.cta_group, o->idesc.m, o->idesc.n);

  const uint32_t element_bytes = request.kind == MmaKind::tf32 ? 4 : 2;
  const auto shared_operand = [&](OperandLayout& layout, uint64_t raw, bool mn_major, const char* name) {
    layout.descriptor = MatrixDescriptor::tcgen05(raw);
    layout.mn_major = mn_major;
    layout.element_bytes = element_bytes;
    auto p = check(layout.descriptor);
    if (!p) p = check_operand(layout, name);
    if (p)
      illegal(who, "matrix-descriptor", *p, fmt::format("{}'s matrix descriptor {:#018x}", name, raw).c_str(),
              "Encode the descriptor for tcgen05; `gen5 explain --smem-desc` prints its fields.");
  };
  shared_operand(o->b, request.b, o->idesc.b_mn_major, "B");
  if (!request.a_in_tmem) shared_operand(o->a, request.a, o->idesc.a_mn_major, "A");

  TensorWork work;
  o->d = check_tmem(*o, request.d, o->path.width(), "the accumulator");
  if (request.a_in_tmem) {
    o->a_tmem = check_tmem(*o, uint32_t(request.a), 8, "A");
    if (o->a_tmem.lane != o->d.lane)
      tmem_violation(who, "mma-lane-alignment", "A and the accumulator name different halves of the partitions.",
                     "Give both the same lane, 0 or 16.");
    if (request.shift_a && o->path.halves)
      who.fault(FaultKind::illegal_instruction, "mma-ashift-shape",
                fmt::format(".ashift with M = {}; it exists for M = 128 and M = 256 only.", o->idesc.m),
                "Use M = 128, or a pair.");
    use_tmem(*o, work, 8, o->a_tmem, request.shift_a, "A of tcgen05.mma");
  }
  use_tmem(*o, work, o->path.width(), o->d, true, "tcgen05.mma");

  const MmaTiming& timing = cta.sm.domain->launch.gpu.timing.mma.value();
  const MmaTime time = timing.time(int(request.cta_group), o->idesc.m, o->idesc.n, request.a_in_tmem);
  work.kind = TensorWork::Kind::mma;
  work.cta_group = uint8_t(request.cta_group);
  work.origin = who;
  work.peer = peer;
  work.issued = now;
  work.interval = uint64_t(std::lround(time.interval));
  // The closed form ends where a program sees the barrier; completion is earlier by what commit and wait take.
  work.latency = uint64_t(std::max(1l, std::lround(time.latency - timing.observed)));
  // Same accumulator, shape and kind: executes in issue order (PTX ISA 9.7.16.6.2).
  work.pipeline_tag = 1 | uint64_t(o->d.column) << 1 | uint64_t(o->d.lane) << 11 | uint64_t(o->idesc.m) << 18 |
                      uint64_t(o->idesc.n) << 27 | uint64_t(request.kind) << 37;
  work.execute = [o](uint64_t then, const Origin& operation) { execute(*o, then, operation); };
  MmaStatistics::count(cta.sm, MatrixFamily::tcgen05_mma, o->idesc.m, o->idesc.n, o->idesc.k());
  tell(MemoryTraffic{domain, who, cta.sm.index, now, 32ull * ((request.a_in_tmem ? 0 : o->idesc.m) + o->idesc.n)});
  TensorCore::of(cta, request.cta_group).enqueue(domain, std::move(work));
}

}  // namespace tinygpu
