// ld, ldu, st (PTX ISA 9.7.9.8 – 9.7.9.13): every state space, vectors up to 256 bits, and .b128.
//
// Cache operators, eviction priorities, prefetch sizes and cache policies move no data and are not modelled; a prefetch
// brings its line into L2 at once. Memory order: a strong access to global memory runs in the serial phase, in which
// the partitions of SMs see each other's stores; within a partition every access is in program order already.
#include <algorithm>
#include <type_traits>

#include "common/tinygpu/engines/lsu/shared_fast_path.h"
#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/isa/address_operand.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/machine/memory/skipped_copies.h"

namespace tinygpu::isa {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

Space space_in(const Op& op) { return memory_operand(op).space; }

/// Address space of a .param access whose base is a register: an entry's parameters are a bank of their own, a
/// function's live in its local memory.
Space actual_space(Warp& w, const Op& op) {
  const Space s = space_in(op);
  return s == Space::param ? (w.function().entry ? Space::param : Space::local) : s;
}

// ---- ld

/// The registers of a vector operand, or of a single one; false if one is a sink.
template <class R>
bool registers(Warp& w, const Op& op, uint32_t single, uint32_t n, R** out) {
  for (uint32_t e = 0; e < n; ++e) {
    const uint32_t slot = op.list_size ? op.list[e] : single;
    if (slot == kNoSlot) return false;
    out[e] = w.at<R>(slot);
  }
  return true;
}

/// A value of one width as one of another.
template <class To, class From>
To as_value(From v) {
  if constexpr (sizeof(To) == 16)
    return v;
  else
    return To(v);
}

/// Lanes of n elements each, one behind the other in memory, to and from registers. An iteration takes a whole lane, so
/// that the compiler sees neighbours in memory.
template <uint32_t n, class M, class R>
void load_coalesced(const uint8_t* memory, R* const* registers) {
  const M* from = reinterpret_cast<const M*>(memory);
  R *const a = registers[0], *const b = registers[n > 1 ? 1 : 0];
  R *const c = registers[n > 2 ? 2 : 0], *const d = registers[n > 2 ? 3 : 0];
#pragma GCC ivdep
  for (uint32_t i = 0; i < 32; ++i) {
    a[i] = as_value<R>(from[n * i]);
    if constexpr (n > 1) b[i] = as_value<R>(from[n * i + 1]);
    if constexpr (n > 2) c[i] = as_value<R>(from[n * i + 2]);
    if constexpr (n > 2) d[i] = as_value<R>(from[n * i + 3]);
  }
}
template <uint32_t n, class M, class R>
void store_coalesced(uint8_t* memory, const R* const* registers) {
  M* const to = reinterpret_cast<M*>(memory);
  const R *const a = registers[0], *const b = registers[n > 1 ? 1 : 0];
  const R *const c = registers[n > 2 ? 2 : 0], *const d = registers[n > 2 ? 3 : 0];
#pragma GCC ivdep
  for (uint32_t i = 0; i < 32; ++i) {
    to[n * i] = as_value<M>(a[i]);
    if constexpr (n > 1) to[n * i + 1] = as_value<M>(b[i]);
    if constexpr (n > 2) to[n * i + 2] = as_value<M>(c[i]);
    if constexpr (n > 2) to[n * i + 3] = as_value<M>(d[i]);
  }
}

/// f of a lane's number of elements, 1, 2 or 4, as a constant.
template <class F>
auto with_count(uint32_t n, F&& f) {
  return n == 1   ? f(std::integral_constant<uint32_t, 1>{})
         : n == 2 ? f(std::integral_constant<uint32_t, 2>{})
                  : f(std::integral_constant<uint32_t, 4>{});
}

/// Some of what store_coalesced() would write is not what is there.
template <uint32_t n, class M, class R>
bool store_changes(const uint8_t* memory, const R* const* registers) {
  const M* const now = reinterpret_cast<const M*>(memory);
  std::conditional_t<sizeof(M) == 16, uint64_t, M> differ = 0;
  for (uint32_t e = 0; e < n; ++e)
    for (uint32_t i = 0; i < 32; ++i) {
      const M v = as_value<M>(registers[e][i]), is = now[n * i + e];
      if constexpr (sizeof(M) == 16)
        differ |= (v.lo ^ is.lo) | (v.hi ^ is.hi);
      else
        differ |= M(v ^ is);
    }
  return differ != 0;
}

void loaded_strong(Warp& w, const Op& op) {
  // A strong load is how threads poll; the machine counts those of .global by itself.
  tell(w, Sync::Kind::acquire);
  const ptx::MemoryOrder order = memory_operand(op).order;
  if (order.acquires() && order.scope > ptx::Scope::cta) w.sm().l1.empty();
  if (!(op.flags & Op::serial)) ++w.partition().polls;
}
inline void stored(Warp& w, const Op& op) {
  if (memory_operand(op).strong && !(op.flags & Op::serial)) w.partition().made_progress();
}

/// In a timing-only run: the load reads bytes that no copy has written, and the kernel's control flow depends on them.
[[gnu::cold]] void check_steering(Warp& w, const Op& op, Space space) {
  SkippedCopies* const skipped = w.cta().extensions.find<SkippedCopies>();
  if (!skipped || !(is_shared(space) || space == Space::generic)) return;
  uint64_t address[32];
  lane_addresses(w, op, address);
  bool read = false;
  for_lanes(w.exec(), [&](int i) {
    const uint64_t at = space == Space::generic ? address[i] - kSharedWindow : address[i];
    read |= at < kWindowSize && at >> 24 == w.cta().rank && skipped->overlaps(uint32_t(at & 0xffffff), 1);
  });
  if (read) warn_if_steering(w, "a load of what a bulk copy brings");
}

/// Values of M in memory become values of R in registers: zero- or sign-extended as M's signedness says. Of any memory.
template <class M, class R>
[[gnu::noinline]] void load_anywhere(Warp& w, const Op& op) {
  const Space space = actual_space(w, op);
  const uint32_t n = op.list_size ? op.list_size : 1;
  R* to[8];
  const bool whole = registers(w, op, op.dst, n, to);
  if (whole && n <= 4)
    if (const uint8_t* first = coalesced_global(w, op, space, n * sizeof(M), true))
      return with_count(n, [&](auto c) { load_coalesced<c, M>(first, to); });
  uint64_t address[32];
  lane_addresses(w, op, address);
  if (memory_operand(op).strong && (wait_serial(w, space, address) || wait_to_pass(w, space, address))) return;
  WarpAccess access;
  resolve(w, space, address, n * sizeof(M), n * sizeof(M), MemoryOp::load, access);
  for (uint32_t e = 0; e < n; ++e) {
    const uint32_t slot = op.list_size ? op.list[e] : op.dst;
    if (slot == kNoSlot) continue;
    R* d = w.at<R>(slot);
    auto one = [&](int i) {
      M v;
      std::memcpy(&v, access.at[i] + e * sizeof(M), sizeof v);
      d[i] = as_value<R>(v);
    };
    if (w.full())
      for (int i = 0; i < 32; ++i) one(i);
    else
      for_lanes(w.exec(), one);
  }
  charge_access(w, op, access, MemoryOp::load);
  if (memory_operand(op).strong) loaded_strong(w, op);
}

/// Lanes at any distance from each other.
template <class M, class R>
[[gnu::noinline]] void load_gathered(const SharedFastPath& fast, uint32_t n, R* const* to) {
  const bool one_place = fast.layout->span == int64_t(n * sizeof(M));
  for (uint32_t e = 0; e < n; ++e)
    if (one_place) {
      M v;
      std::memcpy(&v, fast.first + e * sizeof(M), sizeof v);
      for (int i = 0; i < 32; ++i) to[e][i] = as_value<R>(v);
    } else {
      for (int i = 0; i < 32; ++i) {
        M v;
        std::memcpy(&v, fast.first + fast.layout->distance[i] + e * sizeof(M), sizeof v);
        to[e][i] = as_value<R>(v);
      }
    }
}

/// The same as load_anywhere(), and quicker where all lanes reach shared memory of their own CTA.
template <class M, class R>
void load(Warp& w, const Op& op) {
  if ((op.flags & Op::steers) && w.gpu().options.timing_only) [[unlikely]]
    check_steering(w, op, actual_space(w, op));
  const uint32_t n = op.list_size ? op.list_size : 1;
  R* to[4];
  SharedFastPath fast;
  if (n > 4 || !registers(w, op, op.dst, n, to) || !fast.take<true>(w, op, n * sizeof(M)))
    return load_anywhere<M, R>(w, op);
  w.result_at(op, fast.ready);
  if (memory_operand(op).strong) loaded_strong(w, op);
  if (!fast.layout->coalesced) return load_gathered<M>(fast, n, to);
  with_count(n, [&](auto c) { load_coalesced<c, M>(fast.first, to); });
}

/// The same of one register, for what SharedFastPath::may_be_quick().
template <class M, class R>
void load_one(Warp& w, const Op& op) {
  SharedFastPath fast;
  if (((op.flags & Op::steers) && w.gpu().options.timing_only) || !fast.take_quick<true>(w, op, sizeof(M))) [[unlikely]]
    return load<M, R>(w, op);
  w.result_at(op, fast.ready);
  R* const to = w.at<R>(op.dst);
  fast.layout->coalesced ? load_coalesced<1, M>(fast.first, &to) : load_gathered<M>(fast, 1, &to);
}

/// ld.param of an entry with a constant address: one value for all lanes.
template <class M, class R>
void load_parameter(Warp& w, const Op& op) {
  const std::vector<uint8_t>& bank = w.partition().launch.config.params;
  // ptxas makes operands of parameters: an instruction that uses one waits until it has been fetched.
  w.charge(w.partition().parameters[w.cta().rank].wait(w.time()));
  const uint32_t n = op.list_size ? op.list_size : 1;
  const uint64_t address = op.a == kNoSlot           ? uint64_t(op.imm)
                           : memory_operand(op).wide ? w.at<uint64_t>(op.a)[0] + uint64_t(op.imm)
                                                     : uint32_t(w.at<uint32_t>(op.a)[0] + uint32_t(op.imm));
  if (!inside(0, bank.size(), address, n * sizeof(M))) return load<M, R>(w, op);
  for (uint32_t e = 0; e < n; ++e) {
    const uint32_t slot = op.list_size ? op.list[e] : op.dst;
    if (slot == kNoSlot) continue;
    M v;
    std::memcpy(&v, bank.data() + address + e * sizeof(M), sizeof v);
    each_lane<R>(w, slot, [r = as_value<R>(v)](int) { return r; });
  }
}

/// Functions of an access: of any operands, of what SharedFastPath::may_be_quick(), of an entry's parameters.
struct AccessFns {
  ExecFn any = nullptr, one = nullptr, parameter = nullptr;
};
template <class M, class R>
struct Load {
  static constexpr AccessFns functions{load<M, R>, load_one<M, R>, load_parameter<M, R>};
};

/// The functions of Access for values of M and the register type that has so many bytes, no fewer than M: one of Rs.
template <template <class, class> class Access, class M, class... Rs>
AccessFns among(int bytes) {
  AccessFns found;
  const auto offer = [&]<class R>(std::type_identity<R>) {
    if constexpr (sizeof(R) >= sizeof(M))
      if (int(sizeof(R)) == bytes) found = Access<M, R>::functions;
  };
  (offer(std::type_identity<Rs>{}), ...);
  return found;
}
template <template <class, class> class Access, class M>
AccessFns by_register(int bytes) {
  if constexpr (sizeof(M) == 16)
    return among<Access, M, U128>(bytes);
  else if constexpr (std::is_signed_v<M>)
    return among<Access, M, int8_t, int16_t, int32_t, int64_t>(bytes);
  else
    return among<Access, M, uint8_t, uint16_t, uint32_t, uint64_t>(bytes);
}
template <template <class, class> class Access>
AccessFns by_size(int memory_bytes, int register_bytes) {
  switch (memory_bytes) {
    case 1: return by_register<Access, uint8_t>(register_bytes);
    case 2: return by_register<Access, uint16_t>(register_bytes);
    case 4: return by_register<Access, uint32_t>(register_bytes);
    case 8: return by_register<Access, uint64_t>(register_bytes);
    case 16: return by_register<Access, U128>(register_bytes);
    default: return {};
  }
}

AccessFns load_functions(Type type, int register_bytes) {
  switch (type) {
    case Type::s8: return by_register<Load, int8_t>(register_bytes);
    case Type::s16: return by_register<Load, int16_t>(register_bytes);
    case Type::s32: return by_register<Load, int32_t>(register_bytes);
    case Type::s64: return by_register<Load, int64_t>(register_bytes);
    default: return by_size<Load>(ptx::size_of(type), register_bytes);
  }
}

/// Bytes of an operand's registers, 0 if it has none. Those of a vector must agree.
int register_width(Decoder& d, const Operand& o) {
  if (o.kind != Operand::Kind::vector) return d.width(o, 0);
  int width = 0;
  for (const Operand& e : o.elems) {
    const int own = d.width(e, 0);
    if (own && width && own != width) d.not_modelled("registers of different widths in one vector");
    if (own) width = own;
  }
  return width;
}

/// The space of an access and its cost class.
Space memory_space(Decoder& d, const Operand& address, bool& by_symbol) {
  Space space = space_of(*d.inst);
  const Operand& base = address.elems.empty() ? address : address.elems[0];
  by_symbol = base.kind == Operand::Kind::symbol;
  if (space == Space::param || space == Space::param_entry || space == Space::param_func) {
    const Space declared = by_symbol ? d.space_of_symbol(base.name) : Space::param;
    space = declared == Space::local ? Space::local : Space::param;
  }
  return space;
}

CostClass load_cost(Space space) {
  if (is_shared(space)) return CostClass::shared_load;
  switch (space) {
    case Space::local: return CostClass::local_memory;
    case Space::param: return CostClass::param_load;
    case Space::constant: return CostClass::constant_load;
    default: return CostClass::global_load;
  }
}

CostClass store_cost(Space space) {
  if (is_shared(space)) return CostClass::shared_store;
  return space == Space::local || space == Space::param ? CostClass::local_memory : CostClass::global_store;
}

void set_order(const Decoder& d, Op& op, Space space) {
  const ptx::MemoryOrder order = ptx::memory_order(*d.inst);
  if (!order.strong()) return;
  op.edit<MemoryOperand>().order = order;
  op.edit<MemoryOperand>().strong = true;
  if (space == Space::global) op.flags |= Op::serial;
}

void decode_ld(Decoder& d, Op& op) {
  const Operand& to = d.operand(0);
  const Type type = d.inst->type();
  bool by_symbol = false;
  const Space space = memory_space(d, d.operand(1), by_symbol);
  op.edit<MemoryOperand>().space = space;
  op.cost = load_cost(space);
  const int width = register_width(d, to);
  if (to.kind == Operand::Kind::vector) {
    OperandList slots;
    add_destinations(d, to, slots);
    d.set_list(op, slots);
  } else {
    op.dst = d.dst(to);
  }
  const auto past_l1 = [&](std::string_view m) { return d.inst->has(m); };
  op.edit<MemoryOperand>().cached =
      !ptx::memory_order(*d.inst).strong() && !past_l1("cg") && !past_l1("cv") && !past_l1("L1::no_allocate");
  const AccessFns f = load_functions(type, width ? width : ptx::size_of(type));
  if (!f.any) d.not_modelled();
  decode_address(d, op, d.operand(1));
  set_order(d, op, space);
  const bool one = op.dst != kNoSlot && !op.list_size && SharedFastPath::may_be_quick(op);
  op.fn = space == Space::param && by_symbol ? f.parameter : one ? f.one : f.any;
}

// ---- st

/// store_coalesced(), and progress if it changes anything while a watch looks for endless loops.
template <class M, class R>
void store_whole(Warp& w, uint8_t* first, uint32_t n, const R* const* from) {
  with_count(n, [&](auto c) {
    if (w.watched() && store_changes<c, M>(first, from)) ++w.partition().progress;
    store_coalesced<c, M>(first, from);
  });
}

/// The low bytes of registers of R go to memory as values of M. To any memory.
template <class M, class R>
[[gnu::noinline]] void store_anywhere(Warp& w, const Op& op) {
  const Space space = actual_space(w, op);
  const uint32_t n = op.list_size ? op.list_size : 1;
  R* from[8];
  const bool whole = registers(w, op, op.b, n, from), watched = w.watched();
  if (whole && n <= 4)
    if (uint8_t* first = coalesced_global(w, op, space, n * sizeof(M), false)) return store_whole<M>(w, first, n, from);
  uint64_t address[32];
  lane_addresses(w, op, address);
  if (memory_operand(op).strong && (wait_serial(w, space, address) || wait_to_release(w, op, space, address))) return;
  WarpAccess access;
  resolve(w, space, address, n * sizeof(M), n * sizeof(M), MemoryOp::store, access);
  uint32_t changes = 0;  // known only while a watch looks for endless loops
  for (uint32_t e = 0; e < n; ++e) {
    const R* s = w.at<R>(op.list_size ? op.list[e] : op.b);
    auto one = [&](int i) {
      const M v = as_value<M>(s[i]);
      if (watched) changes |= std::memcmp(access.at[i] + e * sizeof(M), &v, sizeof v) != 0;
      std::memcpy(access.at[i] + e * sizeof(M), &v, sizeof v);
    };
    // Lanes that write the same bytes: PTX leaves the winner open; an H200 keeps the lowest lane's (notes/evidence.md).
    if (w.full())
      for (int i = 31; i >= 0; --i) one(i);
    else
      for (uint32_t m = w.exec(); m; m &= ~(1u << (31 - __builtin_clz(m)))) one(31 - __builtin_clz(m));
  }
  if (changes) ++w.partition().progress;
  charge_access(w, op, access, MemoryOp::store);
  stored(w, op);
}

/// Lanes at any distance from each other.
template <class M, class R>
[[gnu::noinline]] void store_scattered(Warp& w, const SharedFastPath& fast, uint32_t n, const R* const* from) {
  const bool watched = w.watched();
  bool changes = false;
  for (uint32_t e = 0; e < n; ++e)
    for (int i = 31; i >= 0; --i) {  // the lowest lane's bytes stay: see above
      const M v = as_value<M>(from[e][i]);
      uint8_t* const to = fast.first + fast.layout->distance[i] + e * sizeof(M);
      if (watched) changes |= std::memcmp(to, &v, sizeof v) != 0;
      std::memcpy(to, &v, sizeof v);
    }
  if (changes) ++w.partition().progress;
}

/// The same as store_anywhere(), and quicker where all lanes reach shared memory of their own CTA.
template <class M, class R>
void store(Warp& w, const Op& op) {
  const uint32_t n = op.list_size ? op.list_size : 1;
  R* from[4];
  SharedFastPath fast;
  if (n > 4 || !registers(w, op, op.b, n, from) || !fast.take<false>(w, op, n * sizeof(M)))
    return store_anywhere<M, R>(w, op);
  stored(w, op);
  fast.layout->coalesced ? store_whole<M>(w, fast.first, n, from) : store_scattered<M>(w, fast, n, from);
}

/// The same of one register, for what SharedFastPath::may_be_quick().
template <class M, class R>
void store_one(Warp& w, const Op& op) {
  SharedFastPath fast;
  if (!fast.take_quick<false>(w, op, sizeof(M))) [[unlikely]]
    return store<M, R>(w, op);
  const R* const from = w.at<R>(op.b);
  if (!fast.layout->coalesced) return store_scattered<M>(w, fast, 1, &from);
  if (w.watched() && store_changes<1, M>(fast.first, &from)) ++w.partition().progress;
  store_coalesced<1, M>(fast.first, &from);
}

template <class M, class R>
struct Store {
  static constexpr AccessFns functions{store<M, R>, store_one<M, R>};
};

void decode_st(Decoder& d, Op& op) {
  const Operand& from = d.operand(1);
  const Type type = d.inst->type();
  const int size = ptx::size_of(type);
  bool by_symbol = false;
  const Space space = memory_space(d, d.operand(0), by_symbol);
  op.edit<MemoryOperand>().space = space;
  op.cost = store_cost(space);
  int width = register_width(d, from);
  if (!width) width = std::max(2, size);
  if (from.kind == Operand::Kind::vector) {
    // Literals follow the registers' width.
    OperandList slots;
    for (const Operand& e : from.elems) {
      const bool narrow_literal = e.kind == Operand::Kind::integer && width != std::max(2, size);
      slots.push_back(narrow_literal ? d.constant(uint64_t(e.bits), width) : d.src(e, type));
    }
    d.set_list(op, slots);
  } else {
    op.b = d.src(from, type);
  }
  const AccessFns f = by_size<Store>(size, width);
  if (!f.any) d.not_modelled();
  decode_address(d, op, d.operand(0));
  set_order(d, op, space);
  op.fn = !op.list_size && SharedFastPath::may_be_quick(op) ? f.one : f.any;
}

// ---- Cache hints (PTX ISA 9.7.9.15-18): no value depends on them, and the model has no cache state that could.

void hint(Warp&, const Op&) {}

void decode_hint(Decoder& d, Op& op) {
  finish(d, op, hint, CostClass::global_store);
  d.address(d.operand(0));
}

void prefetch(Warp& w, const Op& op) {
  uint64_t address[32];
  lane_addresses(w, op, address);
  MemoryRequests& memory = w.partition().memory;
  for_lanes(w.exec(), [&](int i) { memory.add_lines(address[i], 1); });
  if (w.told(Observer::traffic)) memory.tell_missed(origin_of(w));
  memory.ask(MemoryRequests::Kind::read, w.sm(), w.time(), {});
}

void decode_prefetch(Decoder& d, Op& op) {
  if (d.inst->has("tensormap")) return decode_hint(d, op);
  decode_address(d, op, d.operand(0));
  finish(d, op, prefetch, CostClass::global_store);
}

/// The policy word is opaque and never looked at again. These are the words that CUTLASS writes for whole-line
/// policies; ranges and fractions are not encoded.
void create_policy(Warp& w, const Op& op) {
  each_lane<uint64_t>(w, op.dst, [&](int) { return uint64_t(op.imm); });
}

void decode_createpolicy(Decoder& d, Op& op) {
  op.fn = create_policy;
  op.dst = d.dst(d.operand(0));
  op.imm = d.inst->has("L2::evict_first")  ? 0x12F0000000000000
           : d.inst->has("L2::evict_last") ? 0x14F0000000000000
                                           : 0x1000000000000000;
}

constexpr Entry kLoadStoreTable[] = {
    {Opcode::ld, decode_ld},
    {Opcode::ldu, decode_ld},
    {Opcode::st, decode_st},
    {Opcode::prefetch, decode_prefetch},
    {Opcode::prefetchu, decode_prefetch},
    {Opcode::applypriority, decode_hint},
    {Opcode::discard, decode_hint},
    {Opcode::createpolicy, decode_createpolicy},
};

}  // namespace

Table load_store_table() { return {kLoadStoreTable}; }

}  // namespace tinygpu::isa
