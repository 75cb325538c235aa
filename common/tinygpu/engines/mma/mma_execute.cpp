#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "common/tinygpu/engines/mma/mma_statistics.h"
#include "common/tinygpu/engines/mma/mma_toggle.h"
#include "common/tinygpu/engines/mma/operand_planes.h"
#include "common/tinygpu/engines/mma/scale_factors.h"
#include "common/tinygpu/engines/mma/sparse_metadata.h"
#include "common/tinygpu/engines/mma/tensor_mma.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {
namespace {

using numerics::MmaTile;
using numerics::SumKind;

/// `count` items, not initialised: code writes an item before it reads it.
template <class T>
struct Several {
  uint32_t count = 0, room = 0;
  std::unique_ptr<T[]> items;
  void resize(uint32_t n) {
    count = n;
    if (n > room) items = std::make_unique_for_overwrite<T[]>(room = n);
  }
  T& operator[](uint32_t i) { return items[i]; }
  const T& operator[](uint32_t i) const { return items[i]; }
};

/// What an MMA multiplies. Only rows below M or N are filled, as no others are read. A thread keeps the memory from one
/// MMA to the next.
struct Operands {
  Several<OperandPlanes> a;                           // of each CTA and copy
  Several<OperandPlanes> b;                           // of each CTA
  Several<SparseSelection> selection;                 // .sp: of each CTA and copy
  Several<numerics::ScalePlanes> a_scales, b_scales;  // of each CTA
  uint32_t a_copies = 1, selection_copies = 1;
};

void gather_shared(const MmaOperation& o, Cta& cta, const OperandLayout& layout, ElementPacking packing, uint32_t first,
                   uint32_t rows, const char* name, OperandPlanes& out) {
  const int64_t outside = gather(cta, layout, packing, first, rows, out);
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

/// First lanes of the groups of 16 rows of part `part`, of a tile at `at`.
std::array<uint32_t, 8> lanes_of(const MmaOperation& o, TmemAddress at, uint32_t part) {
  std::array<uint32_t, 8> lanes{};
  for (uint32_t i = 0; i < o.path.rows / 16; ++i) lanes[i] = at.lane + o.path.lane(part, i);
  return lanes;
}

void select(const MmaOperation& o, Operands& out) {
  const DataPath& path = o.path;
  out.selection_copies = path.copies();
  out.selection.resize(path.ctas * out.selection_copies);
  for (uint32_t i = 0; i < out.selection.count; ++i) {
    Cta& cta = *o.cta[i / out.selection_copies];
    const auto lanes = lanes_of(o, o.metadata, i % out.selection_copies);
    const OperandPlanes& stored =
        out.a[i / out.selection_copies * out.a_copies + i % out.selection_copies % out.a_copies];
    const numerics::Format format = *o.idesc.a_type();
    const StoredZeros zeros = [&](uint32_t row, uint32_t first, uint32_t count) {
      for (uint32_t k = first; k < first + count; ++k) {
        const uint32_t bits = numerics::plane_element(format, stored.bytes, k, row);
        const bool zero = o.request.kind == MmaKind::i8
                              ? numerics::unpack_integer(format, bits) == 0
                              : numerics::unpack(format, bits).kind == numerics::Unpacked::Class::zero;
        if (!zero) return false;
      }
      return true;
    };
    const auto problem = read_metadata(TensorMemory::of(cta.sm), o.request.kind, lanes.data(), o.metadata.column,
                                       o.idesc.sparsity_selector, path.rows, zeros, out.selection[i]);
    if (problem)
      o.who.report(Severity::error, "sparse-metadata",
                   fmt::format("The metadata of row {} of A{} have the code {:#x}, which has no meaning, for elements "
                               "that are not zero; legal: {}.",
                               problem->row, path.ctas == 2 ? fmt::format(" in CTA rank {}", cta.rank) : "",
                               problem->code, problem->legal),
                   problem->code
                       ? "Check the code that packs them (four bits a group, two for the place of each stored "
                         "element), and whether this column holds metadata of this kind."
                       : "Store the metadata of all M rows where this kind has them, and name the column that holds "
                         "them.");
  }
}

void read_scales(const MmaOperation& o, Operands& out) {
  out.a_scales.resize(o.path.ctas);
  out.b_scales.resize(o.path.ctas);
  for (uint32_t c = 0; c < o.path.ctas; ++c) {
    const TensorMemory& memory = TensorMemory::of(o.cta[c]->sm);
    const auto read = [&](const ScaleFactors& f, const char* name, numerics::ScalePlanes& to) {
      if (f.read(memory, to)) return;
      o.who.report(Severity::error, "scale-factor-copies",
                   fmt::format("The scale factors of {}{} differ between the partitions of Tensor Memory.", name,
                               o.path.ctas == 2 ? fmt::format(" in CTA rank {}", o.cta[c]->rank) : ""),
                   "Copy them with tcgen05.cp.32x128b.warpx4, which writes all four partitions.");
    };
    read(o.scale_factors(true), "A", out.a_scales[c]);
    read(o.scale_factors(false), "B", out.b_scales[c]);
  }
}

void gather_operands(const MmaOperation& o, Operands& out) {
  const DataPath& path = o.path;
  out.a_copies = o.request.a_in_tmem ? path.copies() : 1;
  out.a.resize(path.ctas * out.a_copies);
  out.b.resize(path.ctas);
  if (o.request.collector != MmaRequest::Collector::discard) {  // all of it will be compared
    for (uint32_t i = 0; i < out.a.count; ++i) std::memset(&out.a[i], 0, sizeof out.a[i]);
    for (uint32_t i = 0; i < out.b.count; ++i) std::memset(&out.b[i], 0, sizeof out.b[i]);
  }
  for (uint32_t i = 0; i < out.a.count; ++i) {
    Cta& cta = *o.cta[i / out.a_copies];
    if (!o.request.a_in_tmem) {
      gather_shared(o, cta, o.a, o.a_packing, 0, path.rows, "A", out.a[i]);
      continue;
    }
    const auto lanes = lanes_of(o, o.a_tmem, i % out.a_copies);
    gather(TensorMemory::of(cta.sm), lanes.data(), o.a_tmem.column, path.rows, o.a_packing, o.b.element_bytes,
           out.a[i]);
  }
  for (uint32_t c = 0; c < path.ctas; ++c)
    gather_shared(o, *o.cta[c], o.b, o.b_packing, o.zero_columns.shift, path.b_columns(), "B", out.b[c]);
  if (o.request.sparse) select(o, out);
  if (o.idesc.block_scaled()) read_scales(o, out);
}

uint64_t fingerprint(const Several<OperandPlanes>& planes) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (uint32_t p = 0; p < planes.count; ++p)
    for (size_t i = 0; i < sizeof planes[p].bytes; i += 8) {
      uint64_t v;
      std::memcpy(&v, planes[p].bytes + i, 8);
      h = (h ^ v) * 0x100000001b3ull;
      h ^= h >> 29;
    }
  return h;
}

/// MMAs that share a fill of a collector buffer must have read the same operand, in any order of execution.
void check_collector(const MmaOperation& o, const Operands& operands) {
  if (!o.kept) return;
  const bool of_a = o.request.buffer == 0;
  const uint64_t now = fingerprint(of_a ? operands.a : operands.b) ^ o.zero_columns.shift;
  if (!*o.kept) {
    *o.kept = now;
    return;
  }
  // The shift selects some of the kept columns: with another shift not all of them are here to compare.
  if (**o.kept == now || o.zero_columns.shift) return;
  const std::string buffer = o.request.collector_name();
  o.who.report(Severity::error, "collector-stale",
               fmt::format("{} differs from the contents of the collector buffer (.{}): hardware may take either.",
                           of_a ? "A" : "B", buffer),
               fmt::format("Keep {0}'s memory unmodified from .{1}::fill to .{1}::lastuse, and name this {0} in each.",
                           of_a ? "A" : "B", buffer));
}

void shift_rows_down(TensorMemory& memory, TmemAddress at) {
  for (uint32_t c = at.column; c < at.column + 8; ++c)
    for (uint32_t p = 0; p < 4; ++p) {
      uint32_t* lanes = memory.column(c) + 32 * p;
      std::memmove(lanes, lanes + 1, 31 * sizeof *lanes);
    }
}

/// Hands observers what the operation reads and writes.
void tell_accesses(const MmaOperation& o, const Origin& who, uint64_t now) {
  const SmPartition& partition = o.cta[0]->cluster.partition;
  for (uint32_t c = 0; c < o.path.ctas; ++c) {
    Cta& cta = *o.cta[c];
    if (!o.request.a_in_tmem) tell_read(cta, o.a, o.path.rows, who, "A", now);
    tell_read(cta, o.b, o.path.b_columns() + o.zero_columns.shift, who, "B", now);
    if (!partition.launch.observers.want(Observer::tensor_accesses)) continue;
    o.each_cells([&](const MmaOperation::Cells& cells) {
      for (const TmemRect& r : cells.rects) {
        if (cells.reads) tell(TmemAccess{partition, AccessKind::read, who, cta.sm.index, r, now});
        if (cells.writes) tell(TmemAccess{partition, AccessKind::write, who, cta.sm.index, r, now});
      }
    });
  }
}

bool all_written(const MmaOperation& o, const TmemRects& rects) {
  for (uint32_t c = 0; c < o.path.ctas; ++c)
    for (const TmemRect& r : rects)
      if (!TensorMemory::of(o.cta[c]->sm).all_written(r)) return false;
  return true;
}

/// A, metadata and scale factors that lie in Tensor Memory.
void check_operands_written(const MmaOperation& o) {
  o.each_cells([&](const MmaOperation::Cells& cells) {
    if (!cells.is_operand || all_written(o, cells.rects)) return;
    o.who.report(Severity::warning, "tmem-uninitialised",
                 fmt::format("{} reads cells that nothing has written since their allocation.", cells.what),
                 "Compare the operand's address with the place to which tcgen05.st or tcgen05.cp has written it.");
  });
}

/// Columns of B that are taken as zero get zero patterns (that an infinity in A makes NaN of them is inferred).
void zero_columns(const MmaOperation& o, Operands& operands) {
  const auto zero = o.zero_columns.columns(o.idesc.n, o.path.parts);
  if (zero.none()) return;
  const uint32_t elements = o.idesc.k(), bytes = o.b.element_bytes;
  for (uint32_t n = 0; n < o.idesc.n; ++n)
    if (zero[n])
      for (uint32_t k = 0; k < elements; ++k)
        std::memset(operands.b[0].bytes + (size_t(k) * numerics::kPlane + n) * bytes, 0, bytes);
}

/// How a kind's sums are made.
SumKind sum_of(MmaKind kind) {
  switch (kind) {
    case MmaKind::i8: return SumKind::integer;
    case MmaKind::mxf8f6f4: return SumKind::scaled;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4: return SumKind::fp4;
    default: return SumKind::fused;
  }
}

/// Of the operation's first CTA.
void count_toggles(const MmaOperation& o, const Operands& operands) {
  constexpr uint32_t kRows = 16;
  Cta& cta = *o.cta[0];
  const DataPath& path = o.path;
  MmaToggle::operand(cta, operands.a[0].bytes, *o.idesc.a_type(), info(o.idesc.kind).k, path.rows);
  MmaToggle::operand(cta, operands.b[0].bytes, *o.idesc.b_type(), o.idesc.k(), path.b_columns());
  const TensorMemory& memory = TensorMemory::of(cta.sm);
  const uint32_t lane = lanes_of(o, o.d, 0)[0], bits = *o.idesc.d_type() == MmaAccumulator::f16 ? 16 : 32;
  const auto column = [&](uint32_t c) -> const uint32_t* { return memory.column(o.d.column + c) + lane; };
  MmaToggle::results(cta, path.columns, column, kRows, bits);
}

/// D's rows in one CTA of the operation.
void multiply(const MmaOperation& o, uint32_t index, const Operands& operands) {
  TensorMemory& memory = TensorMemory::of(o.cta[index]->sm);
  const InstructionDescriptor& id = o.idesc;
  const DataPath& path = o.path;
  std::vector<uint32_t> kept;  // cells of disabled lanes, put back afterwards
  const auto each_disabled = [&](auto&& f) {
    if (!o.request.masked) return;
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane)
      if (o.request.disable_lane[4 * index + lane / 32] >> lane % 32 & 1)
        for (uint32_t c = 0; c < path.width(); ++c) f(memory.column(o.d.column + c)[lane]);
  };
  each_disabled([&](uint32_t cell) { kept.push_back(cell); });
  for (uint32_t part = 0; part < path.parts; ++part) {
    MmaTile t;
    t.sum = sum_of(id.kind);
    t.rule = *id.d_type() == MmaAccumulator::f16 ? numerics::kSumF16 : numerics::kSumF32;
    t.a_format = *id.a_type();
    t.b_format = *id.b_type();
    t.rows = path.rows;
    t.columns = path.columns;
    t.terms = info(id.kind).k;
    t.a = operands.a[index * operands.a_copies + part % operands.a_copies].bytes;
    t.b = operands.b[path.b_cta(part)].bytes + path.b_first(part) * o.b.element_bytes;
    if (o.request.sparse)
      t.select = operands.selection[index * operands.selection_copies + part % operands.selection_copies].bytes;
    t.negate_a = id.negate_a;
    t.negate_b = id.negate_b;
    t.read_c = o.request.accumulate;
    t.c_scale = o.request.scale;
    t.saturate = id.saturate;
    if (id.block_scaled()) {
      t.scale_format = id.scale_type();
      t.scales = o.request.scales;
      t.a_scales = operands.a_scales[index].bytes;
      // Each CTA has the factors of all N columns.
      t.b_scales = operands.b_scales[index].bytes + part * path.columns;
    }
    t.d = memory.column(o.d.column + path.column(part));
    t.column_stride = kTmemLanes;
    const auto lanes = lanes_of(o, o.d, part);
    std::copy(lanes.begin(), lanes.end(), t.lane);
    MmaStatistics::count_scalar(*o.cta[index], numerics::mma(t));
  }
  size_t i = 0;
  each_disabled([&](uint32_t& cell) { cell = kept[i++]; });
}

}  // namespace

void mark_written(const MmaOperation& o) {
  for (uint32_t c = 0; c < o.path.ctas; ++c)
    for (const TmemRect& r : o.path.rects(o.d, o.path.width())) TensorMemory::of(o.cta[c]->sm).mark_written(r);
}

void execute_mma(const MmaOperation& o, uint64_t now, const Origin& who) {
  static thread_local Operands operands;
  gather_operands(o, operands);
  tell_accesses(o, who, now);
  check_collector(o, operands);
  zero_columns(o, operands);
  check_operands_written(o);
  const bool written = o.request.accumulate && all_written(o, o.path.rects(o.d, o.path.width()));
  if (o.request.accumulate && !written)
    o.who.report(Severity::warning, "tmem-uninitialised",
                 "This tcgen05.mma accumulates into cells that nothing has written since their allocation.",
                 "Pass enable-input-d = false for the first MMA of a tile.");
  for (uint32_t c = 0; c < o.path.ctas; ++c) {
    multiply(o, c, operands);
    if (o.request.shift_a) shift_rows_down(TensorMemory::of(o.cta[c]->sm), o.a_tmem);
  }
  if (!written) mark_written(o);
  if (MmaToggle::wants(*o.cta[0])) count_toggles(o, operands);
}

}  // namespace tinygpu
