// setmaxnreg. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct RegisterTiming {
  uint64_t change;  // what setmaxnreg takes its warp,
  uint64_t given;   // and from when a warp begins to give registers until another that waits begins to take them
  explicit RegisterTiming(const MachineSpec& s)
      : change(uint64_t(s.number("setmaxnreg"))), given(uint64_t(s.number("setmaxnreg.given"))) {}
};

}  // namespace tinygpu
