// Arithmetic of the host under the rounding mode that an instruction names. Instructions' functions that may run under
// a directed mode compute by these; a host without rounding modes has another file of this name (web/port).
#pragma once
#include <cfenv>
#include <cmath>
#include <cstdint>

namespace tinygpu::isa {

enum class Rounding : uint8_t { rn, rz, rm, rp, rna, rs };

namespace host {

/// The rounding mode of what is below, while it lives: rn, rz, rm or rp.
class RoundingMode {
 public:
  explicit RoundingMode(Rounding r) {
    std::fesetround(r == Rounding::rz   ? FE_TOWARDZERO
                    : r == Rounding::rm ? FE_DOWNWARD
                    : r == Rounding::rp ? FE_UPWARD
                                        : FE_TONEAREST);
  }
  ~RoundingMode() { std::fesetround(FE_TONEAREST); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;
};

template <class T>
T add(T a, T b) {
  return a + b;
}
template <class T>
T sub(T a, T b) {
  return a - b;
}
template <class T>
T mul(T a, T b) {
  return a * b;
}
template <class T>
T div(T a, T b) {
  return a / b;
}
template <class T>
T sqrt(T a) {
  return std::sqrt(a);
}
template <class T>
T fma(T a, T b, T c) {
  return std::fma(a, b, c);
}
inline float narrow(double x) { return float(x); }

}  // namespace host
}  // namespace tinygpu::isa
