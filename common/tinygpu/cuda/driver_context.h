// The contexts of the driver API: which are live, and which is current in a thread.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "common/tinygpu/cuda/driver.h"

namespace tinygpu::cuda {

struct Context {
  unsigned flags = 0;
  unsigned version = 3020;
  uint64_t id = 0;
  std::shared_ptr<const GreenContext> green;  // it is that one's (cuCtxFromGreenCtx)
};

using ContextPtr = std::shared_ptr<Context>;

struct Contexts {
  ContextPtr primary = std::make_shared<Context>();
  int retained = 0;
  std::map<const void*, ContextPtr> live;  // besides the primary one, by handle
  uint64_t next_id = 1;
};
Contexts& contexts();
/// A thread's contexts. One that another thread has destroyed stays here, dead, until it is popped.
std::vector<ContextPtr>& context_stack();
/// Behind each change of these: what else the thread calls goes by its green context.
void tell_current();
ContextPtr current_context();
/// The live context of a handle, or nullptr.
ContextPtr live_context(const void* handle);
inline CUcontext handle_of(const ContextPtr& c) { return reinterpret_cast<CUcontext>(c.get()); }
/// Contexts hold nothing of their own here, so that their memory ends with the last of them.
void end_with_the_last(State& s);

template <class F>
CUresult on_device(CUdevice device, F&& f) {
  return driver([&](State& s) { return device == 0 ? CUresult(f(s)) : CUDA_ERROR_INVALID_DEVICE; });
}

}  // namespace tinygpu::cuda
