#include "common/tinygpu/machine/memory/allocation_blocks.h"

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/base/range.h"

namespace tinygpu {
namespace {

constexpr uint64_t kAligned = 64;  // an allocation's first byte

}  // namespace

uint8_t* AllocationBlocks::behind(const GlobalMemory& memory, uint64_t address, uint64_t size) {
  const uint64_t whole = bytes_;
  if (whole <= 1) return nullptr;
  const Allocation* a = nullptr;
  for (uint64_t at = address / kAligned * kAligned; !a && at + whole > address; at -= kAligned) a = memory.find(at);
  if (!a || (a->kind != MemoryKind::device && a->kind != MemoryKind::registered)) return nullptr;
  const uint64_t end = a->base + a->size, bytes = align_up(a->size, whole) - a->size;
  // The device's allocations have a gap behind them, and the gap has memory.
  if (a->kind == MemoryKind::device)
    return inside(a->base, a->size + bytes, address, size) ? a->host + (address - a->base) : nullptr;
  if (!inside(end, bytes, address, size)) return nullptr;
  std::lock_guard lock(mutex_);
  std::vector<uint8_t>& here = kept_[end];
  if (here.size() != bytes) here.assign(bytes, 0);
  return here.data() + (address - end);
}

}  // namespace tinygpu
