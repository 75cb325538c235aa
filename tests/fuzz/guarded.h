// Memory that ends where a page ends, with nothing mapped behind it: a read past the end is a fault even where the
// sanitizers don't look.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace gen5::fuzz {

class Guarded {
 public:
  explicit Guarded(size_t capacity);
  ~Guarded();
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  /// A copy of `size` bytes that ends at the page's end, valid until the next one; less than the capacity.
  std::span<const uint8_t> copy(const void* data, size_t size);
  size_t capacity() const { return capacity_; }

 private:
  size_t capacity_;
  uint8_t* pages_;
};

}  // namespace gen5::fuzz
