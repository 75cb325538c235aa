// What an SM does not find in its caches when a launch begins: the kernel's parameters, and a translation of addresses.
// Whoever asks first waits for them, and so does everybody who asks meanwhile.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tinygpu {

class ColdStart {
 public:
  ColdStart() = default;
  /// Cycles until the SM has the one and the other.
  ColdStart(uint64_t parameters, uint64_t translation) : parameters_{parameters}, translation_{translation} {}
  /// How much later than on a warm SM somebody has what he asks for at `time`.
  uint64_t parameters(uint64_t time) { return parameters_.wait(time); }
  uint64_t translation(uint64_t time) { return translation_.wait(time); }

 private:
  struct First {
    uint64_t cycles = 0, there = 0;  // `there`: when, 0: nobody has asked
    uint64_t wait(uint64_t time) {
      if (!there) there = std::max<uint64_t>(1, time + cycles);
      return there > time ? there - time : 0;
    }
  };
  First parameters_, translation_;
};

}  // namespace tinygpu
