// WebAssembly rounds to nearest and has no other mode. Directed results are computed here in integers: exactly but for
// a last bit that says whether something was lost, then cut to the format.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace tinygpu::isa {

enum class Rounding : uint8_t { rn, rz, rm, rp, rna, rs };

namespace host {

inline Rounding mode = Rounding::rn;  // the module has one thread

class RoundingMode {
 public:
  explicit RoundingMode(Rounding r) {
    mode = r == Rounding::rz || r == Rounding::rm || r == Rounding::rp ? r : Rounding::rn;
  }
  ~RoundingMode() { mode = Rounding::rn; }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;
};

namespace directed {

using Wide = unsigned __int128;

/// ±magnitude × 2^exponent; what a shift has lost shows in the last bit.
struct Number {
  bool negative = false;
  Wide magnitude = 0;
  int exponent = 0;
};

inline int bits_in(Wide x) {
  const auto high = uint64_t(x >> 64);
  return high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(uint64_t(x));
}
inline Wide shifted_right(Wide x, int n) {
  if (n <= 0) return x;
  if (n > 127) return x != 0;
  return x >> n | ((x & ((Wide(1) << n) - 1)) != 0);
}
/// Finite and not zero: 53 bits of magnitude.
inline Number number(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  return {std::signbit(x), Wide(std::ldexp(fraction, 53)), exponent - 53};
}

/// The number of T toward which the mode rounds.
template <class T>
T rounded(Number x) {
  constexpr int kDigits = std::numeric_limits<T>::digits, kLowest = std::numeric_limits<T>::min_exponent - kDigits;
  const int length = bits_in(x.magnitude);
  int drop = length - kDigits;
  if (x.exponent + drop < kLowest) drop = kLowest - x.exponent;
  const bool outward = mode == Rounding::rp ? !x.negative : mode == Rounding::rm && x.negative;
  Wide kept = x.magnitude;
  if (drop > 0) {
    kept = drop > 127 ? 0 : x.magnitude >> drop;
    const Wide lost = drop > 127 ? x.magnitude : x.magnitude & ((Wide(1) << drop) - 1);
    const Wide half = drop > 127 ? 0 : Wide(1) << (drop - 1);
    const bool nearest = half != 0 && (lost > half || (lost == half && (kept & 1) != 0));
    kept += Wide(mode == Rounding::rn ? nearest : outward && lost != 0);
  } else {  // to whole digits, so that the conversion is of one word
    kept <<= -drop;
  }
  x.exponent += drop;
  T size = T(std::ldexp(double(uint64_t(kept)), x.exponent));
  const bool too_large =
      double(uint64_t(kept)) > 0 && x.exponent + bits_in(kept) > std::numeric_limits<T>::max_exponent;
  if (too_large)
    size = outward || mode == Rounding::rn ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  return x.negative ? -size : size;
}

/// The same with its leading bit at bit 125.
inline Number high_up(Number x) {
  const int room = 126 - bits_in(x.magnitude);
  return {x.negative, x.magnitude << room, x.exponent - room};
}

/// Of terms that are not zero.
template <class T>
T sum(Number a, Number b) {
  // Cancellation eats bits only where none was lost.
  a = high_up(a);
  b = high_up(b);
  if (a.exponent < b.exponent) std::swap(a, b);
  b.magnitude = shifted_right(b.magnitude, a.exponent - b.exponent);
  if (a.negative == b.negative) {
    a.magnitude += b.magnitude;
    return rounded<T>(a);
  }
  if (a.magnitude == b.magnitude) return mode == Rounding::rm ? T(-0.0) : T(0);
  if (a.magnitude < b.magnitude) {
    std::swap(a.magnitude, b.magnitude);
    a.negative = b.negative;
  }
  a.magnitude -= b.magnitude;
  return rounded<T>(a);
}

inline Number product(double a, double b) {
  const Number x = number(a), y = number(b);
  return {x.negative != y.negative, x.magnitude * y.magnitude, x.exponent + y.exponent};
}

template <class T>
T fma(T a, T b, T c) {
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return std::fma(a, b, c);
  if (a == 0 || b == 0) {
    const T zero = a * b;
    if (c != 0) return c;
    return std::signbit(zero) == std::signbit(c) ? c : mode == Rounding::rm ? T(-0.0) : T(0);
  }
  const Number p = product(double(a), double(b));
  return c == 0 ? rounded<T>(p) : sum<T>(p, number(double(c)));
}

template <class T>
T div(T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return a / b;
  const Number x = number(double(a)), y = number(double(b));
  constexpr int kMore = 74;
  const Wide dividend = x.magnitude << kMore, quotient = dividend / y.magnitude;
  const bool rest = dividend % y.magnitude != 0;
  return rounded<T>({x.negative != y.negative, quotient << 1 | Wide(rest), x.exponent - kMore - y.exponent - 1});
}

inline float narrow(double x) {
  if (!std::isfinite(x) || x == 0) return float(x);
  return rounded<float>(number(x));
}

inline double sqrt(double a) {
  if (!std::isfinite(a) || a <= 0) return std::sqrt(a);
  int exponent = 0;
  double x = std::frexp(a, &exponent);
  if (exponent % 2) {
    x *= 2;
    exponent -= 1;
  }
  double root = std::sqrt(x);
  const double left = std::fma(-root, root, x);  // exact
  if (left < 0 && mode != Rounding::rp) root = std::nextafter(root, 0.0);
  if (left > 0 && mode == Rounding::rp) root = std::nextafter(root, 2.0);
  return std::ldexp(root, exponent / 2);
}
/// A root of 24 bits is a number of f32, or far enough from one that double tells.
inline float sqrt(float a) { return narrow(std::sqrt(double(a))); }

}  // namespace directed

template <class T>
T add(T a, T b) {
  return mode == Rounding::rn ? a + b : directed::fma(a, T(1), b);
}
template <class T>
T sub(T a, T b) {
  return mode == Rounding::rn ? a - b : directed::fma(a, T(1), -b);
}
template <class T>
T mul(T a, T b) {
  if (mode == Rounding::rn || !std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return a * b;
  return directed::rounded<T>(directed::product(double(a), double(b)));
}
template <class T>
T div(T a, T b) {
  return mode == Rounding::rn ? a / b : directed::div(a, b);
}
template <class T>
T sqrt(T a) {
  return mode == Rounding::rn ? std::sqrt(a) : directed::sqrt(a);
}
/// Also to nearest: wasi-libc's fma rounds some f64 results twice.
template <class T>
T fma(T a, T b, T c) {
  return directed::fma(a, b, c);
}
inline float narrow(double x) { return mode == Rounding::rn ? float(x) : directed::narrow(x); }

}  // namespace host
}  // namespace tinygpu::isa
