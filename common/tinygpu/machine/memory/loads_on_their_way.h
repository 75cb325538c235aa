// What an SM has loaded, as far as a fence that orders it has to wait for it.
#pragma once
#include <cstdint>

#include "common/tinygpu/machine/extension.h"

namespace tinygpu {

struct LoadsOnTheirWay final : Extension {
  uint64_t there = 0;  // when the last of it leaves L2, or device memory
};

}  // namespace tinygpu
