// The streams and the events of the context, by handle.
#pragma once
#include <cuda.h>

#include <map>
#include <memory>

#include "common/tinygpu/cuda/stream.h"

namespace tinygpu::cuda {

class Graphs;

/// Handles that both APIs define as numbers: 0 and 1 are the legacy default stream, 2 is the one of the thread.
constexpr uintptr_t kStreamLegacy = 1, kStreamPerThread = 2;

/// Lower numbers come first.
constexpr int kHighestPriority = -5, kLowestPriority = 0;

class Streams {
 public:
  /// `graphs`: captures end with the stream that they began on.
  explicit Streams(Graphs& graphs) : graphs_(graphs) {}
  const Stream& legacy() const { return legacy_; }
  /// The stream of a handle, default streams included; nullptr if the handle is not live.
  Stream* find(const void* handle);
  /// In the green context that is current, if `green` names none.
  Stream* create(unsigned flags, int priority, std::shared_ptr<const GreenContext> green = nullptr);
  /// The green context that work on a stream belongs to now, or null: a default stream is that of the current context.
  std::shared_ptr<const GreenContext> green_of(const Stream& s) const;
  bool destroy(Stream* s);
  /// Only the default streams are left.
  void reset();

 private:
  Graphs& graphs_;
  Stream legacy_, per_thread_;
  std::map<const Stream*, std::unique_ptr<Stream>> created_;
  uint64_t next_ = 3;
};

class Events {
 public:
  Event* create(unsigned flags);
  bool destroy(const Event* e) { return all_.erase(e) != 0; }
  bool has(const void* handle) const { return all_.count(static_cast<const Event*>(handle)) != 0; }
  Event& at(const void* handle) { return *all_.at(static_cast<const Event*>(handle)); }  // a live one
  /// Stamps a live event with a simulated time.
  void record(const void* handle, double ms);
  /// Milliseconds between two recorded events. INVALID_HANDLE if one isn't live, not recorded, or made without timing.
  CUresult elapsed_ms(const void* from, const void* to, float& ms) const;
  void reset() { all_.clear(); }

 private:
  std::map<const Event*, std::unique_ptr<Event>> all_;
};

}  // namespace tinygpu::cuda
