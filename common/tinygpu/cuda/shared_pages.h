// Bytes of the host without an address of their own: they can appear at several at once.
#pragma once
#include <cstdint>

namespace tinygpu::cuda {

class SharedPages {
 public:
  /// Zeroed, and as real as what is touched. A child of fork() shares them with its parent.
  explicit SharedPages(uint64_t bytes);
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  /// False if the host gives no file, or cannot map one more.
  bool appear_at(uint8_t* where, uint64_t bytes) const;
  /// Fresh zeros are there instead.
  static void vanish_from(uint8_t* where, uint64_t bytes);

 private:
  int file_;
};

}  // namespace tinygpu::cuda
