#include "tests/fuzz/guarded.h"

#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

namespace gen5::fuzz {

namespace {
constexpr size_t kPage = 4096;
}

Guarded::Guarded(size_t capacity) : capacity_((capacity + kPage - 1) / kPage * kPage) {
  void* p = mmap(nullptr, capacity_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("no memory for the guarded buffer");
  pages_ = static_cast<uint8_t*>(p);
  mprotect(pages_ + capacity_, kPage, PROT_NONE);
}

Guarded::~Guarded() { munmap(pages_, capacity_ + kPage); }

std::span<const uint8_t> Guarded::copy(const void* data, size_t size) {
  uint8_t* at = pages_ + capacity_ - size;
  if (size) std::memcpy(at, data, size);
  return {at, size};
}

}  // namespace gen5::fuzz
