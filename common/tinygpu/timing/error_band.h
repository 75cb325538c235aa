// How far predicted cycles were from an H200's, by class of kernel: the band that a prediction carries.
#pragma once
#include <cstdint>

namespace tinygpu {

/// What tells the class of a launch.
struct PredictedLaunch {
  uint64_t cycles = 0;
  uint64_t device_bytes = 0;                 // read from and written to device memory
  double device_bytes_per_cycle = 1;         // at most
  bool mma_sync = false, async_mma = false;  // tensor cores: by mma.sync and wmma; by wgmma and tcgen05.mma
};

/// The errors of one class's rows in tests/prediction, and which launches belong to it.
struct ErrorBand {
  enum class Cores : uint8_t { none, mma_sync, async_mma };
  const char* kernels;
  Cores cores;
  uint64_t from_cycles, below_cycles;
  double from_device_share, below_device_share;  // of the most that device memory moves
  uint32_t rows;
  double mean, ninetieth;  // sizes of errors: their mean, and what nine in ten do not exceed
};

/// The band of its class.
const ErrorBand& error_band(const PredictedLaunch& launch);

}  // namespace tinygpu
