// What an SM does not find in its caches when a launch begins: the kernel's parameters, and a translation of addresses.
// Whoever asks first waits for them, and so does everybody who asks meanwhile.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tinygpu {

class FirstWait {
 public:
  FirstWait() = default;
  /// Cycles until it is there.
  explicit FirstWait(uint64_t cycles) : cycles_(cycles) {}
  /// How much later than on a warm SM somebody has what he asks for at `time`.
  uint64_t wait(uint64_t time) {
    if (!there_) there_ = std::max<uint64_t>(1, time + cycles_);
    return there_ > time ? there_ - time : 0;
  }

 private:
  uint64_t cycles_ = 0, there_ = 0;  // `there_`: when, 0: nobody has asked
};

struct ColdStart {
  FirstWait parameters, translation;
};

}  // namespace tinygpu
