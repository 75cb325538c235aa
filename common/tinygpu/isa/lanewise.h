// An instruction as one function on values: lanewise<f> runs it for 32 lanes, predicate<f> packs its truth values, and
// the by_… helpers pick the instantiation that an instruction's type names.
#pragma once
#include <bit>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

template <class F>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  static constexpr size_t arity = sizeof...(A);
  /// Calls use(tag of argument types …).
  template <class Use>
  static void with_types(Use&& use) {
    use(std::type_identity<A>{}...);
  }
};

/// dst = f(a), f(a, b), f(a, b, c) or f(a, b, c, d), lane by lane; with N > 1 each register holds N elements.
template <auto f, int N = 1>
void lanewise(Warp& w, const Op& op) {
  using S = Signature<std::decay_t<decltype(f)>>;
  using D = typename S::Result;
  S::with_types([&](auto... type) {
    const uint32_t slots[] = {op.a, op.b, op.c, op.d};
    [&]<size_t... I>(std::index_sequence<I...>) {
      const auto values = std::make_tuple(
          static_cast<const typename decltype(type)::type*>(w.at<typename decltype(type)::type>(slots[I]))...);
      each_element<D, N>(w, op.dst, [values](int j) { return f(std::get<I>(values)[j]...); });
    }
    (std::make_index_sequence<S::arity>{});
  });
}

/// Truth of f(a, b), f(a) per lane, as a mask with every lane evaluated.
template <auto f>
uint32_t truth(Warp& w, const Op& op) {
  uint32_t m = 0;
  Signature<std::decay_t<decltype(f)>>::with_types([&](auto... type) {
    const uint32_t slots[] = {op.a, op.b, op.c, op.d};
    [&]<size_t... I>(std::index_sequence<I...>) {
      const auto values = std::make_tuple(
          static_cast<const typename decltype(type)::type*>(w.at<typename decltype(type)::type>(slots[I]))...);
      for (int i = 0; i < 32; ++i) m |= uint32_t(f(std::get<I>(values)[i]...)) << i;
    }
    (std::make_index_sequence<sizeof...(type)>{});
  });
  return m;
}

/// A compile-time type passed as a value: `typename decltype(tag)::type`.
template <class T>
using Tag = std::type_identity<T>;

/// Calls f with the C++ type of an integer or bit type of 16 to 64 bits; nullptr for any other type.
template <class F>
ExecFn by_integer(ptx::Type t, F&& f) {
  using ptx::Type;
  switch (t) {
    case Type::b16:
    case Type::u16: return f(Tag<uint16_t>{});
    case Type::s16: return f(Tag<int16_t>{});
    case Type::b32:
    case Type::u32: return f(Tag<uint32_t>{});
    case Type::s32: return f(Tag<int32_t>{});
    case Type::b64:
    case Type::u64: return f(Tag<uint64_t>{});
    case Type::s64: return f(Tag<int64_t>{});
    default: return nullptr;
  }
}

/// Calls f with the unsigned type of 16, 32 or 64 bits that has the width of `t`.
template <class F>
ExecFn by_width(ptx::Type t, F&& f) {
  switch (ptx::size_of(t)) {
    case 2: return f(Tag<uint16_t>{});
    case 4: return f(Tag<uint32_t>{});
    case 8: return f(Tag<uint64_t>{});
    default: return nullptr;
  }
}

/// Turns a decode-time truth into a compile-time one.
template <class F>
ExecFn by_flag(bool flag, F&& f) {
  return flag ? f(std::true_type{}) : f(std::false_type{});
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
constexpr int kBits = int(sizeof(T) * 8);

/// Twice as wide, same signedness.
template <class T>
struct WideOf;
template <>
struct WideOf<uint8_t> {
  using type = uint16_t;
};
template <>
struct WideOf<int8_t> {
  using type = int16_t;
};
template <>
struct WideOf<uint16_t> {
  using type = uint32_t;
};
template <>
struct WideOf<int16_t> {
  using type = int32_t;
};
template <>
struct WideOf<uint32_t> {
  using type = uint64_t;
};
template <>
struct WideOf<int32_t> {
  using type = int64_t;
};
template <>
struct WideOf<uint64_t> {
  using type = unsigned __int128;
};
template <>
struct WideOf<int64_t> {
  using type = __int128;
};
template <class T>
using Wide = typename WideOf<T>::type;

/// Destination and sources of the plain form `op d, a, b …` where all operands have type `t`.
inline void plain_operands(Decoder& d, Op& op, ptx::Type t, ptx::Type t2 = ptx::Type::none,
                           ptx::Type t3 = ptx::Type::none) {
  op.dst = d.dst(d.operand(0));
  if (d.has(1)) op.a = d.src(d.operand(1), t);
  if (d.has(2)) op.b = d.src(d.operand(2), t2 == ptx::Type::none ? t : t2);
  if (d.has(3)) op.c = d.src(d.operand(3), t3 == ptx::Type::none ? t : t3);
  if (d.has(4)) op.d = d.src(d.operand(4), t);
}

/// Ends a decode function: an executor found, or `not modelled`.
inline void finish(Decoder& d, Op& op, ExecFn fn, CostClass cost) {
  if (!fn) d.not_modelled();
  op.fn = fn;
  op.cost = cost;
}

}  // namespace tinygpu::isa
