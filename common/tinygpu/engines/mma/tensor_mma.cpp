#include "common/tinygpu/engines/mma/tensor_mma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "common/tinygpu/engines/mma/matrix_operands.h"
#include "common/tinygpu/engines/mma/mma_statistics.h"

namespace tinygpu {
namespace {

constexpr uint32_t kAColumns = 8;  // of A in Tensor Memory: 32 bytes along K

[[noreturn]] void illegal(const Origin& who, const char* code, const FieldProblem& p, const std::string& which,
                          std::string help) {
  who.fault(FaultKind::illegal_instruction, code, fmt::format("In {}, {}.", which, p.sentence()), std::move(help));
}

/// As ptxas -g-tmem-access-check: bounds, ownership and data-path alignment of an operand in Tensor Memory. `tile`: it
/// lies in the data path's lanes; else, as scale factors, in all 128.
TmemAddress check_tmem(const MmaOperation& o, uint32_t address, uint32_t columns, const std::string& what,
                       bool tile = true) {
  TmemAddress at = TmemAddress::from(address);
  const bool halves = tile && o.path.halves();
  if (halves ? at.lane != 0 && at.lane != 16 : at.lane != 0) {
    tmem_violation(o.who, "mma-lane-alignment",
                   fmt::format("The address of {} names lane {}; with M = {}{} it must be {}.", what, at.lane,
                               o.idesc.m, o.path.ctas == 2 ? " in a pair" : "", halves ? "0 or 16" : "0"),
                   halves
                       ? "Such a tile fills 16 lanes of every partition: choose the lower (0) or the upper half (16)."
                       : "The tile fills all 128 lanes: let the lane field (bits 31:16) be 0.");
    at.lane = halves ? at.lane & 16 : 0;
  }
  TmemRect r;
  for (uint32_t c = 0; c < o.path.ctas; ++c) {
    const std::string place = o.path.ctas == 2 ? fmt::format("{} in CTA rank {}", what, o.cta[c]->rank) : what;
    r = tmem_check(TensorMemory::of(o.cta[c]->sm), *o.cta[c], at, halves ? o.path.height() : kTmemLanes, columns, o.who,
                   place.c_str());
  }
  return {r.lane, r.column};
}

/// Scale factors: CUTLASS's addresses carry the factor's id in bits 31:30, from where it moves it into the instruction
/// descriptor; hardware has no lanes there.
uint32_t scale_address(uint32_t address) { return address & 0x3fffffff; }

OperandLayout shared_operand(const MmaOperation& o, uint64_t raw, bool mn_major, uint32_t k_bytes, const char* name) {
  OperandLayout layout;
  layout.descriptor = MatrixDescriptor::tcgen05(raw);
  layout.mn_major = mn_major;
  layout.element_bytes = info(o.request.kind).element_bytes;
  layout.k_bytes = k_bytes;
  auto p = check(layout.descriptor);
  if (!p) p = check_operand(layout, name);
  if (p)
    illegal(o.who, "matrix-descriptor", *p, fmt::format("{}'s matrix descriptor {:#018x}", name, raw),
            "Encode the descriptor for tcgen05; `gen5 explain --smem-desc` prints its fields.");
  return layout;
}

/// Operands in Tensor Memory: their places are legal.
void check_cells(MmaOperation& o) {
  const MmaRequest& r = o.request;
  o.d = check_tmem(o, r.d, o.path.width(), "the accumulator");
  const auto same_half = [&](TmemAddress at, const char* what) {
    if (at.lane != o.d.lane)
      tmem_violation(o.who, "mma-lane-alignment",
                     fmt::format("{} and the accumulator name different halves of the partitions.", what),
                     "Give both one lane, 0 or 16.");
  };
  if (r.a_in_tmem) {
    o.a_tmem = check_tmem(o, uint32_t(r.a), kAColumns, "A");
    same_half(o.a_tmem, "A");
    if (r.shift_a && o.path.layout == 'F')
      o.who.fault(FaultKind::illegal_instruction, "mma-ashift-shape",
                  fmt::format(".ashift with M = {}; it exists for M = 128 and M = 256 only.", o.idesc.m),
                  "Use M = 128, or a pair.");
  }
  if (r.sparse) {
    o.metadata = check_tmem(o, r.metadata, kMetadataColumns, "the sparse metadata");
    same_half(o.metadata, "The sparse metadata");
  }
  if (o.idesc.block_scaled()) {
    o.scale_a = check_tmem(o, scale_address(r.scale_a), o.scale_factors(true).columns(), "A's scale factors", false);
    o.scale_b = check_tmem(o, scale_address(r.scale_b), o.scale_factors(false).columns(), "B's scale factors", false);
  }
}

void check_zero_columns(MmaOperation& o) {
  o.zero_columns = ZeroColumnMask::decode(o.request.zero_columns);
  if (auto p = check(o.zero_columns, o.idesc.m, o.idesc.max_shift_columns()))
    illegal(o.who, "zero-column-mask", *p, fmt::format("zero-column mask {:#018x}", o.request.zero_columns),
            "Encode the mask as PTX ISA 9.7.16.4.3 has it; 0 takes all columns of B.");
}

/// .collector: the order of issue decides which MMA fills the buffer and which use it.
void take_collector(MmaOperation& o) {
  using Collector = MmaRequest::Collector;
  const MmaRequest& r = o.request;
  CollectorFill& now = TensorCore::of(*o.cta[0], r.cta_group).collector(r.buffer);
  if (r.collector == Collector::fill) now = std::make_shared<std::optional<uint64_t>>();
  if (r.collector != Collector::discard) o.kept = now;
  if (!now && (r.collector == Collector::use || r.collector == Collector::lastuse))
    o.who.report(Severity::warning, "collector-empty",
                 fmt::format("This tcgen05.mma uses the collector buffer of {} (.{}), but no earlier one filled it.",
                             r.buffer == 0 ? "A" : "B", r.collector_name()),
                 fmt::format("Issue the first tcgen05.mma with .{}::fill.", r.collector_name()));
  if (r.collector == Collector::lastuse || r.collector == Collector::discard) now = nullptr;
}

/// For who looks at the CTAs.
void keep_operands(const MmaOperation& o, uint64_t now) {
  const DataPath& path = o.path;
  MatrixOperands all;
  all.who = o.who;
  all.issued = now;
  for (uint32_t c = 0; c < path.ctas; ++c) {
    MatrixOperand a{'A', *o.idesc.a_type(), o.a_packing, path.rows, o.cta[c], o.a};
    if (o.request.a_in_tmem) {
      a.layout.element_bytes = o.b.element_bytes;
      a.in_tmem = {.lanes = {}, .column = o.a_tmem.column};
      for (uint32_t i = 0; i < path.rows / 16; ++i) a.in_tmem->lanes[i] = o.a_tmem.lane + path.lane(0, i);
    }
    all.operands.push_back(a);
    all.operands.push_back({'B', *o.idesc.b_type(), o.b_packing, path.b_columns(), o.cta[c], o.b});
    all.results.push_back({o.cta[c], o.d, path, *o.idesc.d_type()});
  }
  for (uint32_t c = 0; c < path.ctas; ++c) o.cta[c]->extensions.get<MatrixOperands>() = all;
}

}  // namespace

std::string MmaRequest::collector_name() const {
  return buffer == 0 ? "collector::a" : fmt::format("collector::b{}", buffer - 1);
}

ScaleFactors MmaOperation::scale_factors(bool of_a) const {
  ScaleFactors f;
  f.column = (of_a ? scale_a : scale_b).column;
  f.id = of_a ? idesc.sfa_id : idesc.sfb_id;
  f.count = request.scales;
  f.rows = of_a ? path.rows : idesc.n;
  f.split = !of_a && path.layout == 'B';
  return f;
}

void MmaOperation::each_cells(FunctionRef<void(const Cells&)> f) const {
  const auto all_lanes = [](TmemAddress at, uint32_t columns) {
    TmemRects r;
    r.add({0, kTmemLanes, at.column, columns});
    return r;
  };
  if (request.a_in_tmem) f({path.rects(a_tmem, kAColumns), true, request.shift_a, "A of tcgen05.mma"});
  if (request.sparse) f({path.rects(metadata, kMetadataColumns), true, false, "the metadata of tcgen05.mma"});
  if (idesc.block_scaled()) {
    f({all_lanes(scale_a, scale_factors(true).columns()), true, false, "A's scale factors of tcgen05.mma"});
    f({all_lanes(scale_b, scale_factors(false).columns()), true, false, "B's scale factors of tcgen05.mma"});
  }
  f({path.rects(d, path.width()), request.accumulate, true, "tcgen05.mma", false});
}

void issue_mma(Cta& cta, SmPartition& partition, const Origin& who, const MmaRequest& request, uint64_t now) {
  auto o = std::make_shared<MmaOperation>();
  o->cta[0] = &cta;
  o->who = who;
  o->request = request;
  o->idesc = InstructionDescriptor::decode(request.idesc, request.kind);
  if (auto p = check(o->idesc, request.form()))
    illegal(who, "instruction-descriptor", *p, fmt::format("instruction descriptor {:#010x}", request.idesc),
            "Encode the descriptor for this kind and shape; `gen5 explain --instr-desc` prints its fields.");
  tmem_check_cta_group(cta, request.cta_group, who);
  Cta* peer = nullptr;
  if (request.cta_group == 2) {
    peer = &tmem_peer(cta, who, "tcgen05.mma");
    o->cta = {cta.rank & 1 ? peer : &cta, cta.rank & 1 ? &cta : peer};
  }
  o->path = DataPath::of(o->idesc, request.form());
  o->a_packing = packing_of(request.kind, *o->idesc.a_type());
  o->b_packing = packing_of(request.kind, *o->idesc.b_type());
  o->b = shared_operand(*o, request.b, o->idesc.b_mn_major, request.sparse ? 64 : 32, "B");
  if (!request.a_in_tmem) o->a = shared_operand(*o, request.a, o->idesc.a_mn_major, 32, "A");
  check_cells(*o);
  check_zero_columns(*o);
  take_collector(*o);

  TensorWork work;
  for (uint32_t c = 0; c < o->path.ctas; ++c)
    o->each_cells([&](const MmaOperation::Cells& cells) {
      for (const TmemRect& r : cells.rects) work.cells.push_back({&o->cta[c]->sm, r, cells.writes, cells.what});
    });
  const MmaTiming& timing = cta.cluster.partition.launch.gpu.timing.mma.value();
  const MmaTime time = timing.time({.cta_group = int(request.cta_group),
                                    .m = o->idesc.m,
                                    .n = o->idesc.n,
                                    .a_in_tmem = request.a_in_tmem,
                                    .kind = info(request.kind).timed_as,
                                    .weight_stationary = request.weight_stationary,
                                    .sparse = request.sparse});
  work.kind = TensorWork::Kind::mma;
  work.cta_group = uint8_t(request.cta_group);
  work.origin = who;
  work.peer = peer;
  work.issued = now;
  work.interval = uint64_t(std::lround(time.interval));
  // The closed form ends where a program sees the barrier; completion is earlier by what commit and wait take.
  work.latency = uint64_t(std::max(1l, std::lround(time.latency - timing.observed)));
  work.pipeline = {.column = uint16_t(o->d.column),
                   .lane = uint16_t(o->d.lane),
                   .m = uint16_t(o->idesc.m),
                   .n = uint16_t(o->idesc.n),
                   .kind = uint8_t(request.kind),
                   .sparse = request.sparse,
                   .weight_stationary = request.weight_stationary};
  work.execute = [o](uint64_t then, const Origin& operation) {
    if (operation.launch->options.timing_only)
      mark_written(*o);
    else
      execute_mma(*o, then, operation);
  };
  if (partition.launch.observers.want(Observer::operations)) keep_operands(*o, now);
  MmaStatistics::count(cta, MatrixFamily::tcgen05_mma, o->idesc.m, o->idesc.n, o->idesc.k());
  tell(MemoryTraffic{partition, who, cta.sm.index, now,
                     32ull * (request.a_in_tmem ? 0 : o->idesc.m) + uint64_t(o->b.k_bytes) * o->idesc.n});
  TensorCore::of(cta, request.cta_group).enqueue(partition, std::move(work));
}

}  // namespace tinygpu
