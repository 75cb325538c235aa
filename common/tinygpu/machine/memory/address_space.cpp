#include "common/tinygpu/machine/memory/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>

#include "common/tinygpu/base/align_up.h"

namespace tinygpu {
namespace {

constexpr uint64_t kHostPage = 4096;
constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
/// Below what Linux gives a process by itself: free in all but a process's second machine, so that device addresses are
/// the same in every run, and those of web/port.
constexpr uint64_t kFirst = 0x7e0000000000;

uint8_t* reserve(uint64_t size, int protection, const char* what, uint64_t where = 0) {
  void* p = mmap(reinterpret_cast<void*>(where), size, protection, kAnonymous, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error(what);
  // Rows of a matrix lie a page and more apart: large pages save the host a fault and a search for each. A wish only.
  if (protection != PROT_NONE) madvise(p, size, MADV_HUGEPAGE);
  return static_cast<uint8_t*>(p);
}

}  // namespace

AddressSpace::AddressSpace(uint64_t bytes) : bytes_(bytes) {
  constexpr const char* kNoRoom = "cannot reserve address space for device memory";
  first_ = reinterpret_cast<uint64_t>(reserve(bytes, PROT_NONE, kNoRoom, kFirst));
  backing_ = reserve(bytes, PROT_READ | PROT_WRITE, kNoRoom);
}

AddressSpace::~AddressSpace() {
  munmap(reinterpret_cast<void*>(first_), bytes_);
  munmap(backing_, bytes_);
}

uint8_t* AddressSpace::provide(uint64_t address, uint64_t size, bool host_visible) {
  if (!host_visible) return backing_ + (address - first_);
  auto* const bytes = reinterpret_cast<uint8_t*>(address);
  // The system has a limit for how many differently protected ranges a process may have.
  return mprotect(bytes, align_up(size, kHostPage), PROT_READ | PROT_WRITE) == 0 ? bytes : nullptr;
}

void AddressSpace::withdraw(uint64_t, uint64_t size, uint8_t* bytes, bool host_visible) {
  if (host_visible) {
    mmap(bytes, align_up(size, kHostPage), PROT_NONE, kAnonymous | MAP_FIXED, -1, 0);
    return;
  }
  if (size < kHostPage) {
    std::fill(bytes, bytes + size, uint8_t(0));
    return;
  }
  // Whole pages go back to the system; the rest is cleared so that fresh memory is the same every time.
  const auto begin = reinterpret_cast<uint64_t>(bytes);
  const uint64_t first = align_up(begin, kHostPage), last = (begin + size) / kHostPage * kHostPage;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  std::fill(bytes, reinterpret_cast<uint8_t*>(std::min(first, begin + size)), uint8_t(0));
  if (last > first) std::fill(reinterpret_cast<uint8_t*>(last), bytes + size, uint8_t(0));
}

ZeroWords::ZeroWords(uint64_t count)
    : count_(count),
      words_(reinterpret_cast<uint64_t*>(reserve(count * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                                                 "cannot reserve address space for the lines of L2"))) {}

ZeroWords::~ZeroWords() { munmap(words_, count_ * sizeof(uint64_t)); }

}  // namespace tinygpu
