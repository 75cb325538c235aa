// What the user chose: environment variables that `gen5 run` sets and that a directly started program honours too.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "common/tinygpu/machine/events.h"

namespace tinygpu::cuda {

/// A variable holds something else than its documented values.
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Options {
  enum class Device : uint8_t { automatic, hardware, tinygpu } device = Device::automatic;  // GEN5_DEVICE
  std::string machine = "b200";  // GEN5_MACHINE: a profile's name or a path
  CompletionOrder order;         // GEN5_ORDER=timed|late|seeded, GEN5_SEED (a seed alone means seeded)
  int threads = 0;               // GEN5_THREADS, 0: all cores
  uint64_t max_cycles = 0;       // GEN5_MAX_CYCLES: a kernel that runs longer is stopped; 0: none is
  bool strict_tmem = false;      // GEN5_TMEM_CHECKS=warn|strict: what hardware lets pass in Tensor Memory is an error
  bool counters = false;         // GEN5_COUNTERS=1: totals on stderr when the program ends
};

/// Reads the environment. Throws OptionError.
Options options_from_environment();

}  // namespace tinygpu::cuda
