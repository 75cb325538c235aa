// Streams and events. What streams are given runs when a call needs it (submitted.h); time is the machine's clock, so
// events measure simulated time.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace tinygpu::cuda {

struct Capture;
struct GraphNode;
struct GreenContext;

struct Stream {
  uint64_t id = 0;
  unsigned flags = 0;  // cudaStreamNonBlocking
  int priority = 0;
  Capture* capture = nullptr;                 // what is submitted is written down (graph.h)
  std::shared_ptr<const GreenContext> green;  // that it was made in
};

struct Event {
  unsigned flags = 0;  // cudaEventDisableTiming …
  bool recorded = false;
  double time_ms = 0;  // simulated, since the machine was made
  uint64_t batch = 0;  // the record is a piece of this batch of submitted work (submitted.h)
  size_t piece = 0;
  // Recorded on a stream that captured: of which capture, and behind what.
  uint64_t capture = 0;
  std::vector<GraphNode*> behind;
};

}  // namespace tinygpu::cuda
