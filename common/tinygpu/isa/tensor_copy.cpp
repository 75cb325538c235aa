// Tensor copies: cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, cp.async.bulk.prefetch.tensor (PTX ISA 9.7.9.27.1).
// The instruction gathers its operands and checks what the unit checks at issue; engines/ moves the bytes.
#include "common/tinygpu/isa/bulk_operands.h"
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

namespace {

// Op::list: map, shared-memory operand, mbarrier, then the slots of the coordinates and of the im2col operands.
constexpr uint32_t kMap = 0, kShared = kAddressWords, kMbarrier = 2 * kAddressWords, kSlots = 3 * kAddressWords;
constexpr uint32_t kMostSlots = 8;

struct TileDetails : BulkDetails {
  TensorTile::Mode mode;
  uint8_t dimensions, coordinates;
  uint8_t offsets;  // of im2col
};

bool is_im2col(TensorTile::Mode m) { return m >= TensorTile::Mode::im2col; }

/// The lane's box, checked as the unit does when it takes the instruction.
TensorBox box_of(Warp& w, const Op& op, int lane, const char* verb) {
  TensorBox box;
  box.map = BulkEngine::of(w).map(w, address_at(w, op.list + kMap, lane), lane);
  const TileDetails& tile = op.get<TileDetails>();
  box.tile.mode = tile.mode;
  const uint32_t* slots = op.list + kSlots;
  for (uint32_t i = 0; i < tile.coordinates; ++i) box.tile.at[i] = w.at<int32_t>(slots[i])[lane];
  for (uint32_t i = 0; i < tile.offsets; ++i) box.tile.offset[i] = w.at<uint16_t>(slots[tile.coordinates + i])[lane];
  const TensorMap& m = box.map;
  if (m.rank != tile.dimensions)
    w.fault(FaultKind::illegal_instruction, "tensormap-rank",
            fmt::format("{} of {} dimensions with a tensor map of rank {}", verb, tile.dimensions, m.rank),
            "use the .1d to .5d form of the rank that the map was encoded with", lane);
  if (m.im2col != is_im2col(box.tile.mode))
    w.fault(FaultKind::illegal_instruction, "tensormap-mode",
            fmt::format("{} in {} mode with a map that was encoded for {}", verb,
                        is_im2col(box.tile.mode) ? "im2col" : "tile", m.im2col ? "im2col" : "tiles"),
            "encode with cuTensorMapEncodeIm2col for .im2col, with cuTensorMapEncodeTiled for .tile", lane);
  const bool walks_w = box.tile.mode == TensorTile::Mode::im2col_w || box.tile.mode == TensorTile::Mode::im2col_w128;
  if (m.im2col && m.rank > 3 && m.wide != walks_w)
    w.fault(
        FaultKind::illegal_instruction, "tensormap-mode",
        fmt::format("{} in {} mode with a map that was encoded for {}", verb, walks_w ? "im2col::w" : "im2col",
                    m.wide ? "im2col::w" : "im2col"),
        "encode with cuTensorMapEncodeIm2colWide for .im2col::w and .im2col::w::128, with cuTensorMapEncodeIm2col for "
        ".im2col",
        lane);
  if (box.tile.mode == TensorTile::Mode::gather4 && (m.interleave || m.box[1] != 1))
    w.fault(FaultKind::illegal_instruction, "tensormap-gather",
            fmt::format("{} of four rows with a map whose box has {} rows{}", verb, m.box[1],
                        m.interleave ? " and is interleaved" : ""),
            "encode the map for gather4 and scatter4 with boxDim[1] = 1 and no interleave", lane);
  if (!m.interleave && int64_t(box.tile.at[0]) * m.bits % 128)
    w.fault(FaultKind::illegal_instruction, "tensor-coordinate-misaligned",
            fmt::format(
                "{} that starts at element {} of dimension 0: with {}-bit elements that is not a multiple of 16 bytes",
                verb, box.tile.at[0], m.bits),
            "start at a multiple of 16 bytes along dimension 0; other dimensions may start anywhere", lane);
  return box;
}

/// The reductions that the unit accepts: every operation on every type was tried on an H200.
bool is_reducible(ReduceOperation operation, TensorElement e) {
  const bool word = e == TensorElement::u32 || e == TensorElement::s32 || e == TensorElement::u64;
  switch (operation) {
    case ReduceOperation::add: return word || e >= TensorElement::f16;
    case ReduceOperation::min:
    case ReduceOperation::max:
      return word || e == TensorElement::s64 || e == TensorElement::f16 || e == TensorElement::bf16;
    case ReduceOperation::inc:
    case ReduceOperation::dec: return e == TensorElement::u32;
    default: return word;
  }
}

/// The unit takes boxes at multiples of 128 bytes only (measured on an H200; the manual asks for 16).
void check_box_address(Warp& w, uint32_t address, int lane) {
  if (address % 128)
    w.fault(FaultKind::misaligned_address, "bulk-misaligned",
            fmt::format("a tensor copy with its box at shared address {:#x}, which is not a multiple of 128", address),
            "align the buffer to 128 bytes (1024 for a 128-byte swizzle whose phase should start at 0)", lane);
}

/// An im2col load begins between the corners of the box, in W, H and D (measured on an H200, not interleaved).
void check_im2col_start(Warp& w, const TensorBox& box, int lane) {
  const TensorMap& m = box.map;
  if (box.tile.mode != TensorTile::Mode::im2col || m.interleave) return;
  for (uint32_t i = 0; i + 2 < m.rank; ++i) {
    const int64_t last = int64_t(m.dim[i + 1]) - 1 + m.upper[i];
    if (box.tile.at[i + 1] < m.lower[i] || box.tile.at[i + 1] > last)
      w.fault(
          FaultKind::illegal_instruction, "im2col-start",
          fmt::format("a tensor load in im2col mode that starts at {} in dimension {}, where the box spans {} to {}",
                      box.tile.at[i + 1], i + 1, m.lower[i], last),
          "start at a pixel between the lower corner and the upper one", lane);
  }
}

void exec_load(Warp& w, const Op& op) {
  BulkEngine& engine = BulkEngine::of(w);
  for_lanes(w.exec(), [&](int lane) {
    const TensorBox box = box_of(w, op, lane, "a tensor load");
    const uint32_t to = shared_address_at(w, op.list + kShared, lane, "a tensor load's destination");
    const uint32_t mbarrier = shared_address_at(w, op.list + kMbarrier, lane, "a tensor load's mbarrier");
    const uint32_t mask = bulk(op).multicast ? w.at<uint16_t>(op.c)[lane] : 0;
    check_box_address(w, to, lane);
    check_im2col_start(w, box, lane);
    charge_issue(w, op, w.timing().tma.issue_load);
    engine.tensor_load(w, lane, box, landings_of(w, op, lane, to, mbarrier, mask), bulk(op).multicast);
  });
}

void exec_store(Warp& w, const Op& op) {
  BulkEngine& engine = BulkEngine::of(w);
  const bool reduces = bulk(op).reduces;
  const auto same = [&](int a, int b) {
    for (const uint32_t* address : {op.list + kMap, op.list + kShared})
      if (address_at(w, address, a) != address_at(w, address, b)) return false;
    for (uint32_t i = 0; i < op.get<TileDetails>().coordinates; ++i)
      if (w.at<int32_t>(op.list[kSlots + i])[a] != w.at<int32_t>(op.list[kSlots + i])[b]) return false;
    return true;
  };
  for_stores(w.exec(), reduces, same, [&](uint32_t lanes) {
    const int lane = __builtin_ctz(lanes);
    const TensorBox box = box_of(w, op, lane, reduces ? "a tensor reduction" : "a tensor store");
    const uint32_t from = own_offset(w, shared_address_at(w, op.list + kShared, lane, "a tensor store's source"), lane,
                                     "a tensor store's source");
    check_box_address(w, from, lane);
    // gather4's rows are positions of their own, every other coordinate starts the box.
    for (uint32_t i = 0; i < op.get<TileDetails>().coordinates; ++i)
      if (box.tile.at[i] < 0)
        w.fault(
            FaultKind::illegal_instruction, "tensor-coordinate-negative",
            fmt::format("a tensor {} that starts at {} in dimension {}", reduces ? "reduction" : "store",
                        box.tile.at[i], i),
            "stores and reductions start inside the tensor's range: clip the box yourself, or shift the tensor's start",
            lane);
    for (uint32_t i = 0; box.map.im2col && i + 2 < box.map.rank; ++i)
      if (box.map.lower[i] < 0 || box.map.upper[i] > 0)
        w.fault(FaultKind::illegal_instruction, "im2col-store-corners",
                fmt::format("a tensor store in im2col mode with corners {} and {}: the box reaches out of the tensor",
                            box.map.lower[i], box.map.upper[i]),
                "im2col stores take maps whose lower corners are not negative and whose upper corners are not positive",
                lane);
    if (box.map.element == TensorElement::b4x16_p64)
      w.fault(FaultKind::illegal_instruction, "tensormap-load-only", "a tensor store through a map of 16U4_ALIGN16B",
              "16U4_ALIGN16B can only be loaded; store through a map of 16U4_ALIGN8B", lane);
    if (reduces) {
      const TensorElement e = box.map.element;
      if (box.map.packed() || !is_reducible(bulk(op).operation, e))
        w.fault(FaultKind::illegal_instruction, "tensor-reduce-type",
                fmt::format("a tensor reduction that the unit does not have for {}", name_of(e)),
                "add: UINT32, INT32, UINT64 and floats; min and max: 32- and 64-bit integers, FLOAT16, BFLOAT16; inc "
                "and dec: UINT32; and, or, xor: UINT32, INT32, UINT64",
                lane);
    }
    charge_issue(w, op, reduces ? w.timing().tma.issue_reduce : w.timing().tma.issue_store);
    engine.tensor_store(w, lanes, box, from, bulk(op).reduction());
  });
}

void exec_prefetch(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const TensorBox box = box_of(w, op, lane, "a tensor prefetch");
    if (box.extent() > w.spec().l2_bytes)
      w.fault(FaultKind::not_modelled, "not-modelled",
              fmt::format("a tensor prefetch of {} rows of {} bytes, more than L2 holds", box.rows(), box.row_bytes()),
              "prefetch boxes that a load could take: those that fit into a CTA's shared memory", lane);
    prefetch_lines(w, lane, [&](MemoryRequests& memory) { box.add_lines(memory); });
    charge_issue(w, op, w.timing().tma.issue_prefetch);
  });
}

// ---- decoding

TensorTile::Mode decode_mode(const ptx::Instruction& i) {
  if (i.has("tile::gather4") || i.has("tile::scatter4")) return TensorTile::Mode::gather4;
  if (i.has("im2col") || i.has("im2col_no_offs")) return TensorTile::Mode::im2col;
  if (i.has("im2col::w")) return TensorTile::Mode::im2col_w;
  if (i.has("im2col::w::128")) return TensorTile::Mode::im2col_w128;
  return TensorTile::Mode::tile;
}

/// Fills the list and the details. `shared` is the operand in shared memory, nullptr if there is none.
void decode_tile(Decoder& d, Op& op, const ptx::Operand* shared) {
  const ptx::Instruction& i = *d.inst;
  OperandList list = addresses(d, {&d.operand("map"), shared, d.find("mbarrier")});
  uint32_t dimensions = 0;
  for (uint32_t n = 1; n <= 5; ++n)
    if (i.has(std::string_view(&"1d2d3d4d5d"[(n - 1) * 2], 2))) dimensions = n;
  const auto& coordinates = d.operand("c").elems;
  for (const auto& c : coordinates) list.push_back(d.src(c, ptx::Type::s32));
  size_t offset_count = 0;
  if (const ptx::Operand* offsets = d.find("offset")) {
    for (const auto& o : offsets->elems) list.push_back(d.src(o, ptx::Type::u16));
    offset_count = offsets->elems.size();
  }
  if (list.size() > kSlots + kMostSlots || !dimensions) d.not_modelled();
  TileDetails& tile = op.edit<TileDetails>();
  tile.mode = decode_mode(i);
  tile.dimensions = uint8_t(dimensions);
  tile.coordinates = uint8_t(coordinates.size());
  tile.offsets = uint8_t(offset_count);
  d.set_list(op, list);
  op.cost = CostClass::async_issue;
}

void decode_copy(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  if (i.has("bulk_group")) {
    decode_tile(d, op, d.find("src"));
    op.fn = exec_store;
    return;
  }
  decode_tile(d, op, d.find("dst"));
  if (const ptx::Operand* mask = d.find("mask")) {
    op.edit<BulkDetails>().multicast = true;
    op.c = d.src(*mask, ptx::Type::u16);
  }
  op.edit<BulkDetails>().pair = i.has("cta_group::2");
  op.fn = exec_load;
}

void decode_reduce(Decoder& d, Op& op) {
  decode_tile(d, op, d.find("src"));
  set_reduction(op, reduce_operation(*d.inst), ReduceType::u32);  // the type is the map's
  op.fn = exec_store;
}

void decode_prefetch(Decoder& d, Op& op) {
  decode_tile(d, op, nullptr);
  op.fn = exec_prefetch;
}

constexpr Entry kTensorCopyTable[] = {
    {Opcode::cp_async_bulk_tensor, decode_copy},
    {Opcode::cp_reduce_async_bulk_tensor, decode_reduce},
    {Opcode::cp_async_bulk_prefetch_tensor, decode_prefetch},
};

}  // namespace

Table tensor_copy_table() { return {kTensorCopyTable}; }

}  // namespace tinygpu::isa
