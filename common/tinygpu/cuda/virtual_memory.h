// Virtual memory management: physical memory by handle, ranges of addresses, and which memory is mapped at which
// address. It belongs to no context, so that no context's end ends it.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/api/memory.h"
#include "common/tinygpu/cuda/shared_pages.h"

namespace tinygpu::cuda {

/// Each answers with CUDA's error, and says which rule the caller broke.
class VirtualMemory {
 public:
  using Handle = CUmemGenericAllocationHandle;
  /// Sizes and addresses of memory are multiples of this, as on NVIDIA's data center GPUs.
  static constexpr uint64_t kGranularity = uint64_t(2) << 20;

  explicit VirtualMemory(api::Memory& memory) : memory_(memory) {}

  static CUresult judge(const CUmemAllocationProp& wanted);
  CUresult create(uint64_t size, const CUmemAllocationProp& wanted, Handle& out);
  CUresult release(Handle handle);
  CUresult properties(Handle handle, CUmemAllocationProp& out) const;
  /// The handle of what is mapped at an address, which has to be released once more.
  CUresult retain(uint64_t address, Handle& out);

  CUresult reserve(uint64_t size, uint64_t align, uint64_t wanted, uint64_t& out);
  CUresult free(uint64_t address, uint64_t size);
  CUresult map(uint64_t address, uint64_t size, Handle handle);
  CUresult unmap(uint64_t address, uint64_t size);
  CUresult set_access(uint64_t address, uint64_t size, bool reachable);

  struct Span {
    uint64_t address = 0, size = 0;
  };
  struct Place {
    Span mapping, range;
    bool reachable = false;
  };
  /// False if nothing is mapped there.
  bool find(uint64_t address, Place& out) const;

 private:
  struct Physical {
    Physical(uint64_t bytes, const CUmemAllocationProp& wanted) : size(bytes), properties(wanted), pages(bytes) {}
    uint64_t size;
    CUmemAllocationProp properties;
    SharedPages pages;
    uint64_t handles = 1, mappings = 0;
  };
  struct Range {
    uint64_t size = 0;
    uint8_t* host = nullptr;
  };
  struct Mapping {
    uint64_t size = 0;
    uint8_t* host = nullptr;
    Handle memory = 0;
    bool reachable = false;
  };
  Physical* live(Handle handle);
  void drop_unused(Handle handle);
  bool any_mapped(uint64_t address, uint64_t size) const;
  /// The bytes behind addresses all of which are reserved, in one range or in neighbours; null if they are not.
  uint8_t* reserved(uint64_t address, uint64_t size) const;
  /// The mappings in [address, address + size), with holes between them; nothing if one is only there in part.
  std::optional<std::vector<uint64_t>> whole_mappings(uint64_t address, uint64_t size) const;
  /// Neighbours that can be reached become one allocation, so that a copy can go over the line between them.
  void show();

  api::Memory& memory_;
  std::map<Handle, Physical> physical_;
  Handle next_ = 1;
  std::map<uint64_t, Range> ranges_;      // by address
  std::map<uint64_t, Mapping> mappings_;  // by address
  std::map<uint64_t, Range> shown_;       // by address
};

}  // namespace tinygpu::cuda
