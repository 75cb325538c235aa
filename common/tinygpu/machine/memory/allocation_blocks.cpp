#include "common/tinygpu/machine/memory/allocation_blocks.h"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/base/range.h"

namespace tinygpu {
namespace {

constexpr uint64_t kAligned = 64;  // an allocation's first byte

std::atomic<uint64_t> block{1};
std::mutex mutex;
std::map<uint64_t, std::vector<uint8_t>> kept;  // by the address of the allocation's end

}  // namespace

void set_allocation_blocks(uint64_t bytes) { block = bytes; }
uint64_t allocation_blocks() { return block; }

uint8_t* behind_in_block(const GlobalMemory& memory, uint64_t address, uint64_t size) {
  const uint64_t whole = block;
  if (whole <= 1) return nullptr;
  const Allocation* a = nullptr;
  for (uint64_t at = address / kAligned * kAligned; !a && at + whole > address; at -= kAligned) a = memory.find(at);
  if (!a || (a->kind != MemoryKind::device && a->kind != MemoryKind::registered)) return nullptr;
  const uint64_t end = a->base + a->size, bytes = align_up(a->size, whole) - a->size;
  // The device's allocations have a gap behind them, and the gap has memory.
  if (a->kind == MemoryKind::device)
    return inside(a->base, a->size + bytes, address, size) ? a->host + (address - a->base) : nullptr;
  if (!inside(end, bytes, address, size)) return nullptr;
  std::lock_guard lock(mutex);
  std::vector<uint8_t>& here = kept[end];
  if (here.size() != bytes) here.assign(bytes, 0);
  return here.data() + (address - end);
}

}  // namespace tinygpu
