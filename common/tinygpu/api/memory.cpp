#include "common/tinygpu/api/memory.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "common/tinygpu/check/unwritten_memory.h"
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu::api {

bool Memory::may_mark(uint64_t bytes) const {
  constexpr uint64_t kMost = uint64_t(4) << 30;
  return bytes <= kMost - marked_bytes_;
}

uint64_t Memory::allocate(uint64_t bytes, MemoryKind kind, std::string name) {
  const uint64_t align = kind == MemoryKind::device || kind == MemoryKind::constant ? 512 : 4096;
  const uint64_t address = gpu_.memory.allocate(bytes, align, kind, std::move(name));
  if (!address || !check_ || kind != MemoryKind::device) return address;
  const bool marked = may_mark(bytes);
  if (marked) {
    checks::mark_unwritten(gpu_.memory, address, bytes);
    marked_bytes_ += bytes;
  } else if (on_unmarked) {
    on_unmarked(bytes);
  }
  checked_[address] = {bytes, marked};
  return address;
}

bool Memory::release(uint64_t address) {
  if (const auto it = checked_.find(address); it != checked_.end()) {
    if (it->second.marked) marked_bytes_ -= it->second.bytes;
    checked_.erase(it);
  }
  return gpu_.memory.release(address);
}

void Memory::set_blocks(uint64_t bytes) { gpu_.allocation_blocks.set_bytes(bytes); }

void Memory::clear() {
  gpu_.memory.clear();
  gpu_.heap_used = 0;
  for (auto& [address, c] : checked_) c.marked = false;
  marked_bytes_ = 0;
}

Memory::Live Memory::checked() const {
  Live live{checked_.size(), 0};
  for (const auto& [address, c] : checked_) live.bytes += c.bytes;
  return live;
}

uint8_t* Memory::must(uint64_t address, uint64_t bytes, const char* what) const {
  if (uint8_t* here = at(address, bytes)) return here;
  throw MemoryError(
      fmt::format("{} of {} bytes at {:#x} is not inside one allocation: {}", what, bytes, address, describe(address)));
}

void Memory::read(uint64_t address, std::span<uint8_t> to) const {
  if (!to.empty()) std::memcpy(to.data(), must(address, to.size(), "a read"), to.size());
}

void Memory::write(uint64_t address, std::span<const uint8_t> from) {
  if (from.empty()) return;
  std::memcpy(must(address, from.size(), "a write"), from.data(), from.size());
  written(address, from.size());
}

void Memory::fill(uint64_t address, uint8_t value, uint64_t bytes) {
  if (!bytes) return;
  std::memset(must(address, bytes, "a fill"), value, bytes);
  written(address, bytes);
}

const Allocation* Memory::find(uint64_t address) const { return gpu_.memory.find(address); }
uint8_t* Memory::at(uint64_t address, uint64_t bytes) const { return gpu_.memory.translate(address, bytes); }
void Memory::written(uint64_t address, uint64_t bytes) { gpu_.l2.written(address, bytes); }
std::string Memory::describe(uint64_t address) const { return gpu_.memory.describe(address); }
bool Memory::register_host(void* p, uint64_t bytes) { return gpu_.memory.register_host(p, bytes); }
bool Memory::unregister_host(void* p) { return gpu_.memory.unregister_host(p); }
bool Memory::reserved(uint64_t address) const { return gpu_.memory.reserved(address); }
Memory::Reserved Memory::reserve(uint64_t bytes, uint64_t align, uint64_t wanted) {
  return gpu_.memory.reserve(bytes, align, wanted);
}
void Memory::unreserve(const Reserved& range, uint64_t bytes) { gpu_.memory.unreserve(range, bytes); }
bool Memory::take(uint64_t bytes) { return gpu_.memory.take(bytes); }
void Memory::give_back(uint64_t bytes) { gpu_.memory.give_back(bytes); }
void Memory::show(const Reserved& range, uint64_t bytes) { gpu_.memory.show(range, bytes); }
void Memory::hide(uint64_t address) { gpu_.memory.hide(address); }
uint64_t Memory::capacity() const { return gpu_.memory.capacity(); }
uint64_t Memory::used() const { return gpu_.memory.used(); }

void Memory::flush_l2() {
  // The cache is first in, first out: twice its size of other lines leaves nothing else.
  const uint64_t bytes = 2 * gpu_.spec.l2_bytes;
  const uint64_t address = gpu_.memory.allocate(bytes, 512, MemoryKind::device);
  if (!address) return;
  gpu_.l2.written(address, bytes);
  gpu_.memory.release(address);
}

}  // namespace tinygpu::api
