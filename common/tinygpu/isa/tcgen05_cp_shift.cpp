// tcgen05.cp: shared memory to Tensor Memory; tcgen05.shift: rows of Tensor Memory one lane down (PTX ISA
// 9.7.16.9). One thread issues, the tensor core's queue executes, tcgen05.commit tells when.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "common/tinygpu/engines/mma/matrix_descriptor.h"
#include "common/tinygpu/engines/mma/packed_elements.h"
#include "common/tinygpu/engines/mma/tensor_core.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/tcgen05.h"

namespace tinygpu::isa {
namespace {

// ---- cp

enum CopyShape : uint8_t { c128x256b, c4x256b, c128x128b, c64x128b_02_13, c64x128b_01_23, c32x128b, kCopyShapes };

struct CopyGeometry {
  uint32_t rows, columns;  // of the source; a column is 4 bytes
};
constexpr CopyGeometry kCopy[kCopyShapes] = {{128, 8}, {4, 8}, {128, 4}, {64, 4}, {64, 4}, {32, 4}};

/// The lanes, relative to the address, that row `i` of the source goes to (PTX ISA 9.7.16.9).
struct Lanes {
  uint32_t count = 0, lane[4] = {};
};
constexpr Lanes lanes_of(CopyShape shape, uint32_t i) {
  switch (shape) {
    case c4x256b: return {1, {32 * i}};
    case c64x128b_02_13: return {2, {i, i + 64}};
    case c64x128b_01_23: return i < 32 ? Lanes{2, {i, i + 32}} : Lanes{2, {i + 32, i + 64}};
    case c32x128b: return {4, {i, i + 32, i + 64, i + 96}};
    default: return {1, {i}};
  }
}

enum Expansion : uint8_t { as_is, from_b6x16_p32, from_b4x16_p64 };

/// 16 source bytes to the 16 bytes that the MMA wants. Padding is ignored.
void expand(Expansion e, const uint8_t* from, uint8_t* to) {
  if (e == as_is) {
    std::memcpy(to, from, 16);
  } else if (e == from_b4x16_p64) {
    unpack_b4(from, 8, to);
    for (int j = 0; j < 16; ++j) to[j] = uint8_t(to[j] << 2);
  } else {
    unpack_b6x16(from, to);
  }
}

/// Of tcgen05.cp; tcgen05.shift uses the CTA group only.
struct CopyDetails {
  uint8_t cta_group;
  CopyShape shape;
  Expansion expansion;
};

/// One copy of one CTA: everything that the queue needs later.
struct Copy {
  CopyShape shape = c128x256b;
  Expansion expansion = as_is;
  TmemRect rect;
  std::vector<uint32_t> chunks;  // offsets of the source's 16-byte chunks, row by row
};

void execute(const Copy& copy, Cta& cta, const Origin& who) {
  TensorMemory& memory = TensorMemory::of(cta.sm);
  const CopyGeometry g = kCopy[copy.shape];
  const uint32_t per_row = g.columns / 4;
  for (uint32_t i = 0; i < g.rows; ++i)
    for (uint32_t k = 0; k < per_row; ++k) {
      const uint32_t offset = copy.chunks[i * per_row + k];
      const uint8_t* from = cta.shared_at(offset, 16);
      if (!from)
        who.fault(FaultKind::illegal_address, "matrix-out-of-bounds",
                  fmt::format("tcgen05.cp reads row {} at shared offset 0x{:x}, outside the CTA's {} bytes.", i, offset,
                              cta.shared.size()),
                  "Check the descriptor's start address and its stride and leading byte offsets.");
      uint8_t bytes[16];
      expand(copy.expansion, from, bytes);
      uint32_t words[4];
      std::memcpy(words, bytes, 16);
      const Lanes to = lanes_of(copy.shape, i);
      for (uint32_t n = 0; n < to.count; ++n)
        for (uint32_t w = 0; w < 4; ++w)
          memory.set_cell(copy.rect.lane + to.lane[n], copy.rect.column + k * 4 + w, words[w]);
    }
}

/// The cells that a copy writes: f(rectangle). 4x256b writes one lane of each partition.
template <class F>
void each_rect(const Copy& copy, F&& f) {
  if (copy.shape != c4x256b) return f(copy.rect);
  for (uint32_t p = 0; p < 4; ++p) f(TmemRect{copy.rect.lane + 32 * p, 1, copy.rect.column, copy.rect.columns});
}

/// The CTAs that an instruction of this cta_group works on.
struct CtaGroup {
  Cta* cta[2] = {};
  int count = 1;
};

CtaGroup group_of(Warp& w, uint32_t cta_group, const Origin& who, const char* what) {
  tmem_check_cta_group(w.cta(), cta_group, who);
  CtaGroup g;
  g.cta[0] = &w.cta();
  if (cta_group == 2) {
    g.cta[1] = &tmem_peer(w.cta(), who, what);
    g.count = 2;
  }
  return g;
}

/// Queues the operation, which writes these cells (the same of each CTA); `body` runs for each CTA when the queue
/// executes it.
template <class Body>
void enqueue(Warp& w, const CtaGroup& group, const std::vector<TmemRect>& cells, const char* what, TensorWork work,
             Body body) {
  for (int i = 0; i < group.count; ++i)
    for (const TmemRect& rect : cells) work.cells.push_back({&group.cta[i]->sm, rect, true, what});
  work.issued = w.time();
  work.peer = group.cta[1];
  work.execute = [group, body = std::move(body)](uint64_t now, const Origin& who) {
    for (int i = 0; i < group.count; ++i) body(*group.cta[i], now, who);
  };
  const uint32_t cta_group = work.cta_group;
  TensorCore::of(w.cta(), cta_group).enqueue(w.partition(), std::move(work));
}

uint64_t cycles(double c) { return std::max<uint64_t>(1, uint64_t(std::llround(c))); }

void cp_lane(Warp& w, const Op& op, int lane) {
  const Origin who = origin_of(w, lane);
  const auto [cta_group, shape, expansion] = op.get<CopyDetails>();
  const CtaGroup group = group_of(w, cta_group, who, "tcgen05.cp");
  Copy copy;
  copy.shape = shape;
  copy.expansion = expansion;
  const CopyGeometry g = kCopy[copy.shape];
  TmemAddress at = TmemAddress::from(w.at<uint32_t>(op.a)[lane] + uint32_t(op.imm));
  if (copy.shape == c4x256b ? at.lane >= 32 : at.lane != 0) {
    tmem_violation(who, "tmem-alignment", fmt::format("tcgen05.cp of this shape starts at lane {}.", at.lane),
                   copy.shape == c4x256b
                       ? "Give it the lane within a partition, 0 to 31: each row goes to one partition."
                       : "Start at lane 0: the copy covers all 128 lanes.");
    at.lane = copy.shape == c4x256b ? at.lane % 32 : 0;
  }
  // 4x256b touches one lane of each partition; the rectangle is the hull, which must be there and allocated.
  const uint32_t lanes = copy.shape == c4x256b ? 97 : kTmemLanes;
  for (int i = 0; i < group.count; ++i)
    copy.rect = tmem_check(TensorMemory::of(group.cta[i]->sm), *group.cta[i], at, lanes, g.columns, who, "tcgen05.cp");

  OperandLayout source;
  source.descriptor = MatrixDescriptor::tcgen05(w.at<uint64_t>(op.b)[lane]);
  source.element_bytes = 1;
  if (auto problem = check(source.descriptor))
    w.fault(FaultKind::illegal_instruction, "matrix-descriptor", problem->sentence(),
            "Build the descriptor of tcgen05.cp's source as for a K-major operand of tcgen05.mma.", lane);
  for (uint32_t i = 0; i < g.rows; ++i)
    for (uint32_t k = 0; k < g.columns / 4; ++k) copy.chunks.push_back(source.k_major_chunk(i, k));

  TensorWork work;
  work.kind = copy.shape == c4x256b ? TensorWork::Kind::copy_4x256b : TensorWork::Kind::copy;
  work.cta_group = uint8_t(cta_group);
  work.origin = who;
  const double bytes = (copy.shape == c4x256b ? 4.0 : 128.0) * g.columns * 4;
  const TensorMemoryTiming& timing = w.timing().tensor_memory.value();
  const double interval = timing.cp_fixed + bytes / timing.cp_bytes_per_cycle;
  work.interval = cycles(interval);
  work.latency = cycles(interval + timing.cp_latency);
  std::vector<TmemRect> cells;
  each_rect(copy, [&](const TmemRect& r) { cells.push_back(r); });
  enqueue(w, group, cells, "tcgen05.cp", std::move(work),
          [copy = std::move(copy)](Cta& cta, uint64_t now, const Origin& who) {
            execute(copy, cta, who);
            const SmPartition& partition = cta.cluster.partition;
            tell_operation(partition, AccessKind::read, Proxy::async, who, &cta, now, [&](MemoryAccess::Range f) {
              for (const uint32_t chunk : copy.chunks) f(chunk, 16);
            });
            each_rect(copy, [&](const TmemRect& cells) {
              tell(TmemAccess{partition, AccessKind::write, who, cta.sm.index, cells, now});
            });
          });
}

void cp(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) { cp_lane(w, op, lane); });
}

// ---- shift

constexpr uint32_t kShiftColumns = 8;

/// In every partition, lane i takes the cells of lane i + 1; lane 31 keeps its own. Direction, and that all four
/// partitions take part, rest on one third-party emulator and on how CuTe repairs lane 31 afterwards:
/// no chip was asked.
void shift_down(TensorMemory& memory, uint32_t column) {
  for (uint32_t c = column; c < column + kShiftColumns; ++c)
    for (uint32_t p = 0; p < 4; ++p) {
      uint32_t* lanes = memory.column(c) + 32 * p;
      std::memmove(lanes, lanes + 1, 31 * sizeof *lanes);
      const uint32_t before = memory.written(c, p);
      memory.set_written(c, p, before >> 1 | (before & 0x80000000u));
    }
}

void shift(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const Origin who = origin_of(w, lane);
    const CtaGroup group = group_of(w, op.get<CopyDetails>().cta_group, who, "tcgen05.shift");
    TmemAddress at = TmemAddress::from(w.at<uint32_t>(op.a)[lane] + uint32_t(op.imm));
    if (at.lane % 32) {
      tmem_violation(who, "tmem-alignment", fmt::format("tcgen05.shift starts at lane {}.", at.lane),
                     "The lane of its address must be a multiple of 32.");
      at.lane -= at.lane % 32;
    }
    TmemRect rect;
    for (int i = 0; i < group.count; ++i)
      rect = tmem_check(TensorMemory::of(group.cta[i]->sm), *group.cta[i], at, 32, kShiftColumns, who, "tcgen05.shift");
    rect.lane = 0;
    rect.lanes = kTmemLanes;
    TensorWork work;
    work.kind = TensorWork::Kind::shift;
    work.cta_group = op.get<CopyDetails>().cta_group;
    work.origin = who;
    work.interval = work.latency = cycles(w.timing().tensor_memory.value().shift_latency);
    enqueue(w, group, {rect}, "tcgen05.shift", std::move(work), [rect](Cta& cta, uint64_t now, const Origin& who) {
      shift_down(TensorMemory::of(cta.sm), rect.column);
      for (const AccessKind kind : {AccessKind::read, AccessKind::write})
        tell(TmemAccess{cta.cluster.partition, kind, who, cta.sm.index, rect, now});
    });
  });
}

// ---- Decoding

void decode_common(Decoder& d, Op& op, ExecFn fn) {
  finish(d, op, fn, CostClass::async_issue);
  decode_base(d, op, d.operand("address"));
  op.edit<CopyDetails>().cta_group = cta_group_of(d);
}

void decode_cp(Decoder& d, Op& op) {
  decode_common(d, op, cp);
  op.b = d.src(d.operand("descriptor"), ptx::Type::b64);
  CopyShape shape = kCopyShapes;
  if (d.inst->has("128x256b")) shape = c128x256b;
  if (d.inst->has("4x256b")) shape = c4x256b;
  if (d.inst->has("128x128b")) shape = c128x128b;
  if (d.inst->has("64x128b")) shape = d.inst->has("warpx2::01_23") ? c64x128b_01_23 : c64x128b_02_13;
  if (d.inst->has("32x128b")) shape = c32x128b;
  if (shape == kCopyShapes) d.not_modelled();
  op.edit<CopyDetails>().shape = shape;
  op.edit<CopyDetails>().expansion = d.inst->has("b6x16_p32")   ? from_b6x16_p32
                                     : d.inst->has("b4x16_p64") ? from_b4x16_p64
                                                                : as_is;
}

void decode_shift(Decoder& d, Op& op) { decode_common(d, op, shift); }

constexpr Entry kTcgen05CpShiftTable[] = {
    {Opcode::tcgen05_cp, decode_cp},
    {Opcode::tcgen05_shift, decode_shift},
};

}  // namespace

Table tcgen05_cp_shift_table() { return {kTcgen05CpShiftTable}; }

}  // namespace tinygpu::isa
