// wmma.load, wmma.store, wmma.mma (PTX ISA 9.7.14.4). The ISA leaves open which thread holds which element; here they
// lie as ptxas's code for sm_90 and sm_100 has them, which is mma.sync's fragments: a matrix of 16 by 16 is two pieces
// of 16 by 8 side by side, one of 32 by 8 two on top of each other, and one of 8 by 32 the transposed product, whose A
// is our B. tf32 takes two steps of k 4. Registers that are left over repeat the others.
#include <algorithm>

#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/engines/mma/mma_statistics.h"
#include "common/tinygpu/isa/address_operand.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/mma_pieces.h"

namespace tinygpu::isa {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

// ---- Where elements lie

/// A matrix in a warp's registers: A (x: m, y: k), B (x: n, y: k), C and D (x: m, y: n).
struct Fragment {
  char matrix;   // 'a', 'b', 'c'
  uint8_t bits;  // of an element
  MatrixShape shape;

  uint32_t register_bits() const { return bits == 64 ? 64 : 32; }
  uint32_t per_register() const { return register_bits() / bits; }
  /// The product is computed transposed: 8 rows by 32 columns.
  bool transposed() const { return shape.n == 32; }
};

struct At {
  uint32_t x, y;
};

/// Element i of register r of a lane.
At place(const Fragment& f, uint32_t r, uint32_t lane, uint32_t i) {
  const uint32_t row = lane / 4, quad = lane % 4, per = f.per_register();
  if (f.matrix == 'c') {
    const bool small = f.shape.m == 8 && f.shape.n == 8;
    const uint32_t values = r * per + i;  // two of a row, then 8 rows down, then the next piece
    const uint32_t tile = small ? 0 : values / 4;
    const At in{row + 8 * (values / 2 % 2), 2 * quad + values % 2};
    if (f.transposed()) return {in.y, in.x + 16 * tile};
    return f.shape.m == 32 ? At{in.x + 16 * tile, in.y} : At{in.x, in.y + 8 * tile};
  }
  const uint32_t rows = f.matrix == 'a' ? f.shape.m : f.shape.n;
  const bool tall = rows == 32 || (rows == 16 && f.matrix == 'a');  // pieces of 16 rows, not of 8
  const uint32_t along = f.shape.k / (4 * per);                     // registers along k
  const uint32_t in_tile = along * (tall ? 2 : 1), tiles = rows / (tall ? 16 : 8);
  const uint32_t s = r % (in_tile * tiles), in = s % in_tile, tile = s / in_tile;
  if (tall) return {row + 8 * (in % 2) + 16 * tile, quad * per + i + in / 2 * 4 * per};
  return {row + 8 * tile, quad * per + i + in * 4 * per};
}

// ---- wmma.load, wmma.store

/// Op: list = registers; op.a, op.imm: address; op.c: stride in elements.
struct WmmaDetails : MemoryOperand {
  Fragment fragment;
  bool row;  // row-major: of A and C, x is what strides go along
};

/// Elements from the matrix's first one to (x, y).
uint64_t element_at(const WmmaDetails& d, At at, uint32_t stride) {
  // B's x are columns.
  const bool x_strides = d.row != (d.fragment.matrix == 'b');
  return x_strides ? uint64_t(at.x) * stride + at.y : uint64_t(at.y) * stride + at.x;
}
/// Do a register's elements follow each other in memory?
bool contiguous(const WmmaDetails& d) {
  const bool along_y = d.row != (d.fragment.matrix == 'b');
  return along_y != (d.fragment.matrix == 'c' && d.fragment.transposed());
}

/// Calls f(register, access, bits from its bottom) for each access of all lanes, and charges it.
template <class F>
void each_access(Warp& w, const Op& op, MemoryOp act, F&& f) {
  const WmmaDetails& d = op.get<WmmaDetails>();
  const Fragment& g = d.fragment;
  const uint32_t* stride = w.at<uint32_t>(op.c);
  uint64_t base[32];
  lane_addresses(w, op, base);
  const uint32_t at_once = contiguous(d) ? g.per_register() : 1, bytes = at_once * g.bits / 8;
  for (uint32_t r = 0; r < op.list_size; ++r)
    for (uint32_t i = 0; i < g.per_register(); i += at_once) {
      uint64_t address[32];
      for (uint32_t t = 0; t < 32; ++t) address[t] = base[t] + element_at(d, place(g, r, t, i), stride[t]) * g.bits / 8;
      WarpAccess access;
      resolve(w, d.space, address, bytes, bytes, act, access);
      f(r, access, bytes, i * g.bits);
      charge_access(w, op, access, act);
    }
}

void load(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  uint64_t value[8][32] = {};
  each_access(w, op, MemoryOp::load, [&](uint32_t r, const WarpAccess& a, uint32_t bytes, uint32_t shift) {
    for_lanes(w.exec(), [&](int t) {
      uint64_t v = 0;
      std::memcpy(&v, a.at[t], bytes);
      value[r][t] |= v << shift;
    });
  });
  for (uint32_t r = 0; r < op.list_size; ++r) {
    if (op.list[r] == kNoSlot) continue;
    if (op.get<WmmaDetails>().fragment.bits == 64)
      each_lane<uint64_t>(w, op.list[r], [&](int t) { return value[r][t]; });
    else
      each_lane<uint32_t>(w, op.list[r], [&](int t) { return uint32_t(value[r][t]); });
  }
}

void store(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  const bool wide = op.get<WmmaDetails>().fragment.bits == 64;
  each_access(w, op, MemoryOp::store, [&](uint32_t r, const WarpAccess& a, uint32_t bytes, uint32_t shift) {
    for_lanes(w.exec(), [&](int t) {
      const uint64_t word = word_at(w, op.list[r], wide, t);
      const uint64_t v = word >> shift;
      std::memcpy(a.at[t], &v, bytes);
    });
  });
  ++w.partition().progress;
}

void decode_memory(Decoder& d, Op& op, bool is_load) {
  const ptx::Instruction& i = *d.inst;
  WmmaDetails k{};
  k.space = space_of(i);
  k.row = i.has("row");
  Fragment& g = k.fragment;
  g.matrix = i.has("a") ? 'a' : i.has("b") ? 'b' : 'c';
  const auto types = matrix_types(i);
  const auto shape = matrix_shape(i);
  if (types.size() != 1 || !shape) d.not_modelled();
  g.shape = *shape;
  g.bits = element_bits(types[0]);
  op.set(k);
  OperandList slots;
  if (is_load)
    add_destinations(d, d.operand("r"), slots);
  else
    add_sources(d, d.operand("r"), g.bits == 64 ? Type::b64 : Type::b32, slots);
  if (slots.size() > 8) d.not_modelled();
  d.set_list(op, slots);
  decode_address(d, op, d.operand("address"));
  // Left out, rows (or columns) follow each other without a gap.
  const uint32_t row = g.matrix == 'a' ? g.shape.k : g.shape.n, column = g.matrix == 'b' ? g.shape.k : g.shape.m;
  const Operand* stride = d.find("stride");
  op.c = stride ? d.src(*stride, Type::u32) : d.constant(k.row ? row : column, 4);
  op.fn = is_load ? load : store;
  op.cost = is_shared(k.space) ? (is_load ? CostClass::shared_load : CostClass::shared_store)
                               : (is_load ? CostClass::global_load : CostClass::global_store);
}
void decode_load(Decoder& d, Op& op) { decode_memory(d, op, true); }
void decode_store(Decoder& d, Op& op) { decode_memory(d, op, false); }

// ---- wmma.mma

/// Op: list = D, A, B, C of the first piece, of the second …
struct MmaPieces : MmaDetails {
  uint8_t pieces;
  bool half_c, half_d;  // f16 where the piece computes with f32
  bool two_steps;       // pieces 1 and 3 go on from the results of 0 and 2
};
static_assert(sizeof(MmaPieces) <= Op::kDetails);

void mma(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  const MmaPieces& k = op.get<MmaPieces>();
  const PieceLayout& l = k.layout;
  MmaStatistics::count(w.cta(), MatrixFamily::mma_sync, l.m, kPieceN, l.k, k.pieces);
  // D may lie where another piece reads A, B or C: all pieces are computed before a result is written.
  MmaRegisters r[4];
  uint32_t widened[4][4][32];
  const uint32_t per_piece = k.half_d ? l.d / 2u : l.d, c_slots = k.half_c ? l.c / 2u : l.c;
  const uint32_t* slot = op.list;
  const uint32_t* results[4];
  for (uint32_t p = 0; p < k.pieces; ++p) {
    results[p] = slot;
    slot += per_piece;
    for (uint32_t i = 0; i < l.a; ++i) r[p].a[i] = w.at<uint32_t>(*slot++);
    for (uint32_t i = 0; i < l.b; ++i) r[p].b[i] = w.at<uint32_t>(*slot++);
    for (uint32_t i = 0; i < c_slots; ++i) {
      const uint32_t* c = w.at<uint32_t>(*slot++);
      if (!k.half_c) {
        r[p].c[i] = c;
        continue;
      }
      for (uint32_t half = 0; half < 2; ++half) {
        for (uint32_t t = 0; t < 32; ++t)
          widened[p][2 * i + half][t] = bits_of(value(f16(uint16_t(c[t] >> (16 * half)))));
        r[p].c[2 * i + half] = widened[p][2 * i + half];
      }
    }
    if (k.two_steps && p % 2)
      for (uint32_t i = 0; i < l.d; ++i) r[p].c[i] = r[p - 1].d[i];
    MmaStatistics::count_scalar(w.cta(), k.piece(k, r[p]));
  }
  for (uint32_t p = k.two_steps ? 1 : 0; p < k.pieces; p += k.two_steps ? 2 : 1) {
    if (k.half_d)
      for (uint32_t i = 0; i < per_piece; ++i)
        for (uint32_t t = 0; t < 32; ++t) {
          const auto half = [&](uint32_t n) { return bits_of(nearest<f16>(r[p].result<float>(n)[t])); };
          const uint32_t word = half(2 * i) | half(2 * i + 1) << 16;
          r[p].result<uint32_t>(i)[t] = word;
        }
    put_results(w, results[p], per_piece, k.bits == 64, r[p]);
  }
}

void decode_mma(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  MmaPieces k{};
  const auto shape = matrix_shape(i);
  auto types = matrix_types(i);
  if (types.size() == 2) types = {types[0], "f16", "f16", types[1]};  // wmma.mma.….f32.f16: D and C of f16 operands
  if (types.size() != 4 || !shape) d.not_modelled();
  const MatrixShape s = *shape;
  k.half_d = types[0] == "f16" && types[3] == "f32";
  k.half_c = types[0] == "f32" && types[3] == "f16";
  if (k.half_d) types[0] = "f32";
  if (k.half_c) types[3] = "f32";
  const bool small = s.m == 8 && s.n == 8, transposed = s.n == 32;
  k.two_steps = types[1] == "tf32";
  PieceLayout& l = k.layout;
  l.m = small ? 8 : 16;
  l.k = k.two_steps ? 4 : s.k;
  // m8n8k4 is Volta's for f16 only.
  if (!choose_piece(i, types, k)) d.not_modelled();
  const uint32_t along = l.k * k.bits / (k.bits == 64 ? 64 : 32) / 4;  // registers along k
  l.a = uint8_t(along * l.m / 8);
  l.b = uint8_t(along);
  l.d = l.c = uint8_t(l.m / 4 / (types[0] == "f16" ? 2 : 1));
  // The list: each piece's registers. A piece of the transposed product takes B where others take A.
  const Operand *a = &d.operand("a"), *b = &d.operand("b");
  if (transposed) std::swap(a, b);
  const uint32_t tiles = small ? 1 : 2, steps = k.two_steps ? 2 : 1;
  const bool a_moves = transposed || s.m == 32;  // the next tile takes the next of A, or else of B
  k.pieces = uint8_t(tiles * steps);
  const uint32_t d_count = k.half_d ? l.d / 2u : l.d, c_count = k.half_c ? l.c / 2u : l.c;
  const bool wide = k.bits == 64;
  std::vector<uint32_t> slots;
  const auto add = [&](const Operand& o, bool destination, uint32_t first, uint32_t count) {
    for (uint32_t n = first; n < first + count; ++n) {
      const Operand& e = o.elems.at(n);
      slots.push_back(destination ? d.dst(e) : d.src(e, wide ? Type::b64 : Type::b32));
    }
  };
  for (uint32_t tile = 0; tile < tiles; ++tile)
    for (uint32_t step = 0; step < steps; ++step) {
      add(d.operand("d"), true, tile * d_count, d_count);
      add(*a, false, (a_moves ? tile * steps + step : step) * l.a, l.a);
      add(*b, false, (a_moves ? step : tile * steps + step) * l.b, l.b);
      add(d.operand("c"), false, tile * c_count, c_count);
    }
  d.set_list(op, slots);
  op.set(k);
  finish(d, op, mma, CostClass::mma_sync);
}

constexpr Entry kWmmaTable[] = {
    {Opcode::wmma_load, decode_load}, {Opcode::wmma_store, decode_store}, {Opcode::wmma_mma, decode_mma}};

}  // namespace

Table wmma_table() { return {kWmmaTable}; }

}  // namespace tinygpu::isa
