#include "common/tinygpu/cuda/streams.h"

#include <algorithm>

#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/green_contexts.h"

namespace tinygpu::cuda {

Stream* Streams::find(const void* handle) {
  const uintptr_t n = reinterpret_cast<uintptr_t>(handle);
  if (n == 0 || n == kStreamLegacy) return &legacy_;
  if (n == kStreamPerThread) return &per_thread_;
  auto it = created_.find(static_cast<const Stream*>(handle));
  return it == created_.end() ? nullptr : it->second.get();
}

std::shared_ptr<const GreenContext> Streams::green_of(const Stream& s) const {
  return &s == &legacy_ || &s == &per_thread_ ? GreenContexts::current() : s.green;
}

Stream* Streams::create(unsigned flags, int priority, std::shared_ptr<const GreenContext> green) {
  auto s = std::make_unique<Stream>();
  s->id = next_++;
  s->flags = flags;
  s->priority = priority;
  s->green = green ? std::move(green) : GreenContexts::current();
  Stream* p = s.get();
  created_[p] = std::move(s);
  return p;
}

bool Streams::destroy(Stream* s) {
  if (!created_.count(s)) return false;
  graphs_.forget(*s);
  return created_.erase(s) != 0;
}

void Streams::reset() {
  legacy_.capture = per_thread_.capture = nullptr;
  created_.clear();
}

Event* Events::create(unsigned flags) {
  auto e = std::make_unique<Event>();
  e->flags = flags;
  Event* p = e.get();
  all_[p] = std::move(e);
  return p;
}

void Events::record(const void* handle, double ms) {
  Event& e = at(handle);
  e.recorded = true;
  e.time_ms = ms;
}

CUresult Events::elapsed_ms(const void* from, const void* to, float& ms) const {
  auto a = all_.find(static_cast<const Event*>(from)), b = all_.find(static_cast<const Event*>(to));
  if (a == all_.end() || b == all_.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (!a->second->recorded || !b->second->recorded) return CUDA_ERROR_INVALID_HANDLE;
  if ((a->second->flags | b->second->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
  ms = float(b->second->time_ms - a->second->time_ms);
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
