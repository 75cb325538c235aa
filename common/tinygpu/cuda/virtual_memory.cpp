#include "common/tinygpu/cuda/virtual_memory.h"

#include <fmt/format.h>

#include <bit>

#include "common/tinygpu/base/range.h"
#include "common/tinygpu/cuda/show.h"

namespace tinygpu::cuda {
namespace {

constexpr uint64_t kHostPage = 4096;

CUresult wrong(const std::string& what, const std::string& help = {}, CUresult code = CUDA_ERROR_INVALID_VALUE) {
  say("invalid-mapping", what, help);
  return code;
}

bool whole_pages(uint64_t bytes) { return bytes % VirtualMemory::kGranularity == 0; }

/// The entry that holds `address`, or end().
template <class Entries>
auto around(Entries& entries, uint64_t address) {
  auto it = entries.upper_bound(address);
  if (it == entries.begin()) return entries.end();
  --it;
  return address - it->first < it->second.size ? it : entries.end();
}

}  // namespace

// ---- Memory

CUresult VirtualMemory::judge(const CUmemAllocationProp& wanted) {
  if (wanted.type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return wrong("the memory's type is not CU_MEM_ALLOCATION_TYPE_PINNED, the only one that can be mapped");
  if (wanted.location.type == CU_MEM_LOCATION_TYPE_HOST || wanted.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
    return wrong("memory of the host cannot be mapped on this machine",
                 "cuMemHostAlloc gives memory that both sides reach", CUDA_ERROR_NOT_SUPPORTED);
  if (wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return wrong(fmt::format("{} is no place for memory: CU_MEM_LOCATION_TYPE_DEVICE is", int(wanted.location.type)));
  if (wanted.location.id != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (wanted.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return wrong("a handle for other processes is asked for: a machine belongs to one process",
                 "leave requestedHandleTypes at CU_MEM_HANDLE_TYPE_NONE where cuDeviceGetAttribute says that the "
                 "device has none",
                 CUDA_ERROR_NOT_SUPPORTED);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::create(uint64_t size, const CUmemAllocationProp& wanted, Handle& out) {
  if (const CUresult e = judge(wanted); e != CUDA_SUCCESS) return e;
  if (size == 0 || !whole_pages(size))
    return wrong(fmt::format("{} bytes of memory are asked for, which is no multiple of {}", size, kGranularity),
                 "round the size up to what cuMemGetAllocationGranularity says");
  if (!memory_.take(size)) {
    say("out-of-memory", fmt::format("{} bytes asked for, {} of the machine's {} bytes are free", size,
                                     memory_.capacity() - memory_.used(), memory_.capacity()));
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  CUmemAllocationProp has = wanted;
  has.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;  // a hint, which nothing here follows
  out = next_++;
  physical_.try_emplace(out, size, has);
  return CUDA_SUCCESS;
}

VirtualMemory::Physical* VirtualMemory::live(Handle handle) {
  const auto it = physical_.find(handle);
  if (it != physical_.end() && it->second.handles) return &it->second;
  wrong(fmt::format("{:#x} is no live handle of memory", handle));
  return nullptr;
}

void VirtualMemory::drop_unused(Handle handle) {
  const auto it = physical_.find(handle);
  if (it->second.handles || it->second.mappings) return;
  memory_.give_back(it->second.size);
  physical_.erase(it);
}

CUresult VirtualMemory::release(Handle handle) {
  Physical* const p = live(handle);
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  --p->handles;
  drop_unused(handle);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::properties(Handle handle, CUmemAllocationProp& out) const {
  const auto it = physical_.find(handle);
  if (it == physical_.end()) return CUDA_ERROR_INVALID_VALUE;
  out = it->second.properties;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::retain(uint64_t address, Handle& out) {
  const auto it = around(mappings_, address);
  if (it == mappings_.end()) return wrong(fmt::format("nothing is mapped at {:#x}", address));
  out = it->second.memory;
  ++physical_.at(out).handles;
  return CUDA_SUCCESS;
}

// ---- Addresses

CUresult VirtualMemory::reserve(uint64_t size, uint64_t align, uint64_t wanted, uint64_t& out) {
  if (size == 0 || !whole_pages(size) || wanted % kHostPage || (align && !std::has_single_bit(align)))
    return wrong(
        fmt::format("{} bytes of addresses at {:#x}, aligned to {}: a size is a multiple of {}, an address of {}, "
                    "and an alignment is 0 or a power of two",
                    size, wanted, align, kGranularity, kHostPage));
  const api::Memory::Reserved range = memory_.reserve(size, std::max(align, kGranularity), wanted);
  if (!range.address) {
    say("out-of-memory", fmt::format("{} bytes of addresses asked for: the machine has {} for all, which is twice its "
                                     "memory",
                                     size, 2 * memory_.capacity()));
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ranges_[range.address] = {size, range.host};
  out = range.address;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::free(uint64_t address, uint64_t size) {
  const auto it = ranges_.find(address);
  if (it == ranges_.end() || it->second.size != size)
    return wrong(fmt::format("{} bytes at {:#x} are no range that cuMemAddressReserve gave", size, address),
                 "free a range whole: with the address and the size that it was reserved with");
  if (any_mapped(address, size))
    return wrong(fmt::format("memory is still mapped in the {} bytes at {:#x} that are freed", size, address),
                 "cuMemUnmap comes first");
  memory_.unreserve({address, it->second.host}, size);
  ranges_.erase(it);
  return CUDA_SUCCESS;
}

// ---- Memory at addresses

bool VirtualMemory::any_mapped(uint64_t address, uint64_t size) const {
  const auto next = mappings_.lower_bound(address);
  return around(mappings_, address) != mappings_.end() || (next != mappings_.end() && next->first < address + size);
}

uint8_t* VirtualMemory::reserved(uint64_t address, uint64_t size) const {
  uint8_t* host = nullptr;
  for (uint64_t at = address; at - address < size;) {
    const auto range = around(ranges_, at);
    if (range == ranges_.end()) return nullptr;
    uint8_t* const here = range->second.host + (at - range->first);
    if (!host) host = here;
    if (host + (at - address) != here) return nullptr;
    at = range->first + range->second.size;
  }
  return host;
}

CUresult VirtualMemory::map(uint64_t address, uint64_t size, Handle handle) {
  Physical* const p = live(handle);
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  // An H200's driver answers NOT_SUPPORTED to all of these.
  constexpr CUresult kCode = CUDA_ERROR_NOT_SUPPORTED;
  if (size == 0 || !whole_pages(size) || !whole_pages(address))
    return wrong(fmt::format("{} bytes at {:#x}: both are multiples of {}", size, address, kGranularity), {}, kCode);
  if (size > p->size) return wrong(fmt::format("{} bytes are mapped of memory that has {}", size, p->size), {}, kCode);
  uint8_t* const host = reserved(address, size);
  if (!host)
    return wrong(fmt::format("not all of {} bytes at {:#x} are addresses that cuMemAddressReserve gave", size, address),
                 {}, kCode);
  if (any_mapped(address, size))
    return wrong(fmt::format("memory is mapped already in the {} bytes at {:#x}", size, address),
                 "cuMemUnmap comes first", kCode);
  if (!p->pages.appear_at(host, size)) return CUDA_ERROR_OUT_OF_MEMORY;
  mappings_[address] = {size, host, handle, false};
  ++p->mappings;
  return CUDA_SUCCESS;
}

std::optional<std::vector<uint64_t>> VirtualMemory::whole_mappings(uint64_t address, uint64_t size) const {
  const auto before = around(mappings_, address);
  if (before != mappings_.end() && before->first != address) return {};
  std::vector<uint64_t> found;
  for (auto it = mappings_.lower_bound(address); it != mappings_.end() && it->first - address < size; ++it) {
    if (it->first - address + it->second.size > size) return {};
    found.push_back(it->first);
  }
  return found;
}

CUresult VirtualMemory::unmap(uint64_t address, uint64_t size) {
  // What is not mapped may be unmapped, as on an H200.
  const auto whole = whole_mappings(address, size);
  if (!whole)
    return wrong(fmt::format("{} bytes at {:#x} are unmapped: a mapping is in them in part", size, address),
                 "unmap whole mappings: with the addresses and the sizes that cuMemMap got");
  for (const uint64_t each : *whole) mappings_.at(each).reachable = false;
  show();
  for (const uint64_t each : *whole) {
    const Mapping m = mappings_.at(each);
    SharedPages::vanish_from(m.host, m.size);
    --physical_.at(m.memory).mappings;
    mappings_.erase(each);
    drop_unused(m.memory);
  }
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::set_access(uint64_t address, uint64_t size, bool reachable) {
  const auto whole = whole_mappings(address, size);
  if (!whole || whole->empty())
    return wrong(
        fmt::format("access is set for {} bytes at {:#x}: they are not mapped, or a mapping is in them in part", size,
                    address),
        "access is set for whole mappings, one or several");
  for (const uint64_t each : *whole) mappings_.at(each).reachable = reachable;
  show();
  return CUDA_SUCCESS;
}

void VirtualMemory::show() {
  std::map<uint64_t, Range> wanted;
  for (const auto& [address, m] : mappings_) {
    if (!m.reachable) continue;
    if (!wanted.empty()) {
      auto& [begin, before] = *wanted.rbegin();
      if (begin + before.size == address && before.host + before.size == m.host) {
        before.size += m.size;
        continue;
      }
    }
    wanted[address] = {m.size, m.host};
  }
  std::erase_if(shown_, [&](const auto& entry) {
    const auto same = wanted.find(entry.first);
    if (same != wanted.end() && same->second.size == entry.second.size) return false;
    memory_.hide(entry.first);
    return true;
  });
  for (const auto& [address, piece] : wanted)
    if (shown_.try_emplace(address, piece).second) memory_.show({address, piece.host}, piece.size);
}

bool VirtualMemory::find(uint64_t address, Place& out) const {
  const auto it = around(mappings_, address);
  if (it == mappings_.end()) return false;
  const auto range = around(ranges_, address);
  out = {{it->first, it->second.size}, {range->first, range->second.size}, it->second.reachable};
  return true;
}

}  // namespace tinygpu::cuda
