// What an SM misses in its caches when a grid begins: the kernel's parameters, and the first translation of an address.
// The first access waits until it has arrived, and so do accesses that come in the meantime.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tinygpu {

class ColdMiss {
 public:
  ColdMiss() = default;
  /// `cycles`: from the first access until it has arrived.
  explicit ColdMiss(uint64_t cycles) : cycles_(cycles) {}
  /// How much longer an access at `time` takes than on a warm SM.
  uint64_t wait(uint64_t time) {
    if (!there_) there_ = std::max<uint64_t>(1, time + cycles_);
    return there_ > time ? there_ - time : 0;
  }

 private:
  uint64_t cycles_ = 0, there_ = 0;  // `there_`: when it arrives; 0: there was no access yet
};

struct ColdStart {
  ColdMiss parameters, translation;
};

}  // namespace tinygpu
