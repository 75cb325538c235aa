// mov, with packing and unpacking; address-space conversion: cvta, isspacep (PTX ISA 9.7.9); istypep (9.7.11.6).
#include <algorithm>

#include "common/tinygpu/isa/lanewise.h"

namespace tinygpu::isa {
namespace {

using ptx::Operand;
using ptx::Space;

// ---- mov

constexpr auto mov = []<class T>(T a) { return a; };
U128 mov_b128(U128 a) { return a; }
void mov_pred(Warp& w, const Op& op) { put_pred(w, op.dst, w.pred(op.a)); }

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

struct Packing {
  int whole, part;  // bytes
  ExecFn pack, unpack;
};
template <class Part, class Whole>
constexpr Packing packing{sizeof(Whole), sizeof(Part), pack<Part, Whole>, unpack<Part, Whole>};
constexpr Packing kPackings[] = {
    packing<uint8_t, uint16_t>,  packing<uint8_t, uint32_t>, packing<uint16_t, uint32_t>, packing<uint16_t, uint64_t>,
    packing<uint32_t, uint64_t>, packing<uint32_t, U128>,    packing<uint64_t, U128>,
};
const Packing& packing_of(Decoder& d, int whole, int part) {
  for (const Packing& p : kPackings)
    if (p.whole == whole && p.part == part) return p;
  d.not_modelled();
}
/// The unsigned bit type of that many bytes.
Type bits_type(int bytes) {
  return bytes == 1 ? Type::b8 : bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : bytes == 8 ? Type::b64 : Type::b128;
}

void decode_pack(Decoder& d, Op& op, int whole) {
  const Operand& vector = d.operand(1);
  const int part = whole / int(vector.elems.size());
  if (vector.elems.size() == 2 && whole != 16 && part > 1) {
    op.dst = d.dst(d.operand(0));
    op.a = d.src(vector.elems[0], bits_type(part));
    op.b = d.src(vector.elems[1], bits_type(part));
    return finish(d, op, (whole == 8 ? lanewise<pack_words> : lanewise<pack_halves>).fn, CostClass::alu);
  }
  OperandList slots;
  op.dst = d.dst(d.operand(0));
  add_sources(d, vector, bits_type(part), slots);
  d.set_list(op, slots);
  finish(d, op, packing_of(d, whole, part).pack, CostClass::alu);
}
void decode_unpack(Decoder& d, Op& op, int whole) {
  const Operand& vector = d.operand(0);
  op.a = d.src(d.operand(1), bits_type(whole));
  OperandList slots;
  add_destinations(d, vector, slots);
  d.set_list(op, slots);
  finish(d, op, packing_of(d, whole, whole / int(vector.elems.size())).unpack, CostClass::alu);
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
  decode_lanewise(d, op,
                  whole == 16  ? Executor{execute_lanewise<mov_b128, 1>, {t}}
                  : whole == 1 ? lanewise<instance<mov, uint8_t>>
                               : by_width<mov>(t),
                  alu_cost(t));
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
  Space s = space_named(*d.inst);
  // Parameters of functions that are not entries live in local memory.
  if (s == Space::param && d.operand(1).kind == Operand::Kind::symbol &&
      d.space_of_symbol(d.operand(1).name) == Space::local)
    s = Space::local;
  const bool same = s == Space::global || s == Space::constant;
  decode_lanewise(d, op,
                  same                ? lanewise<instance<mov, uint64_t>>
                  : d.inst->has("to") ? lanewise<low_word>
                  : s == Space::local ? lanewise<into_window<kLocalWindow>>
                  : s == Space::param ? lanewise<into_window<kParamWindow>>
                                      : lanewise<into_window<kSharedWindow>>,
                  CostClass::alu);
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

/// The type of a handle: ptxas tests one of its bits (61: a texture, 62: a sampler, 63: a surface).
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
  return {table};
}

}  // namespace tinygpu::isa
