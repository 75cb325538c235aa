// Green contexts: parts of the chip's SMs, on which what a context's streams are given runs.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace tinygpu::api {
class Machine;
}

namespace tinygpu::cuda {

using SmSet = std::vector<bool>;  // by %smid

struct GreenContext {
  std::shared_ptr<const SmSet> sms;
  CUdevResource resource{};
  uint64_t id = 0;
  bool destroyed = false;  // streams outlive it
};

class GreenContexts {
 public:
  explicit GreenContexts(const api::Machine& machine) : machine_(machine) {}

  /// All SMs of the device.
  CUdevResource whole() const;
  /// How many disjoint groups of at least `least` SMs there are, at most `groups`; and these, and what is left. A group
  /// lies so that clusters fit, unless `anywhere`.
  CUresult split(const CUdevResource& input, unsigned least, bool anywhere, unsigned& groups, CUdevResource* out,
                 CUdevResource* remaining);
  CUresult describe(std::span<const CUdevResource> resources, CUdevResourceDesc& out);
  /// INVALID_VALUE if it is no description.
  CUresult create(CUdevResourceDesc description, CUgreenCtx& out);
  /// Null if the handle is not live.
  std::shared_ptr<GreenContext> find(const void* handle) const;
  void destroy(const void* handle);
  /// That of the calling thread; null where the current context is none.
  static std::shared_ptr<const GreenContext>& current();

 private:
  const api::Machine& machine_;
  std::map<const void*, std::unique_ptr<SmSet>> described_;
  std::map<const void*, std::shared_ptr<GreenContext>> live_;
  uint32_t splits_ = 0;
  uint64_t created_ = 0;
};

}  // namespace tinygpu::cuda
