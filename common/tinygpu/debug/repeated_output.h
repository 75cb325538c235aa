// What a repeated run prints has been printed: it goes to /dev/null up to the position that an earlier run came to.
#pragma once
#include <cstdint>

namespace tinygpu::debug {

class RepeatedOutput {
 public:
  static constexpr uint64_t kAll = ~0ull;

  /// In a process that is about to become the program: standard output and standard error go to /dev/null from its
  /// first word on. What they were stays open under two numbers that take() knows.
  static void cover();
  /// In such a program, before mute().
  void take();
  /// From here to the position `until`, exclusive.
  void mute(uint64_t until);
  void at(uint64_t position) {
    if (position >= until_) [[unlikely]]
      end();
  }

 private:
  void end();
  int out_ = -1, err_ = -1;  // what they were; −1: they are that
  uint64_t until_ = kAll;
};

}  // namespace tinygpu::debug
