// An instruction as a function on values: lanewise<f> runs it for 32 lanes, and the by_… templates pick the instance
// for the type that an instruction names. Operand types follow from the function's, so a decoder names none.
#pragma once
#include <array>
#include <bit>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

using ptx::Type;

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
constexpr int kBits = int(sizeof(T) * 8);

/// The type by which the decoder reads a source register that holds N elements of T.
template <class T, int N = 1>
constexpr Type kSourceType = std::is_same_v<T, float>&& N == 1 ? Type::f32
                             : std::is_same_v<T, double>       ? Type::f64
                             : sizeof(T) * N == 1              ? Type::b8
                             : sizeof(T) * N == 2              ? Type::b16
                             : sizeof(T) * N == 4              ? Type::b32
                                                               : Type::b64;

/// Element j of the source operands, and f of them.
template <auto f, class = std::decay_t<decltype(f)>>
struct Elements;
template <auto f, class R, class... A>
struct Elements<f, R (*)(A...)> {
  using Result = R;
  std::tuple<const A*...> operands;

  Elements(Warp& w, const Op& op) {
    const uint32_t slots[] = {op.a, op.b, op.c, op.d};
    [&]<size_t... I>(std::index_sequence<I...>) { operands = {w.at<A>(slots[I])...}; }
    (std::index_sequence_for<A...>{});
  }
  R operator()(int j) const {
    return std::apply([j](const A*... operand) { return f(operand[j]...); }, operands);
  }
  /// The same, with operands that the compiler must load here and now: see host::RoundingMode.
  R through_memory(int j) const {
    const auto load = [](const volatile auto& x) { return x; };
    return std::apply([&](const A*... operand) { return f(load(operand[j])...); }, operands);
  }
  template <int N>
  static constexpr std::array<Type, 4> kSources = {kSourceType<A, N>...};
};

template <auto f, int N>
void execute_lanewise(Warp& w, const Op& op) {
  const Elements<f> of(w, op);
  each_element<typename Elements<f>::Result, N>(w, op.dst, [of](int j) { return of(j); });
}
/// dst = f(a), f(a, b), f(a, b, c) or f(a, b, c, d), lane by lane; with N > 1 each register holds N elements.
template <auto f, int N = 1>
constexpr Executor lanewise{execute_lanewise<f, N>, Elements<f>::template kSources<N>};

/// Truth of f(a, b), f(a) per lane, as a mask with every lane evaluated.
template <auto f>
uint32_t truth(Warp& w, const Op& op) {
  const Elements<f> of(w, op);
  uint32_t m = 0;
  for (int i = 0; i < 32; ++i) m |= uint32_t(of(i)) << i;
  return m;
}

// ---- Functions of any type: f is a lambda `[]<class T>(T a, …)`

template <auto f, class T, class = decltype(&decltype(f)::template operator()<T>)>
struct Instance;
template <auto f, class T, class Lambda, class R, class... A>
struct Instance<f, T, R (Lambda::*)(A...) const> {
  static constexpr R call(A... a) { return f.template operator()<T>(a...); }
};
/// f for one T.
template <auto f, class T>
constexpr auto instance = &Instance<f, T>::call;

/// f for the type that the instruction names, if it is one of Ts: of equal width, and signed if any of that width is.
template <auto f, class... Ts>
Executor by_types(Type t) {
  Executor found;
  const auto fits = [t]<class T>(std::type_identity<T>) {
    return int(sizeof(T)) == ptx::size_of(t) && std::is_signed_v<T> == ptx::is_signed(t);
  };
  ((fits(std::type_identity<Ts>{}) ? void(found = lanewise<instance<f, Ts>>) : void()), ...);
  return found;
}
template <auto f>
Executor by_integer(Type t) {
  return by_types<f, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(t);
}
/// Of functions that exist for signed types alone.
template <auto f>
Executor by_signed(Type t) {
  return by_types<f, int16_t, int32_t, int64_t>(t);
}
/// Of functions whose result, or an operand, is twice as wide.
template <auto f>
Executor by_half(Type t) {
  return by_types<f, uint16_t, int16_t, uint32_t, int32_t>(t);
}
template <auto f>
Executor by_word(Type t) {
  return by_types<f, uint32_t, int32_t, uint64_t, int64_t>(t);
}

/// f for the unsigned type of so many bytes, 2 and more.
template <auto f>
Executor by_size(int bytes) {
  return bytes == 2   ? lanewise<instance<f, uint16_t>>
         : bytes == 4 ? lanewise<instance<f, uint32_t>>
         : bytes == 8 ? lanewise<instance<f, uint64_t>>
                      : Executor{};
}
template <auto f>
Executor by_width(Type t) {
  return by_size<f>(ptx::size_of(t));
}
/// f whatever type the instruction names.
template <auto f>
Executor always(Type) {
  return lanewise<f>;
}

/// Twice as wide, same signedness.
template <class T>
using Wide = std::conditional_t<
    std::is_signed_v<T>,
    std::conditional_t<sizeof(T) == 2, int32_t, std::conditional_t<sizeof(T) == 4, int64_t, __int128>>,
    std::conditional_t<sizeof(T) == 2, uint32_t, std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>>>;

// ---- Decoding

inline CostClass alu_cost(Type t) { return ptx::size_of(t) == 8 ? CostClass::alu64 : CostClass::alu; }

/// Decodes `op d, a, b …`.
inline void decode_lanewise(Decoder& d, Op& op, const Executor& e, CostClass cost) {
  finish(d, op, e.fn, cost);
  op.dst = d.dst(d.operand(0));
  uint32_t* const slots[] = {&op.a, &op.b, &op.c, &op.d};
  for (size_t i = 0; i < 4 && e.sources[i] != Type::none; ++i) *slots[i] = d.src(d.operand(i + 1), e.sources[i]);
}

}  // namespace tinygpu::isa
