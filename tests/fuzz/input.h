// The bytes of one input, taken from front to back. Zeros follow when they are used up, so that short inputs mean
// defaults.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace gen5::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  template <class T>
  T take() {
    T value{};
    bytes(&value, sizeof value);
    return value;
  }
  uint8_t byte() { return take<uint8_t>(); }
  /// 0 … n − 1.
  uint32_t below(uint32_t n) { return n <= 256 ? byte() % n : take<uint16_t>() % n; }
  void bytes(void* out, size_t n) {
    const size_t have = std::min(n, size_t(end_ - at_));
    if (have) std::memcpy(out, at_, have);
    at_ += have;
  }
  /// What is left.
  std::string rest() {
    std::string text(reinterpret_cast<const char*>(at_), size_t(end_ - at_));
    at_ = end_;
    return text;
  }

 private:
  const uint8_t *at_, *end_;
};

}  // namespace gen5::fuzz
