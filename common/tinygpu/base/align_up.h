#pragma once
#include <cstdint>

namespace tinygpu {

/// The next multiple of `unit`.
constexpr uint64_t align_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace tinygpu
