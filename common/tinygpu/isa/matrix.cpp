// ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14.5.15 – 9.7.14.5.17): 8x8 matrices of 16-bit elements and their 8-bit
// relatives between shared memory and a warp's registers. A matrix is given by the addresses of its rows of 16 bytes,
// which consecutive threads hold.
#include <algorithm>
#include <string>

#include "common/tinygpu/engines/lsu/bank_conflicts.h"
#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/isa/address_operand.h"
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

using ptx::Space;
using ptx::Type;

namespace {

constexpr uint32_t kRowBytes = 16;

/// Host pointers of the first `count` threads' rows; charges the bank passes, matrix by matrix of eight rows.
void rows(Warp& w, const Op& op, uint32_t count, MemoryOp act, uint8_t** row) {
  const char* verb = verb_of(act);
  uint64_t address[32];
  lane_addresses(w, op, address);
  uint32_t offset[32] = {};
  bool remote = false;
  for (uint32_t i = 0; i < count; ++i) {
    const Place p = locate(w, memory_operand(op).space, address[i], kRowBytes, kRowBytes, kind_of(act), int(i), verb);
    if (!is_shared(p.space))
      w.fault(FaultKind::illegal_instruction, "not-shared",
              std::string(verb) + " of a row that is not in shared memory",
              "pass the address of a __shared__ array: these instructions reach shared memory only", int(i));
    row[i] = p.host;
    offset[i] = uint32_t(p.address);
    remote |= p.cta != &w.cta();
  }
  WarpAccess access;
  access.shared = count == 32 ? ~0u : (1u << count) - 1;
  access.remote = remote ? access.shared : 0;
  access.passes = 0;
  for (uint32_t first = 0; first < count; first += 8)
    access.passes += busiest_bank(offset, 0xffu << first, kRowBytes / 4);
  access.ideal = count / 8;
  access.bytes = kRowBytes;
  access.writes = is_store(act);
  access.words = access.writes ? std::max(1u, count / 8) : 1;  // of a load the model's latency holds for all its words
  if (w.told(Observer::shared_accesses)) [[unlikely]]
    tell_lanes(w, op, memory_operand(op).space, act, access.shared, address, kRowBytes);
  charge_access(w, op, access, act);
}

/// How an element lies in its byte of the register: 8 bits as they are, 6 bits in bits 5:0, 4 bits in bits 5:2 (as in
/// tcgen05's f8f6f4 kinds, from which it is inferred for these instructions).
enum ElementFormat : uint8_t { kBytes = 0, kSixBits = 1, kFourBits = 2 };

/// Element `column` of 16 in a row whose elements the format packs: 12 bytes and 4 of padding, or 8 and 8.
uint8_t element(const uint8_t* row, uint32_t column, ElementFormat format) {
  if (format == kBytes) return row[column];
  if (format == kFourBits) return uint8_t((row[column / 2] >> (column % 2 * 4) & 15) << 2);
  const uint32_t bit = column * 6;
  const uint32_t pair = row[bit / 8] | (bit / 8 + 1 < kRowBytes ? uint32_t(row[bit / 8 + 1]) << 8 : 0);
  return uint8_t(pair >> bit % 8 & 63);
}

uint16_t half_at(const uint8_t* row, uint32_t column) {
  uint16_t h;
  std::memcpy(&h, row + 2 * column, 2);
  return h;
}

// ---- ldmatrix
// Op: list destinations; imm, a address.
struct MatrixDetails : MemoryOperand {
  bool transpose;
  ElementFormat format;
};

/// Register r of thread t.
using ValueOf = uint32_t(const MatrixDetails& k, const uint8_t* const* row, uint32_t r, uint32_t t);

/// Each register of the list takes eight rows.
template <ValueOf value_of>
void load(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  uint8_t* row[32];
  rows(w, op, 8 * op.list_size, MemoryOp::load_matrix, row);
  uint32_t value[4][32];
  for (uint32_t r = 0; r < op.list_size; ++r)
    for (uint32_t t = 0; t < 32; ++t) value[r][t] = value_of(op.get<MatrixDetails>(), row, r, t);
  for (uint32_t r = 0; r < op.list_size; ++r)
    if (op.list[r] != kNoSlot) each_lane<uint32_t>(w, op.list[r], [&](int t) { return value[r][t]; });
}

/// m8n8, .b16: thread t gets row t / 4, columns 2 (t % 4) and the next; transposed: the same of the transposed matrix.
uint32_t of_8x8(const MatrixDetails& k, const uint8_t* const* row, uint32_t r, uint32_t t) {
  const uint32_t i = t / 4, c = t % 4 * 2;
  const uint8_t* const* m = row + 8 * r;
  return k.transpose ? half_at(m[c], i) | uint32_t(half_at(m[c + 1], i)) << 16
                     : half_at(m[i], c) | uint32_t(half_at(m[i], c + 1)) << 16;
}
/// m16n16.trans: 16 rows of 16 elements; register r, byte i of thread t is row 4 (t % 4) + i, column t / 4 + 8 r.
uint32_t of_16x16(const MatrixDetails& k, const uint8_t* const* row, uint32_t r, uint32_t t) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < 4; ++i)
    value |= uint32_t(element(row[16 * (r / 2) + t % 4 * 4 + i], t / 4 + 8 * (r % 2), k.format)) << (8 * i);
  return value;
}
/// m8n16: 8 rows of 16 elements; thread t gets row t / 4, elements 4 (t % 4) … + 3.
uint32_t of_8x16(const MatrixDetails& k, const uint8_t* const* row, uint32_t r, uint32_t t) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < 4; ++i) value |= uint32_t(element(row[8 * r + t / 4], t % 4 * 4 + i, k.format)) << (8 * i);
  return value;
}

void decode_ldmatrix(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  op.cost = CostClass::ldmatrix;
  op.edit<MatrixDetails>().space = space_of(i);
  op.fn = i.has("m8n8") ? load<of_8x8> : i.has("m16n16") ? load<of_16x16> : load<of_8x16>;
  op.edit<MatrixDetails>().transpose = i.has("trans");
  op.edit<MatrixDetails>().format = i.has("b6x16_p32") ? kSixBits : i.has("b4x16_p64") ? kFourBits : kBytes;
  OperandList slots;
  add_destinations(d, d.operand("r"), slots);
  d.set_list(op, slots);
  decode_address(d, op, d.operand("address"));
}

// ---- stmatrix

/// Writes register r of thread t.
using Put = void(const MatrixDetails& k, uint8_t* const* row, uint32_t r, uint32_t t, uint32_t value);

template <Put put>
void store(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  uint8_t* row[32];
  rows(w, op, 8 * op.list_size, MemoryOp::store_matrix, row);
  for (uint32_t r = 0; r < op.list_size; ++r) {
    const uint32_t* s = w.at<uint32_t>(op.list[r]);
    for (uint32_t t = 0; t < 32; ++t) put(op.get<MatrixDetails>(), row, r, t, s[t]);
  }
}

void put_8x8(const MatrixDetails& k, uint8_t* const* row, uint32_t r, uint32_t t, uint32_t value) {
  const uint32_t i = t / 4;
  uint8_t* const* m = row + 8 * r;
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t c = t % 4 * 2 + half;
    const uint16_t h = uint16_t(value >> (16 * half));
    std::memcpy(k.transpose ? m[c] + 2 * i : m[i] + 2 * c, &h, 2);
  }
}
/// m16n8.trans.b8: 8 rows of 16 bytes; byte i of thread t goes to row 2 (t % 4) + i % 2, column t / 4 + 8 (i / 2).
void put_16x8(const MatrixDetails&, uint8_t* const* row, uint32_t r, uint32_t t, uint32_t value) {
  for (uint32_t i = 0; i < 4; ++i) row[8 * r + t % 4 * 2 + i % 2][t / 4 + 8 * (i / 2)] = uint8_t(value >> (8 * i));
}

void decode_stmatrix(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  op.cost = CostClass::stmatrix;
  op.edit<MatrixDetails>().space = space_of(i);
  op.fn = i.has("m8n8") ? store<put_8x8> : store<put_16x8>;
  op.edit<MatrixDetails>().transpose = i.has("trans");
  OperandList slots;
  add_sources(d, d.operand("r"), Type::b32, slots);
  d.set_list(op, slots);
  decode_address(d, op, d.operand("address"));
}

// ---- movmatrix

/// The 8x8 matrix of 16-bit elements that the warp's registers hold, transposed.
void move_transposed(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  const uint32_t* a = w.at<uint32_t>(op.a);
  uint32_t value[32];
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t r = t / 4, c = t % 4 * 2;
    const auto at = [&](uint32_t row, uint32_t column) {
      return a[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
    };
    value[t] = at(c, r) | at(c + 1, r) << 16;
  }
  each_lane<uint32_t>(w, op.dst, [&](int t) { return value[t]; });
}

void decode_movmatrix(Decoder& d, Op& op) {
  finish(d, op, move_transposed, CostClass::warp_sync);
  op.dst = d.dst(d.operand("d"));
  op.a = d.src(d.operand("a"), Type::b32);
}

constexpr Entry kMatrixTable[] = {
    {Opcode::ldmatrix, decode_ldmatrix}, {Opcode::stmatrix, decode_stmatrix}, {Opcode::movmatrix, decode_movmatrix}};

}  // namespace

Table matrix_table() { return {kMatrixTable}; }

}  // namespace tinygpu::isa
