#include "common/tinygpu/engines/tensor_mma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "common/tinygpu/engines/operand_planes.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {
namespace {

using numerics::Format;
using numerics::MmaTile;
using Accumulator = InstructionDescriptor::Accumulator;

/// A checked request: all that execution needs.
struct Operation {
  Cta* cta = nullptr;
  Origin who;
  MmaRequest request;
  InstructionDescriptor idesc;
  OperandLayout a, b;
  TmemAddress d, a_tmem;  // in range
  std::vector<uint64_t> uses;
};

[[noreturn]] void illegal(const Origin& who, const char* code, const FieldProblem& p, const char* which,
                          std::string help) {
  who.fault(FaultKind::illegal_instruction, code, fmt::format("In {}, {}.", which, p.sentence()), std::move(help));
}

/// The accumulator's cells, or A's: with M = 64 sixteen lanes of each partition.
std::vector<TmemRect> rects(uint32_t m, TmemAddress at, uint32_t columns) {
  if (m != 64) return {{at.lane, m, at.column, columns}};
  std::vector<TmemRect> r;
  for (uint32_t p = 0; p < 4; ++p) r.push_back({at.lane + 32 * p, 16, at.column, columns});
  return r;
}

/// tmem.md 1.8: bounds, ownership and data-path alignment of an operand in Tensor Memory.
TmemAddress check_tmem(Cta& cta, const Origin& who, uint32_t address, uint32_t m, uint32_t columns, const char* what) {
  TmemAddress at = TmemAddress::from(address);
  if (m == 64 ? at.lane != 0 && at.lane != 16 : at.lane != 0) {
    tmem_violation(
        who, "mma-lane-alignment",
        fmt::format("The address of {} names lane {}; with M = {} it must be {}.", what, at.lane, m,
                    m == 64 ? "0 or 16" : "0"),
        m == 64 ? "An M = 64 tile fills 16 lanes of every partition: choose the lower (0) or the upper half (16)."
                : "An M = 128 tile fills all 128 lanes: let the lane field (bits 31:16) be 0.");
    at.lane = m == 64 ? at.lane & 16 : 0;
  }
  const uint32_t height = m == 64 ? 112 : m;
  const TmemRect r = tmem_check(TensorMemory::of(cta.sm), cta, at, height, columns, who, what);
  return {r.lane, r.column};
}

void use_tmem(Operation& o, uint32_t columns, TmemAddress at, bool writes, const char* what) {
  TensorMemory& memory = TensorMemory::of(o.cta->sm);
  for (const TmemRect& r : rects(o.idesc.m, at, columns)) {
    tmem_check_hazard(memory, r, TmemUse::Kind::mma, writes, o.who, what);
    TmemUse use;
    use.kind = TmemUse::Kind::mma;
    use.writes = writes;
    use.rect = r;
    use.who = o.who;
    o.uses.push_back(memory.begin_use(std::move(use)));
  }
}

void gather_shared(const Operation& o, const OperandLayout& layout, uint32_t rows, const char* name,
                   OperandPlanes& out) {
  const int64_t outside = gather(*o.cta, layout, rows, out);
  if (outside < 0) return;
  o.who.fault(
      FaultKind::illegal_address, "matrix-out-of-bounds",
      fmt::format("{} of tcgen05.mma ({} rows from shared offset {:#x}, LBO {}, SBO {}, swizzle {}) reaches shared "
                  "offset {:#x}; the CTA's shared memory is {:#x} to {:#x}.",
                  name, rows, layout.descriptor.start, layout.descriptor.leading, layout.descriptor.stride,
                  name_of(layout.descriptor.swizzle), outside, kSharedBase, o.cta->shared.size()),
      "Check the descriptor's start address, LBO and SBO (in units of 16 bytes), and that M or N rows fit.");
}

uint64_t fingerprint(const OperandPlanes& p) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < sizeof p.bytes; i += 8) {
    uint64_t v;
    std::memcpy(&v, p.bytes + i, 8);
    h = (h ^ v) * 0x100000001b3ull;
    h ^= h >> 29;
  }
  return h;
}

void check_collector(const Operation& o, const OperandPlanes& a, TensorCore& core) {
  using Collector = MmaRequest::Collector;
  std::optional<uint64_t>& kept = core.collector_a();
  const Collector c = o.request.collector;
  if (c == Collector::use || c == Collector::lastuse) {
    if (!kept)
      o.who.report(Severity::warning, "collector-empty",
                   "This tcgen05.mma uses the collector buffer of A, but no earlier one filled it.",
                   "Issue the first tcgen05.mma with .collector::a::fill.");
    else if (*kept != fingerprint(a))
      o.who.report(
          Severity::error, "collector-stale",
          "A is not what the collector buffer was filled with: hardware may take either.",
          "Keep A's memory unmodified from .collector::a::fill to .collector::a::lastuse, and name the same A.");
  }
  if (c == Collector::fill) kept = fingerprint(a);
  if (c == Collector::lastuse || c == Collector::discard) kept.reset();
}

void shift_rows_down(TensorMemory& memory, TmemAddress at) {
  for (uint32_t c = at.column; c < at.column + 8; ++c)
    for (uint32_t p = 0; p < 4; ++p) {
      uint32_t* lanes = memory.column(c) + 32 * p;
      std::memmove(lanes, lanes + 1, 31 * sizeof *lanes);
    }
}

void execute(const Operation& o) {
  TensorMemory& memory = TensorMemory::of(o.cta->sm);
  const InstructionDescriptor& id = o.idesc;
  const uint32_t element_bytes = o.b.element_bytes;
  // Only what the instruction reads is written: the kernel looks at no row beyond M or N.
  OperandPlanes a, b;
  if (o.request.collector != MmaRequest::Collector::discard) std::memset(a.bytes, 0, sizeof a.bytes);
  if (o.request.a_in_tmem)
    gather(memory, o.a_tmem.lane, o.a_tmem.column, id.m, element_bytes, a);
  else
    gather_shared(o, o.a, id.m, "A", a);
  gather_shared(o, o.b, id.n, "B", b);
  check_collector(o, a, TensorCore::of(o.cta->sm));

  const auto d_rects = rects(id.m, o.d, id.n);
  if (o.request.accumulate)
    for (const TmemRect& r : d_rects)
      if (!memory.all_written(r)) {
        o.who.report(Severity::warning, "tmem-uninitialised",
                     "This tcgen05.mma accumulates into cells that nothing has written since their allocation.",
                     "Pass enable-input-d = false for the first MMA of a tile.");
        break;
      }

  MmaTile t;
  t.rule = *id.d_type() == Accumulator::f16 ? numerics::kSumF16 : numerics::kSumF32;
  t.a_format = *id.a_type();
  t.b_format = *id.b_type();
  t.rows = id.m;
  t.columns = id.n;
  t.terms = id.k();
  t.a = a.bytes;
  t.b = b.bytes;
  t.negate_a = id.negate_a;
  t.negate_b = id.negate_b;
  t.read_c = o.request.accumulate;
  t.c_scale = o.request.scale;
  t.d = memory.column(o.d.column);
  t.column_stride = kTmemLanes;
  for (uint32_t i = 0; i < id.m / 16; ++i) t.lane[i] = o.d.lane + mma_lane(id.m, 16 * i);

  std::vector<uint32_t> kept;  // cells of disabled lanes, put back afterwards
  const auto each_disabled = [&](auto&& f) {
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane)
      if (o.request.disable_lane[lane / 32] >> lane % 32 & 1)
        for (uint32_t c = 0; c < id.n; ++c) f(memory.column(o.d.column + c)[lane]);
  };
  if (o.request.masked) each_disabled([&](uint32_t cell) { kept.push_back(cell); });
  numerics::mma(t);
  if (o.request.masked) {
    size_t i = 0;
    each_disabled([&](uint32_t& cell) { cell = kept[i++]; });
  }
  for (const TmemRect& r : d_rects) memory.mark_written(r);

  if (o.request.shift_a) shift_rows_down(memory, o.a_tmem);
  for (uint64_t use : o.uses) memory.end_use(use);
}

}  // namespace

MmaTime mma_time(const MachineSpec& spec, int cta_group, uint32_t m, uint32_t n, bool a_in_tmem) {
  const bool pair = cta_group == 2;
  const double columns = spec.number("tcgen05.mma.columns_per_cycle") * (pair && m == 128 ? 2 : 1);
  const double ideal = n / columns;
  const double bytes = (a_in_tmem ? 0.0 : 32.0 * m / cta_group) + 32.0 * n / cta_group;
  double interval = std::max(ideal, bytes / spec.number("tcgen05.mma.smem_bytes_per_cycle"));
  if (a_in_tmem && pair && m == 128) interval = std::max(interval, spec.number("tcgen05.mma.interval_min.ts.cg2.m128"));
  if (!a_in_tmem && pair && m == 256)
    interval = std::max(interval, spec.number("tcgen05.mma.interval_fixed.ss.cg2.m256") + n / 8.0);
  const double fixed = spec.number(fmt::format("tcgen05.mma.fixed.{}.cg{}.m{}", a_in_tmem ? "ts" : "ss", cta_group, m));
  return {interval, fixed + ideal};
}

void issue_mma(Cta& cta, Domain& domain, const Origin& who, const MmaRequest& request, uint64_t now) {
  auto o = std::make_shared<Operation>();
  o->cta = &cta;
  o->who = who;
  o->request = request;
  o->idesc = InstructionDescriptor::decode(request.idesc, request.kind);
  MmaForm form;
  form.a_in_tmem = request.a_in_tmem;
  if (auto p = check(o->idesc, form))
    illegal(who, "instruction-descriptor", *p, fmt::format("instruction descriptor {:#010x}", request.idesc).c_str(),
            "Encode the descriptor for this kind and shape; `gen5 explain --instr-desc` prints its fields.");
  tmem_check_cta_group(cta, 1, who);

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

  o->d = check_tmem(cta, who, request.d, o->idesc.m, o->idesc.n, "the accumulator");
  if (request.a_in_tmem) {
    o->a_tmem = check_tmem(cta, who, uint32_t(request.a), o->idesc.m, 8, "A");
    if (o->a_tmem.lane != o->d.lane)
      tmem_violation(who, "mma-lane-alignment", "A and the accumulator name different halves of the partitions.",
                     "Give both the same lane, 0 or 16.");
    if (request.shift_a && o->idesc.m != 128)
      who.fault(FaultKind::illegal_instruction, "mma-ashift-shape",
                fmt::format(".ashift with M = {}; it exists for M = 128 only.", o->idesc.m), "Use M = 128.");
    use_tmem(*o, 8, o->a_tmem, request.shift_a, "A of tcgen05.mma");
  }
  use_tmem(*o, o->idesc.n, o->d, true, "tcgen05.mma");

  const MachineSpec& spec = cta.sm.domain->launch.gpu.spec;
  const MmaTime time = mma_time(spec, 1, o->idesc.m, o->idesc.n, request.a_in_tmem);
  TensorWork work;
  work.kind = TensorWork::Kind::mma;
  work.cta_group = 1;
  work.origin = who;
  work.issued = now;
  work.interval = uint64_t(std::lround(time.interval));
  // The closed form ends where a program sees the barrier; completion is earlier by what commit and wait take.
  work.latency = uint64_t(std::max(1l, std::lround(time.latency - spec.number("tcgen05.mma.observed"))));
  // Same accumulator, shape and kind: executes in issue order (PTX ISA 9.7.16.6.2).
  work.pipeline_tag = 1 | uint64_t(o->d.column) << 1 | uint64_t(o->d.lane) << 11 | uint64_t(o->idesc.m) << 18 |
                      uint64_t(o->idesc.n) << 27 | uint64_t(request.kind) << 37;
  work.execute = [o](uint64_t) { execute(*o); };
  TensorCore::of(cta.sm).enqueue(domain, std::move(work));
}

}  // namespace tinygpu
