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
  bool timing_only = false;      // GEN5_TIMING_ONLY=1: no matrices, no bytes of bulk copies; the clock alone
  bool memory_check = false;     // GEN5_MEMORY_CHECK=1: device memory that nobody writes, or frees
  bool strict_tmem = false;      // GEN5_TMEM_CHECKS=warn|strict: what hardware lets pass in Tensor Memory is an error
  /// GEN5_CLOCK=highest|power|MHz: what seconds are made of cycles by: the highest clock, the one that power leaves
  /// each launch, or this one.
  enum class Clock : uint8_t { highest, power, pinned } clock = Clock::highest;
  double clock_mhz = 0;          // of Clock::pinned
  uint32_t ptxas_seconds = 300;  // GEN5_PTXAS_SECONDS: how long one run of GEN5_PTXAS may take
  bool counters = false;         // GEN5_COUNTERS=1: totals on stderr when the program ends
};

/// Reads the environment. Throws OptionError.
Options options_from_environment();

/// What is to be looked for in a run, and written about it.
struct ObservationOptions {
  bool races = false;      // GEN5_CHECK=quick|races: every order that is missing between accesses to memory
  std::string trace;       // GEN5_TRACE: a file for ui.perfetto.dev
  uint32_t trace_sms = 0;  // GEN5_TRACE_SMS, GEN5_TRACE_KERNELS: how much of a timeline, 0: its own limits
  uint32_t trace_kernels = 0;
  bool profile = false;      // GEN5_PROFILE=1: where the time went, on stderr when the program ends
  std::string profile_json;  // GEN5_PROFILE_JSON: the same, whole, into a file
  std::string report;        // GEN5_REPORT: a page with all of this, into a file
};

/// Read at the first launch, so that a program may set these variables itself. Throws OptionError.
ObservationOptions observation_from_environment();

}  // namespace tinygpu::cuda
