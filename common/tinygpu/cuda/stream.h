// Streams and events. Work runs when it is submitted and in submission order over all streams, which is one legal
// order; time is the machine's clock, so events measure simulated time.
#pragma once
#include <cstdint>

namespace tinygpu::cuda {

struct Stream {
  uint64_t id = 0;
  unsigned flags = 0;  // cudaStreamNonBlocking
  int priority = 0;
};

struct Event {
  unsigned flags = 0;  // cudaEventDisableTiming …
  bool recorded = false;
  double time_ms = 0;  // simulated, since the machine was made
};

}  // namespace tinygpu::cuda
