#include "common/tinygpu/machine/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/base/range.h"

namespace tinygpu {
namespace {

// cudaMalloc aligns to at least 256 bytes; a gap behind every allocation makes small overruns visible.
constexpr uint64_t kGranule = FreeRanges::kUnit;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kApart = uint64_t(2) << 20;  // between reserved ranges: a page of the device

bool host_visible(MemoryKind k) { return k == MemoryKind::managed || k == MemoryKind::pinned; }

}  // namespace

// Twice the capacity of addresses: fragmentation and gaps must not look like exhaustion.
GlobalMemory::GlobalMemory(uint64_t capacity)
    : capacity_(capacity), span_(2 * capacity), space_(span_), next_reserved_(first_address() + capacity) {
  free_.add(first_address(), span_);
}

uint64_t GlobalMemory::allocate(uint64_t size, uint64_t align, MemoryKind kind, std::string name) {
  std::unique_lock lock(mutex_);
  if (size == 0 || size > capacity_ - used_) return 0;
  const uint64_t unit = host_visible(kind) ? kPage : kGranule;
  const uint64_t claimed = align_up(size, unit) + unit;  // with the gap
  const auto base = free_.take(claimed, std::max(unit, align));
  if (!base) return 0;
  Allocation a;
  a.base = *base;
  a.size = size;
  a.claimed = claimed;
  a.kind = kind;
  a.name = std::move(name);
  a.host = space_.provide(a.base, size, host_visible(kind));
  if (!a.host) {
    free_.add(a.base, claimed);
    return 0;
  }
  used_ += size;
  allocations_[*base] = std::move(a);
  epoch_.fetch_add(1, std::memory_order_release);
  return *base;
}

bool GlobalMemory::release(uint64_t base) {
  std::unique_lock lock(mutex_);
  auto it = allocations_.find(base);
  if (it == allocations_.end() || it->second.kind == MemoryKind::registered || it->second.kind == MemoryKind::mapped)
    return false;
  release_locked(it->second);
  allocations_.erase(it);
  epoch_.fetch_add(1, std::memory_order_release);
  return true;
}

void GlobalMemory::clear() {
  std::unique_lock lock(mutex_);
  std::erase_if(allocations_, [&](const auto& entry) {
    const Allocation& a = entry.second;
    if (a.kind == MemoryKind::mapped) return false;
    if (a.kind != MemoryKind::registered) release_locked(a);
    return true;
  });
  epoch_.fetch_add(1, std::memory_order_release);
}

void GlobalMemory::release_locked(const Allocation& a) {
  used_ -= a.size;
  space_.withdraw(a.base, a.size, a.host, host_visible(a.kind));
  free_.add(a.base, a.claimed);
}

bool GlobalMemory::register_host(void* p, uint64_t size) {
  std::unique_lock lock(mutex_);
  const uint64_t base = reinterpret_cast<uint64_t>(p);
  if (size == 0 || base + size < base) return false;
  auto next = allocations_.lower_bound(base);
  if (next != allocations_.end() && next->first < base + size) return false;
  if (next != allocations_.begin() && std::prev(next)->second.base + std::prev(next)->second.size > base) return false;
  Allocation a;
  a.base = base;
  a.size = size;
  a.host = static_cast<uint8_t*>(p);
  a.kind = MemoryKind::registered;
  allocations_[base] = std::move(a);
  epoch_.fetch_add(1, std::memory_order_release);
  return true;
}

GlobalMemory::Reserved GlobalMemory::reserve(uint64_t size, uint64_t align, uint64_t wanted) {
  std::unique_lock lock(mutex_);
  if (size == 0 || size > span_ || align > span_) return {};
  align = std::max(align, kGranule);
  const uint64_t claimed = align_up(size, kGranule);
  // Away from allocations, and from each other: so a range can grow, and what runs over its end meets nothing.
  const uint64_t fresh = align_up(next_reserved_, align);
  std::optional<uint64_t> at;
  if (wanted % kGranule == 0 && reserved(wanted) && free_.take_at(wanted, claimed))
    at = wanted;
  else
    at = reserved(fresh) && free_.take_at(fresh, claimed) ? fresh : free_.take(claimed, align);
  if (!at) return {};
  uint8_t* const host = space_.provide(*at, size, false);
  if (!host) {
    free_.add(*at, claimed);
    return {};
  }
  next_reserved_ = std::max(next_reserved_, *at + claimed + kApart);
  return {*at, host};
}

void GlobalMemory::unreserve(const Reserved& range, uint64_t size) {
  std::unique_lock lock(mutex_);
  space_.withdraw(range.address, size, range.host, false);
  free_.add(range.address, align_up(size, kGranule));
}

bool GlobalMemory::take(uint64_t size) {
  std::unique_lock lock(mutex_);
  if (size > capacity_ - used_) return false;
  used_ += size;
  return true;
}

void GlobalMemory::give_back(uint64_t size) {
  std::unique_lock lock(mutex_);
  used_ -= size;
}

void GlobalMemory::show(const Reserved& range, uint64_t size) {
  std::unique_lock lock(mutex_);
  Allocation a;
  a.base = range.address;
  a.size = size;
  a.host = range.host;
  a.kind = MemoryKind::mapped;
  allocations_[range.address] = std::move(a);
  epoch_.fetch_add(1, std::memory_order_release);
}

void GlobalMemory::hide(uint64_t address) {
  std::unique_lock lock(mutex_);
  allocations_.erase(address);
  epoch_.fetch_add(1, std::memory_order_release);
}

bool GlobalMemory::host_reaches(uint64_t begin, uint64_t end) const {
  const std::shared_lock lock(mutex_);
  return std::ranges::any_of(allocations_, [&](const auto& entry) {
    const Allocation& a = entry.second;
    return host_writes(a) && a.base < end && a.base + a.size > begin;
  });
}

bool GlobalMemory::unregister_host(void* p) {
  std::unique_lock lock(mutex_);
  auto it = allocations_.find(reinterpret_cast<uint64_t>(p));
  if (it == allocations_.end() || it->second.kind != MemoryKind::registered) return false;
  allocations_.erase(it);
  epoch_.fetch_add(1, std::memory_order_release);
  return true;
}

const Allocation* GlobalMemory::find(uint64_t address) const {
  std::shared_lock lock(mutex_);
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  --it;
  return address < it->second.base + it->second.size ? &it->second : nullptr;
}

uint8_t* GlobalMemory::translate(uint64_t address, uint64_t size) const {
  const Allocation* a = find(address);
  if (!a || !inside(a->base, a->size, address, size)) return nullptr;
  return a->host + (address - a->base);
}

std::string GlobalMemory::describe(uint64_t address) const {
  std::shared_lock lock(mutex_);
  auto named = [](const Allocation& a) {
    return fmt::format("{}-byte allocation at {:#x}{}", a.size, a.base, a.name.empty() ? "" : " (" + a.name + ")");
  };
  auto above = allocations_.upper_bound(address);
  const Allocation* below = above == allocations_.begin() ? nullptr : &std::prev(above)->second;
  if (below && address < below->base + below->size)
    return fmt::format("{} bytes into a {}", address - below->base, named(*below));
  const uint64_t past = below ? address - (below->base + below->size) : ~0ull;
  const uint64_t before = above == allocations_.end() ? ~0ull : above->first - address;
  if (past == ~0ull && before == ~0ull) return "no device memory is allocated";
  if (past <= before) return fmt::format("{} bytes past the end of a {}", past, named(*below));
  return fmt::format("{} bytes before a {}", before, named(above->second));
}

}  // namespace tinygpu
