// atom, red (PTX ISA 9.7.13.6, 9.7.13.7): read-modify-write on global and shared memory, one lane after the other, the
// lowest first (PTX leaves the order open).
//
// Floating point: add rounds to nearest even. f32 add on global memory flushes subnormal inputs and results to zero of
// the same sign, on shared memory it does not; f16 and bf16 (.noftz) and f64 keep subnormals.
#include <algorithm>
#include <type_traits>

#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/isa/address_operand.h"
#include "common/tinygpu/isa/floats.h"

namespace tinygpu::isa {

using ptx::Operand;
using ptx::Space;

namespace {

/// Two 16-bit values that are updated one by one.
template <class H>
struct Pair {
  H half[2];
};

// ---- The operations: new value from the old one and the operand. `l2`: on global memory, in the L2's units.

/// f32 in L2: subnormals in and out are zeros. f64 in L2: a NaN operand wins over the memory's, and neither is quieted;
/// elsewhere the memory's wins, quieted.
constexpr auto add = []<class T>(T old, T b, bool l2) {
  if constexpr (std::is_integral_v<T>)
    return T(Unsigned<T>(old) + Unsigned<T>(b));
  else if constexpr (std::is_same_v<T, float>)
    return l2 ? flush(canonical(flush(old) + flush(b))) : canonical(old + b);
  else if constexpr (std::is_same_v<T, double>)
    return l2 && b != b ? b : l2 && old != old ? old : payload(old + b, old, b);
  else
    return nearest<T>(value(old) + value(b));  // binary32 has bits enough that rounding twice makes no difference
};
template <bool maximum>
constexpr auto extreme = []<class T>(T old, T b, bool) {
  if constexpr (std::is_integral_v<T>) {
    return (maximum ? old < b : b < old) ? b : old;
  } else {
    const float x = value(old), y = value(b);
    if (x != x) return y != y ? T(kCanonicalNaN16) : b;
    if (y != y) return old;
    if (x == y) return T(maximum ? bits_of(old) & bits_of(b) : bits_of(old) | bits_of(b));  // −0 < +0
    return (maximum ? x < y : y < x) ? b : old;
  }
};
constexpr auto bit_and = []<class T>(T old, T b, bool) { return T(old & b); };
constexpr auto bit_or = []<class T>(T old, T b, bool) { return T(old | b); };
constexpr auto bit_xor = []<class T>(T old, T b, bool) { return T(old ^ b); };
constexpr auto exchange = []<class T>(T, T b, bool) { return b; };
constexpr auto increment = [](uint32_t old, uint32_t b, bool) { return old >= b ? 0 : old + 1; };
constexpr auto decrement = [](uint32_t old, uint32_t b, bool) { return old == 0 || old > b ? b : old - 1; };

template <auto f, class T>
T update(T old, T b, bool l2) {
  return f(old, b, l2);
}
template <auto f, class H>
Pair<H> update(Pair<H> old, Pair<H> b, bool l2) {
  return {{f(old.half[0], b.half[0], l2), f(old.half[1], b.half[1], l2)}};
}

// ---- Execution

/// Lanes that hit an address that an earlier lane of the same instruction hit: hardware serialises them.
uint32_t collisions(const uint64_t* address, uint32_t mask) {
  uint32_t most = 0;
  for (uint32_t left = mask; left;) {
    const uint32_t same = lanes_like_first(address, left);
    left &= ~same;
    most = std::max(most, uint32_t(__builtin_popcount(same)));
  }
  return most - 1;
}

/// How ptxas translates an atomic whose address it knows to be the same in all lanes (read from its code for sm_90a and
/// sm_100a): lanes count each other (VOTE, POPC) where they add one value, or reduce theirs (REDUX); then one lane's
/// atomic leaves the warp. A result that is used is worked out lane by lane from the one that comes back.
enum class Combine : uint8_t { no, sum, sum_of_64_bits, reduce };

struct AtomicDetails : MemoryOperand {
  bool ones;  // every lane adds the constant 1
  Combine combine;
};

/// Whether that happens: min, max and bits need a result that nothing reads, sums of different values that is read all
/// lanes.
bool combined(const Warp& w, const Op& op) {
  if (!op.uniform_address) return false;
  switch (op.get<AtomicDetails>().combine) {
    case Combine::no: return false;
    case Combine::sum: return op.uniform_value || op.dst == kNoSlot || w.full();
    case Combine::sum_of_64_bits: return op.uniform_value;
    case Combine::reduce: return op.dst == kNoSlot;
  }
  return false;
}

struct Target {
  uint64_t address[32];
  WarpAccess access;
  bool changed = false;  // memory: an atomic that changes nothing is a poll (a lock that is taken)
};

/// False: the op waits, for the serial phase or for its release.
bool begin_atomic(Warp& w, const Op& op, uint32_t bytes, Target& t) {
  const Space space = memory_operand(op).space;
  lane_addresses(w, op, t.address);
  if (wait_serial(w, space, t.address) || wait_to_release(w, op, space, t.address)) return false;
  t.access.combined = combined(w, op);
  resolve(w, space, t.address, bytes, bytes, MemoryOp::atomic, t.access);
  tell(w, Sync::Kind::acquire);
  return true;
}

/// A combined atomic's result, which lanes read: those that added one value multiply, the others had to scan. ptxas
/// keeps about eight such results in flight (an H200: 34 to 39 cycles for each of 32 in a row), and none past a scan.
void share_result(Warp& w, const Op& op) {
  const uint64_t latency = w.spec().costs[size_t(op.cost)].latency;
  w.charge(!op.uniform_value ? w.timing().memory.atomic_scan + latency : latency / 8);
}

void end_atomic(Warp& w, const Op& op, Target& t) {
  if (t.access.combined && op.dst != kNoSlot) share_result(w, op);
  if (t.access.shared) {
    const MemoryTiming& timing = w.timing().memory;
    // Lanes that add 1 to one word, and use no result, are added up on the way there: ptxas makes ATOMS.POPC.INC of
    // them (measured on an H200).
    const bool counts = t.access.combined || (op.get<AtomicDetails>().ones && op.dst == kNoSlot);
    const uint32_t meet = counts ? 0 : collisions(t.address, t.access.shared);
    if (t.access.floating) w.charge((meet + 1) * timing.shared_float_round);
    const uint32_t passes = timing.conflicts_free ? t.access.ideal : t.access.passes;
    t.access.passes = uint32_t(passes * timing.shared_atomic_pass + meet * timing.shared_atomic_same);
  }
  charge_access(w, op, t.access, MemoryOp::atomic);
  const ptx::MemoryOrder order = memory_operand(op).order;
  if (order.acquires() && order.scope > ptx::Scope::cta) w.sm().l1.empty();
  if (t.changed)
    w.partition().made_progress();
  else
    ++w.partition().polls;
}

/// atom and red of N elements of T. Op.list: N destinations (or none for red), then N sources.
template <auto f, class T, int N = 1>
void atomic(Warp& w, const Op& op) {
  Target t;
  if (!begin_atomic(w, op, N * sizeof(T), t)) return;
  // Compilers differ in whether a template parameter's type is const.
  t.access.floating =
      std::is_same_v<std::remove_const_t<decltype(f)>, std::remove_const_t<decltype(add)>> && !std::is_integral_v<T>;
  for_lanes(w.exec(), [&](int i) {
    T old[N];
    std::memcpy(old, t.access.at[i], sizeof old);
    for (int e = 0; e < N; ++e) {
      const T b = w.at<T>(N == 1 ? op.b : op.list[N + e])[i];
      const T next = update<f>(old[e], b, t.access.global >> i & 1);
      t.changed |= std::memcmp(&next, &old[e], sizeof next) != 0;
      std::memcpy(t.access.at[i] + e * sizeof(T), &next, sizeof next);
      const uint32_t slot = N == 1 ? op.dst : op.list[e];
      if (slot != kNoSlot) w.at<T>(slot)[i] = old[e];
    }
  });
  end_atomic(w, op, t);
}

bool equal(uint64_t a, uint64_t b) { return a == b; }
bool equal(U128 a, U128 b) { return a.lo == b.lo && a.hi == b.hi; }

/// atom.cas: dst = old; memory = old == b ? c : old.
template <class T>
void compare_and_swap(Warp& w, const Op& op) {
  Target t;
  if (!begin_atomic(w, op, sizeof(T), t)) return;
  const T *b = w.at<T>(op.b), *c = w.at<T>(op.c);
  for_lanes(w.exec(), [&](int i) {
    T old;
    std::memcpy(&old, t.access.at[i], sizeof old);
    const T expected = b[i], desired = c[i];
    if (equal(old, expected)) {
      t.changed |= !equal(old, desired);
      std::memcpy(t.access.at[i], &desired, sizeof desired);
    }
    if (op.dst != kNoSlot) w.at<T>(op.dst)[i] = old;
  });
  end_atomic(w, op, t);
}

// ---- Decoding

template <auto f, class T>
ExecFn by_count(int n) {
  if constexpr (sizeof(T) < 8) {
    if (n == 2) return atomic<f, T, 2>;
    if (n == 4) return atomic<f, T, 4>;
    if constexpr (sizeof(T) == 2)
      if (n == 8) return atomic<f, T, 8>;
  }
  return n == 1 ? atomic<f, T> : nullptr;
}
template <auto f>
ExecFn of_halves(Type t, int n) {
  switch (t) {
    case Type::f16: return by_count<f, f16>(n);
    case Type::bf16: return by_count<f, bf16>(n);
    case Type::f16x2: return by_count<f, Pair<f16>>(n);
    case Type::bf16x2: return by_count<f, Pair<bf16>>(n);
    default: return nullptr;
  }
}
template <auto f>
ExecFn of_integers(Type t) {
  const bool is_signed = ptx::is_signed(t);
  if (ptx::is_float(t)) return nullptr;
  switch (ptx::size_of(t)) {
    case 4: return is_signed ? atomic<f, int32_t> : atomic<f, uint32_t>;
    case 8: return is_signed ? atomic<f, int64_t> : atomic<f, uint64_t>;
    default: return nullptr;
  }
}

ExecFn atomic_function(const ptx::Instruction& inst, Type type, int n) {
  if (ptx::is_float(type)) {
    if (inst.has("min")) return of_halves<extreme<false>>(type, n);
    if (inst.has("max")) return of_halves<extreme<true>>(type, n);
    if (!inst.has("add")) return nullptr;
    return type == Type::f32   ? by_count<add, float>(n)
           : type == Type::f64 ? by_count<add, double>(n)
                               : of_halves<add>(type, n);
  }
  if (n != 1) return nullptr;
  if (inst.has("add")) return of_integers<add>(type);
  if (inst.has("min")) return of_integers<extreme<false>>(type);
  if (inst.has("max")) return of_integers<extreme<true>>(type);
  if (inst.has("and")) return of_integers<bit_and>(type);
  if (inst.has("or")) return of_integers<bit_or>(type);
  if (inst.has("xor")) return of_integers<bit_xor>(type);
  if (inst.has("exch")) return type == Type::b128 ? atomic<exchange, U128> : of_integers<exchange>(type);
  if (inst.has("inc")) return atomic<increment, uint32_t>;
  if (inst.has("dec")) return atomic<decrement, uint32_t>;
  return nullptr;
}

ExecFn cas_function(Type t) {
  switch (ptx::size_of(t)) {
    case 2: return compare_and_swap<uint16_t>;
    case 4: return compare_and_swap<uint32_t>;
    case 8: return compare_and_swap<uint64_t>;
    case 16: return compare_and_swap<U128>;
    default: return nullptr;
  }
}

void decode_common(Decoder& d, Op& op) {
  if (!op.fn) d.not_modelled();
  const Space space = space_of(*d.inst);
  op.edit<MemoryOperand>().space = space;
  op.cost = is_shared(space) ? CostClass::shared_atomic : CostClass::global_atomic;
  if (space == Space::global) op.flags |= Op::serial;
  decode_address(d, op, d.operand("a"));
  op.edit<MemoryOperand>().order = ptx::memory_order(*d.inst);
}

Combine combine(const ptx::Instruction& inst) {
  const Type type = inst.type();
  const bool narrow = type == Type::u32 || type == Type::s32 || type == Type::b32;
  if (inst.has("add"))
    return narrow ? Combine::sum : type == Type::u64 || type == Type::s64 ? Combine::sum_of_64_bits : Combine::no;
  return narrow && !inst.one_of("min", "max", "and", "or", "xor").empty() ? Combine::reduce : Combine::no;
}

void decode_update(Decoder& d, Op& op) {
  const Type type = d.inst->type();
  const Operand& b = d.operand("b");
  const Operand* to = d.find("d");  // of atom
  const size_t n = b.kind == Operand::Kind::vector ? b.elems.size() : 1;
  op.fn = atomic_function(*d.inst, type, int(n));
  decode_common(d, op);
  if (n == 1) {
    const Operand& only = b.kind == Operand::Kind::vector ? b.elems[0] : b;
    if (d.width(only, 0) && d.width(only, 0) != ptx::size_of(type)) d.not_modelled("register wider than the type");
    op.b = d.src(only, type);
    AtomicDetails& details = op.edit<AtomicDetails>();
    details.ones =
        d.inst->has("add") && ptx::size_of(type) == 4 && only.kind == Operand::Kind::integer && only.bits == 1;
    details.combine = combine(*d.inst);
    if (to) op.dst = d.dst(to->kind == Operand::Kind::vector ? to->elems[0] : *to);
    return;
  }
  OperandList slots;
  for (size_t e = 0; e < n; ++e)
    slots.push_back(to && to->kind == Operand::Kind::vector ? d.dst(to->elems[e]) : kNoSlot);
  add_sources(d, b, type, slots);
  d.set_list(op, slots);
}

void decode_atom(Decoder& d, Op& op) {
  if (!d.inst->has("cas")) return decode_update(d, op);
  const Type type = d.inst->type();
  op.fn = cas_function(type);
  decode_common(d, op);
  op.b = d.src(d.operand("b"), type);
  op.c = d.src(d.operand("c"), type);
  op.dst = d.dst(d.operand("d"));
}

constexpr Entry kAtomicsTable[] = {{Opcode::atom, decode_atom}, {Opcode::red, decode_update}};

}  // namespace

Table atomics_table() { return {kAtomicsTable}; }

}  // namespace tinygpu::isa
