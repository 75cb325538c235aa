// What is looked up for a block of rows of A: loads, which cost little, instead of operations, which take from the
// multipliers.
#pragma once
#include <cstdint>

namespace tinygpu::numerics {

/// For each four terms and each four signs of B: in how many of them the signs of A differ, a byte a row.
template <class V, uint32_t kTerms, uint32_t kRows>
class SignTable {
 public:
  /// `signs`: of the rows in tiles of kBytes, in which four terms follow four.
  void fill(const uint8_t* signs, uint32_t terms) {
    for (uint32_t four = 0; four < terms / 4; ++four)
      for (uint32_t i = 0; i < kRows; i += kBytes) {
        const auto a = V::load8(signs + i * (kTerms / 4) + four * kBytes);
        for (uint32_t b = 0; b < 16; ++b)
          V::store8(bytes_[four][b] + i, V::shuffle8(V::load_table(kDifferences.count[b]), a));
      }
  }
  const uint8_t* entry(uint32_t four, uint8_t b) const { return bytes_[four][b]; }

  /// The number of bits set in i ^ j.
  struct Differences {
    alignas(16) uint8_t count[16][16];
    constexpr Differences() : count() {
      for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 16; ++j) count[i][j] = uint8_t(__builtin_popcount(unsigned(i ^ j)));
    }
  };
  static constexpr Differences kDifferences{};

 private:
  static constexpr uint32_t kBytes = 4 * V::kLanes;
  alignas(64) uint8_t bytes_[kTerms / 4][16][kRows];
};

}  // namespace tinygpu::numerics
