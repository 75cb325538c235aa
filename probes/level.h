// Memory that copies read: in L2 after one pass, or nowhere but in device memory.
#pragma once
#include <cstdint>

#include "common/harness/cuda_check.h"

namespace gen5::probe {

constexpr uint32_t kSourceBytes = 1 << 20;  // within one page of 2 MiB
constexpr uint32_t kPlaces = 16, kPlaceBytes = kSourceBytes / kPlaces;

/// The same for all benchmarks of a program.
inline uint8_t* source_memory() {
  static harness::DeviceBuffer<uint8_t> memory(kSourceBytes);
  [[maybe_unused]] static const bool zeroed = (memory.fill(0), true);
  return memory.get();
}

/// Fills L2 with other memory than source_memory().
inline void empty_l2() {
  source_memory();
  static harness::DeviceBuffer<uint8_t> other(256 << 20);
  other.fill(1);
}

}  // namespace gen5::probe
