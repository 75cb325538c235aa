// What tests of grids share: machines with other numbers, and a kernel that keeps the multipliers busy.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {

using Numbers = std::vector<std::pair<std::string, double>>;  // of the profile, by name

inline MachineSpec with(const Numbers& numbers, MachineSpec spec = plain_machine()) {
  for (const auto& [name, value] : numbers) spec.numbers[name] = value;
  return spec;
}
inline MachineSpec raised(const Numbers& numbers, MachineSpec spec = plain_machine()) {
  for (const auto& [name, by] : numbers) spec.numbers[name] += by;
  return spec;
}

inline const char* const kMultiply = R"(
.visible .entry multiply(.param .u32 rounds) {
  .reg .f32 %a, %b, %c, %d;
  .reg .b32 %n;
  .reg .pred %p;
  ld.param.u32 %n, [rounds];
  mov.f32 %a, 0f3f800000; mov.f32 %b, 0f3f800000; mov.f32 %c, 0f3f800000; mov.f32 %d, 0f3f800000;
L:
  fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b; fma.rn.f32 %c, %c, %c, %c; fma.rn.f32 %d, %d, %d, %d;
  fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b; fma.rn.f32 %c, %c, %c, %c; fma.rn.f32 %d, %d, %d, %d;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra L;
}
)";

}  // namespace tinygpu::test
