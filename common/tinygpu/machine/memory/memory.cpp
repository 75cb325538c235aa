#include "common/tinygpu/machine/memory/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/base/range.h"

namespace tinygpu {
namespace {

// cudaMalloc aligns to at least 256 bytes; a gap behind every allocation makes small overruns visible.
constexpr uint64_t kGranule = FreeRanges::kUnit;
constexpr uint64_t kPage = 4096;

uint8_t* reserve(uint64_t size, int protection) {
  void* p = mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("cannot reserve address space for device memory");
  return static_cast<uint8_t*>(p);
}

bool host_visible(MemoryKind k) { return k == MemoryKind::managed || k == MemoryKind::pinned; }

}  // namespace

GlobalMemory::GlobalMemory(uint64_t capacity) : capacity_(capacity) {
  // Twice the capacity of addresses: fragmentation and gaps must not look like exhaustion.
  span_ = 2 * capacity;
  device_ = reserve(span_, PROT_NONE);
  backing_ = reserve(span_, PROT_READ | PROT_WRITE);
  free_.add(first_address(), span_);
}

GlobalMemory::~GlobalMemory() {
  munmap(device_, span_);
  munmap(backing_, span_);
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
  if (host_visible(kind)) {
    a.host = reinterpret_cast<uint8_t*>(a.base);
    // The system has a limit for how many differently protected ranges a process may have.
    if (mprotect(a.host, align_up(size, kPage), PROT_READ | PROT_WRITE) != 0) {
      free_.add(a.base, claimed);
      return 0;
    }
  } else {
    a.host = backing_ + offset_of(a.base);
  }
  used_ += size;
  allocations_[*base] = std::move(a);
  epoch_.fetch_add(1, std::memory_order_release);
  return *base;
}

bool GlobalMemory::release(uint64_t base) {
  std::unique_lock lock(mutex_);
  auto it = allocations_.find(base);
  if (it == allocations_.end() || it->second.kind == MemoryKind::registered) return false;
  release_locked(it->second);
  allocations_.erase(it);
  epoch_.fetch_add(1, std::memory_order_release);
  return true;
}

void GlobalMemory::clear() {
  std::unique_lock lock(mutex_);
  for (const auto& [base, a] : allocations_)
    if (a.kind != MemoryKind::registered) release_locked(a);
  allocations_.clear();
  epoch_.fetch_add(1, std::memory_order_release);
}

void GlobalMemory::release_locked(const Allocation& a) {
  used_ -= a.size;
  if (host_visible(a.kind)) {
    mmap(a.host, align_up(a.size, kPage), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  } else if (a.size >= kPage) {
    // Whole pages go back to the system; the rest is cleared so that fresh memory is the same every time.
    const uint64_t first = align_up(reinterpret_cast<uint64_t>(a.host), kPage);
    const uint64_t last = (reinterpret_cast<uint64_t>(a.host) + a.size) / kPage * kPage;
    if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    std::fill(a.host, reinterpret_cast<uint8_t*>(std::min(first, reinterpret_cast<uint64_t>(a.host) + a.size)),
              uint8_t(0));
    if (last > first) std::fill(reinterpret_cast<uint8_t*>(last), a.host + a.size, uint8_t(0));
  } else {
    std::fill(a.host, a.host + a.size, uint8_t(0));
  }
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
