// atom, red (PTX ISA 9.7.13.6, 9.7.13.7): read-modify-write on global and shared memory, one lane after the other, the
// lowest first (PTX leaves the order open).
//
// Floating point: add rounds to nearest even. f32 add on global memory flushes subnormal inputs and results to zero of
// the same sign, on shared memory it does not; f16 and bf16 (.noftz) and f64 keep subnormals.
#include <cmath>
#include <type_traits>

#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/isa/address_operand.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/halves.h"

namespace tinygpu::isa {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

float float_of(uint32_t b) { return std::bit_cast<float>(b); }
double double_of(uint64_t b) { return std::bit_cast<double>(b); }

/// IEEE binary16 as its bits.
struct Half {
  uint16_t bits;
  static constexpr uint16_t nan = 0x7fff;
  static float value(uint16_t b) { return isa::value(f16(b)); }
  // A sum of two halves has at most 22 significant bits less than binary32 keeps in the range where rounding twice
  // could differ: 24 >= 2 * 11 + 2.
  static uint16_t round(float f) { return uint16_t(bits_of(nearest<f16>(f))); }
};
/// bfloat16 as its bits.
struct Bfloat {
  uint16_t bits;
  static constexpr uint16_t nan = 0x7fff;
  static float value(uint16_t b) { return float_of(uint32_t(b) << 16); }
  static uint16_t round(float f) {
    const uint32_t b = bits_of(f);
    return uint16_t((b + 0x7fff + (b >> 16 & 1)) >> 16);
  }
};
template <class H>
struct Pair {
  H half[2];
};

uint32_t flushed(uint32_t b) { return (b & 0x7f800000) ? b : b & 0x80000000; }

// ---- The operations: new value from the old one and the operand
struct Add {
  template <class T>
  static T apply(T old, T b) {
    return T(old + b);
  }
  static Half apply(Half old, Half b) { return sum(old, b); }
  static Bfloat apply(Bfloat old, Bfloat b) { return sum(old, b); }
  static float apply(float old, float b) {
    const float r = old + b;
    return r != r ? float_of(0x7fffffff) : r;
  }
  static double apply(double old, double b) {
    const double r = old + b;
    if (r == r) return r;
    // The memory's NaN wins, quieted; +inf − inf gives the negative default NaN.
    return old != old ? quiet(old) : b != b ? quiet(b) : invalid();
  }
  static double invalid() { return double_of(0xfff8000000000000); }

 private:
  static double quiet(double d) { return double_of(bits_of(d) | uint64_t(1) << 51); }
  template <class H>
  static H sum(H old, H b) {
    const float r = H::value(old.bits) + H::value(b.bits);
    return {r != r ? H::nan : H::round(r)};
  }
};
/// f32 addition of the L2's units: subnormals in and out are zeros.
struct AddFlush {
  static float apply(float old, float b) {
    return float_of(flushed(bits_of(Add::apply(float_of(flushed(bits_of(old))), float_of(flushed(bits_of(b)))))));
  }
};
/// f64 addition of the L2's units: a NaN operand wins over the memory's, and neither is quieted.
struct AddKeepingNan {
  static double apply(double old, double b) {
    if (b != b) return b;
    if (old != old) return old;
    const double r = old + b;
    return r == r ? r : Add::invalid();
  }
};
template <bool maximum>
struct Extreme {
  template <class T>
  static T apply(T old, T b) {
    return (maximum ? old < b : b < old) ? b : old;
  }
  static Half apply(Half old, Half b) { return pick(old, b); }
  static Bfloat apply(Bfloat old, Bfloat b) { return pick(old, b); }

 private:
  template <class H>
  static H pick(H old, H b) {
    const float x = H::value(old.bits), y = H::value(b.bits);
    if (x != x) return y != y ? H{H::nan} : b;
    if (y != y) return old;
    if (x == y) return {uint16_t(maximum ? old.bits & b.bits : old.bits | b.bits)};  // −0 < +0
    return (maximum ? x < y : y < x) ? b : old;
  }
};
struct And {
  template <class T>
  static T apply(T old, T b) {
    return old & b;
  }
};
struct Or {
  template <class T>
  static T apply(T old, T b) {
    return old | b;
  }
};
struct Xor {
  template <class T>
  static T apply(T old, T b) {
    return old ^ b;
  }
};
struct Exchange {
  template <class T>
  static T apply(T, T b) {
    return b;
  }
};
struct Increment {
  static uint32_t apply(uint32_t old, uint32_t b) { return old >= b ? 0 : old + 1; }
};
struct Decrement {
  static uint32_t apply(uint32_t old, uint32_t b) { return old == 0 || old > b ? b : old - 1; }
};

template <class Operation, class T>
T update(T old, T b) {
  return Operation::apply(old, b);
}
template <class Operation, class H>
Pair<H> update(Pair<H> old, Pair<H> b) {
  return {{Operation::apply(old.half[0], b.half[0]), Operation::apply(old.half[1], b.half[1])}};
}

// ---- Execution

/// Lanes that hit an address that an earlier lane of the same instruction hit: hardware serialises them.
uint32_t collisions(const uint64_t* address, uint32_t mask) {
  uint32_t most = 0;
  uint32_t left = mask;
  while (left) {
    const int first = __builtin_ctz(left);
    uint32_t same = 0;
    for (int i = 0; i < 32; ++i) same |= uint32_t(address[i] == address[first]) << i;
    same &= left;
    left &= ~same;
    const uint32_t n = uint32_t(__builtin_popcount(same));
    most = n > most ? n : most;
  }
  return most - 1;
}

/// What ptxas makes of an atomic whose address it knows to be the same in all lanes (read from its code for sm_90a and
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

/// False: the op waits for the serial phase.
bool begin_atomic(Warp& w, const Op& op, uint32_t bytes, Target& t) {
  const Space space = memory_operand(op).space;
  lane_addresses(w, op, t.address);
  if (wait_serial(w, space, t.address)) return false;
  release_before(w, op, space, t.address);
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
    // Lanes that count at one word are added up on the way there if nobody asks what they found: ptxas makes
    // ATOMS.POPC.INC of it (measured on an H200).
    const bool counts = t.access.combined || (op.get<AtomicDetails>().ones && op.dst == kNoSlot);
    const uint32_t meet = counts ? 0 : collisions(t.address, t.access.shared);
    if (t.access.floating) w.charge((meet + 1) * timing.shared_float_round);
    t.access.passes = uint32_t(t.access.passes * timing.shared_atomic_pass + meet * timing.shared_atomic_same);
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
template <class Operation, class T, int N>
void atomic(Warp& w, const Op& op) {
  Target t;
  if (!begin_atomic(w, op, N * sizeof(T), t)) return;
  t.access.floating = std::is_same_v<Operation, Add> && !std::is_integral_v<T>;
  for_lanes(w.exec(), [&](int i) {
    T old[N];
    std::memcpy(old, t.access.at[i], sizeof old);
    for (int e = 0; e < N; ++e) {
      const T b = w.at<T>(N == 1 ? op.b : op.list[N + e])[i];
      T next;
      if constexpr (std::is_same_v<Operation, Add> && std::is_same_v<T, float>)
        next = t.access.global >> i & 1 ? AddFlush::apply(old[e], b) : Add::apply(old[e], b);
      else if constexpr (std::is_same_v<Operation, Add> && std::is_same_v<T, double>)
        next = t.access.global >> i & 1 ? AddKeepingNan::apply(old[e], b) : Add::apply(old[e], b);
      else
        next = update<Operation>(old[e], b);
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

template <class Operation, class T>
ExecFn by_count(int n) {
  if constexpr (sizeof(T) < 8) {
    if (n == 2) return atomic<Operation, T, 2>;
    if (n == 4) return atomic<Operation, T, 4>;
    if constexpr (sizeof(T) == 2)
      if (n == 8) return atomic<Operation, T, 8>;
  }
  return n == 1 ? atomic<Operation, T, 1> : nullptr;
}

template <class Operation>
ExecFn narrow_float(Type t, int n) {
  switch (t) {
    case Type::f16: return by_count<Operation, Half>(n);
    case Type::bf16: return by_count<Operation, Bfloat>(n);
    case Type::f16x2: return by_count<Operation, Pair<Half>>(n);
    case Type::bf16x2: return by_count<Operation, Pair<Bfloat>>(n);
    default: return nullptr;
  }
}

ExecFn add_function(Type t, int n) {
  switch (t) {
    case Type::u32:
    case Type::s32: return n == 1 ? atomic<Add, uint32_t, 1> : nullptr;
    case Type::u64:
    case Type::s64: return n == 1 ? atomic<Add, uint64_t, 1> : nullptr;
    case Type::f32: return by_count<Add, float>(n);
    case Type::f64: return n == 1 ? atomic<Add, double, 1> : nullptr;
    default: return narrow_float<Add>(t, n);
  }
}

template <bool maximum>
ExecFn extreme_function(Type t, int n) {
  if (n == 1) switch (t) {
      case Type::u32: return atomic<Extreme<maximum>, uint32_t, 1>;
      case Type::s32: return atomic<Extreme<maximum>, int32_t, 1>;
      case Type::u64: return atomic<Extreme<maximum>, uint64_t, 1>;
      case Type::s64: return atomic<Extreme<maximum>, int64_t, 1>;
      default: break;
    }
  return narrow_float<Extreme<maximum>>(t, n);
}

template <class Operation>
ExecFn bits_function(Type t) {
  switch (ptx::size_of(t)) {
    case 4: return atomic<Operation, uint32_t, 1>;
    case 8: return atomic<Operation, uint64_t, 1>;
    default: return nullptr;
  }
}

ExecFn atomic_function(const ptx::Instruction& inst, Type type, int n) {
  const std::string_view name = inst.one_of("add", "min", "max", "and", "or", "xor", "exch", "inc", "dec");
  if (name == "add") return add_function(type, n);
  if (name == "min") return extreme_function<false>(type, n);
  if (name == "max") return extreme_function<true>(type, n);
  if (n != 1) return nullptr;
  if (name == "and") return bits_function<And>(type);
  if (name == "or") return bits_function<Or>(type);
  if (name == "xor") return bits_function<Xor>(type);
  if (name == "exch") return type == Type::b128 ? atomic<Exchange, U128, 1> : bits_function<Exchange>(type);
  if (name == "inc") return atomic<Increment, uint32_t, 1>;
  if (name == "dec") return atomic<Decrement, uint32_t, 1>;
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

void decode_common(Decoder& d, Op& op, const Operand& address) {
  const Space space = space_of(*d.inst);
  op.edit<MemoryOperand>().space = space;
  op.cost = is_shared(space) ? CostClass::shared_atomic : CostClass::global_atomic;
  if (space == Space::global) op.flags |= Op::serial;
  decode_address(d, op, address);
  op.edit<MemoryOperand>().order = ptx::memory_order(*d.inst);
}

Combine combine(const ptx::Instruction& inst) {
  const Type type = inst.type();
  const bool narrow = type == Type::u32 || type == Type::s32 || type == Type::b32;
  if (inst.has("add"))
    return narrow ? Combine::sum : type == Type::u64 || type == Type::s64 ? Combine::sum_of_64_bits : Combine::no;
  return narrow && !inst.one_of("min", "max", "and", "or", "xor").empty() ? Combine::reduce : Combine::no;
}

/// `to` is nullptr for red.
void decode_update(Decoder& d, Op& op, const Operand* to, const Operand& address, const Operand& b) {
  const Type type = d.inst->type();
  const int n = b.kind == Operand::Kind::vector ? int(b.elems.size()) : 1;
  op.fn = atomic_function(*d.inst, type, n);
  if (!op.fn) d.not_modelled();
  decode_common(d, op, address);
  const Operand& only = b.kind == Operand::Kind::vector ? b.elems[0] : b;
  op.edit<AtomicDetails>().ones =
      n == 1 && d.inst->has("add") && ptx::size_of(type) == 4 && only.kind == Operand::Kind::integer && only.bits == 1;
  if (n == 1) {
    const Operand& source = b.kind == Operand::Kind::vector ? b.elems[0] : b;
    if (d.width(source, 0) && d.width(source, 0) != ptx::size_of(type)) d.not_modelled("register wider than the type");
    op.b = d.src(source, type);
    op.edit<AtomicDetails>().combine = combine(*d.inst);
    if (to) op.dst = d.dst(to->kind == Operand::Kind::vector ? to->elems[0] : *to);
    return;
  }
  std::vector<uint32_t> slots(size_t(n), kNoSlot);
  if (to && to->kind == Operand::Kind::vector)
    for (int e = 0; e < n; ++e) slots[size_t(e)] = d.dst(to->elems[size_t(e)]);
  for (const Operand& e : b.elems) slots.push_back(d.src(e, type));
  d.set_list(op, slots);
}

void decode_atom(Decoder& d, Op& op) {
  const Operand &to = d.operand(0), &address = d.operand(1);
  if (!d.inst->has("cas")) return decode_update(d, op, &to, address, d.operand(2));
  const Type type = d.inst->type();
  op.fn = cas_function(type);
  if (!op.fn) d.not_modelled();
  decode_common(d, op, address);
  op.b = d.src(d.operand(2), type);
  op.c = d.src(d.operand(3), type);
  op.dst = d.dst(to);
}

void decode_red(Decoder& d, Op& op) { decode_update(d, op, nullptr, d.operand(0), d.operand(1)); }

constexpr Entry kAtomicsTable[] = {{Opcode::atom, decode_atom}, {Opcode::red, decode_red}};

}  // namespace

Table atomics_table() { return {std::begin(kAtomicsTable), std::end(kAtomicsTable)}; }

}  // namespace tinygpu::isa
