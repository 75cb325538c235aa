// mov, with packing and unpacking; address-space conversion: cvta, isspacep (PTX ISA 9.7.9); istypep (9.7.11.6).
#include <algorithm>

#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/lanewise.h"

namespace tinygpu::isa {
namespace {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

// ---- mov

template <class T>
T mov(T a) {
  return a;
}

void mov_b128(Warp& w, const Op& op) {
  const U128* a = w.at<U128>(op.a);
  each_lane<U128>(w, op.dst, [=](int i) { return a[i]; });
}
void mov_pred(Warp& w, const Op& op) {
  const uint32_t m = w.pred(op.a);
  uint32_t& d = w.pred(op.dst);
  d = (d & ~w.exec()) | (m & w.exec());
}

/// d = {a, b, …}: the first element lowest.
template <class Part, class Whole>
void pack(Warp& w, const Op& op) {
  Whole result[32];
  for (uint32_t n = 0; n < op.list_size; ++n) {
    const Part* part = w.at<Part>(op.list[n]);
    for (int i = 0; i < 32; ++i) std::memcpy(reinterpret_cast<Part*>(&result[i]) + n, &part[i], sizeof(Part));
  }
  each_lane<Whole>(w, op.dst, [&](int i) { return result[i]; });
}
/// {a, b, …} = d; elements `_` are dropped. The source is read whole before the first destination is written.
template <class Part, class Whole>
void unpack(Warp& w, const Op& op) {
  Whole source[32];
  std::copy_n(w.at<Whole>(op.a), 32, source);
  for (uint32_t n = 0; n < op.list_size; ++n) {
    if (op.list[n] == kNoSlot) continue;
    each_lane<Part>(w, op.list[n], [&](int i) {
      Part part;
      std::memcpy(&part, reinterpret_cast<const Part*>(&source[i]) + n, sizeof part);
      return part;
    });
  }
}
/// The two common ones, in a form that vectorises.
uint64_t pack_words(uint32_t low, uint32_t high) { return uint64_t(high) << 32 | low; }
uint32_t pack_halves(uint16_t low, uint16_t high) { return uint32_t(high) << 16 | low; }

ExecFn pack_executor(int whole, int part) {
  switch (whole * 100 + part) {
    case 201: return pack<uint8_t, uint16_t>;
    case 401: return pack<uint8_t, uint32_t>;
    case 402: return pack<uint16_t, uint32_t>;
    case 802: return pack<uint16_t, uint64_t>;
    case 804: return pack<uint32_t, uint64_t>;
    case 1604: return pack<uint32_t, U128>;
    case 1608: return pack<uint64_t, U128>;
    default: return nullptr;
  }
}
ExecFn unpack_executor(int whole, int part) {
  switch (whole * 100 + part) {
    case 201: return unpack<uint8_t, uint16_t>;
    case 401: return unpack<uint8_t, uint32_t>;
    case 402: return unpack<uint16_t, uint32_t>;
    case 802: return unpack<uint16_t, uint64_t>;
    case 804: return unpack<uint32_t, uint64_t>;
    case 1604: return unpack<uint32_t, U128>;
    case 1608: return unpack<uint64_t, U128>;
    default: return nullptr;
  }
}
/// The unsigned bit type of that many bytes.
Type bits_type(int bytes) {
  return bytes == 1 ? Type::b8 : bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : bytes == 8 ? Type::b64 : Type::b128;
}

void decode_pack(Decoder& d, Op& op, int whole) {
  const Operand& vector = d.operand(1);
  const int part = whole / int(vector.elems.size());
  op.dst = d.dst(d.operand(0));
  std::vector<uint32_t> slots;
  for (const Operand& e : vector.elems) slots.push_back(d.src(e, bits_type(part)));
  if (slots.size() == 2 && whole != 16 && part > 1) {
    op.a = slots[0];
    op.b = slots[1];
    return finish(d, op, whole == 8 ? lanewise<pack_words> : lanewise<pack_halves>, CostClass::alu);
  }
  d.set_list(op, slots);
  finish(d, op, pack_executor(whole, part), CostClass::alu);
}
void decode_unpack(Decoder& d, Op& op, int whole) {
  const Operand& vector = d.operand(0);
  const int part = whole / int(vector.elems.size());
  op.a = d.src(d.operand(1), bits_type(whole));
  std::vector<uint32_t> slots;
  for (const Operand& e : vector.elems) slots.push_back(d.dst(e));
  d.set_list(op, slots);
  finish(d, op, unpack_executor(whole, part), CostClass::alu);
}

void decode_mov(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (t == Type::pred) {
    op.dst = d.dst(d.operand(0));
    op.a = d.pred(d.operand(1));
    return finish(d, op, mov_pred, CostClass::alu);
  }
  const int whole = ptx::size_of(t);
  if (d.operand(1).kind == Operand::Kind::vector) return decode_pack(d, op, whole);
  if (d.operand(0).kind == Operand::Kind::vector) return decode_unpack(d, op, whole);
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), t);
  const ExecFn fn = whole == 16 ? mov_b128
                    : whole == 1
                        ? ExecFn(lanewise<mov<uint8_t>>)
                        : by_width(t, [](auto tag) -> ExecFn { return lanewise<mov<typename decltype(tag)::type>>; });
  finish(d, op, fn, whole == 8 ? CostClass::alu64 : CostClass::alu);
}

// ---- Address spaces
// Global and constant memory have the same addresses in the generic space; the others lie in windows.

uint64_t low_word(uint64_t a) { return a & 0xffffffff; }
template <uint64_t window>
uint64_t into_window(uint64_t a) {
  return window + low_word(a);
}

ptx::Space space_named(const ptx::Instruction& inst) {
  const std::string_view s = inst.one_of("global", "const", "shared", "shared::cta", "shared::cluster", "local",
                                         "param", "param::entry", "param::func");
  return s == "global"                         ? Space::global
         : s == "const"                        ? Space::constant
         : s == "shared" || s == "shared::cta" ? Space::shared_cta
         : s == "shared::cluster"              ? Space::shared_cluster
         : s == "local"                        ? Space::local
                                               : Space::param;
}

void decode_cvta(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (ptx::size_of(t) != 8) d.not_modelled("32-bit generic addresses");
  plain_operands(d, op, t);
  const Space s = space_named(*d.inst);
  const bool to = d.inst->has("to");
  ExecFn fn = lanewise<mov<uint64_t>>;
  switch (s) {
    case Space::shared_cta:
    case Space::shared_cluster: fn = to ? lanewise<low_word> : lanewise<into_window<kSharedWindow>>; break;
    case Space::local: fn = to ? lanewise<low_word> : lanewise<into_window<kLocalWindow>>; break;
    case Space::param:
      // Parameters of functions that are not entries live in local memory.
      if (d.operand(1).kind == Operand::Kind::symbol && d.space_of_symbol(d.operand(1).name) == Space::local)
        fn = to ? lanewise<low_word> : lanewise<into_window<kLocalWindow>>;
      else
        fn = to ? lanewise<low_word> : lanewise<into_window<kParamWindow>>;
      break;
    default: break;
  }
  finish(d, op, fn, CostClass::alu);
}

bool lies_in_window(uint64_t a, uint64_t window) { return a - window < kWindowSize; }

/// Constant variables lie among the global addresses here; hardware has a window for them.
bool is_constant(Warp& w, uint64_t address) {
  const Allocation* a = w.partition().launch.gpu.memory.find(address);
  return a && a->kind == MemoryKind::constant;
}

template <class Address>
void isspacep(Warp& w, const Op& op) {
  const Address* a = w.at<Address>(op.a);
  const Space s = op.get<Space>();
  each_pred(w, op.dst, [&](int i) {
    switch (s) {
      case Space::constant: return is_constant(w, a[i]);
      case Space::shared_cta: return lies_in_window(a[i], kSharedWindow) && uint32_t(a[i]) >> 24 == w.cta().rank;
      case Space::shared_cluster: return lies_in_window(a[i], kSharedWindow);
      case Space::local: return lies_in_window(a[i], kLocalWindow);
      case Space::param: return lies_in_window(a[i], kParamWindow);
      default:
        // Parameters count as global memory, on an H200 too.
        return !lies_in_window(a[i], kSharedWindow) && !lies_in_window(a[i], kLocalWindow) &&
               !lies_in_window(a[i], kFunctionWindow) && !is_constant(w, a[i]);
    }
  });
}
void decode_isspacep(Decoder& d, Op& op) {
  const Space s = space_named(*d.inst);
  op.dst = d.dst(d.operand(0));
  const int width = d.width(d.operand(1), 8);
  op.a = d.src(d.operand(1), width == 4 ? Type::u32 : Type::u64);
  op.set(s);
  finish(d, op, width == 8 ? isspacep<uint64_t> : width == 4 ? isspacep<uint32_t> : nullptr, CostClass::alu);
}

/// What a handle is of: ptxas tests a bit of it (61: a texture, 62: a sampler, 63: a surface).
void istypep(Warp& w, const Op& op) {
  const uint64_t* a = w.at<uint64_t>(op.a);
  each_pred(w, op.dst, [&](int i) { return a[i] >> op.imm & 1; });
}
void decode_istypep(Decoder& d, Op& op) {
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), Type::b64);
  op.imm = d.inst->has("texref") ? 61 : d.inst->has("samplerref") ? 62 : 63;
  finish(d, op, istypep, CostClass::alu);
}

}  // namespace

Table move_table() {
  static const Entry table[] = {{Opcode::mov, decode_mov},
                                {Opcode::cvta, decode_cvta},
                                {Opcode::isspacep, decode_isspacep},
                                {Opcode::istypep, decode_istypep}};
  return {std::begin(table), std::end(table)};
}

}  // namespace tinygpu::isa
