// One tcgen05.mma.cta_group::2: the operands in two CTAs, the cells of both afterwards.
#pragma once
#include "tests/mma/mma_case.h"

namespace gen5::test {

/// `m` and `n` are the pair's, a_bits has all M rows and b_bits all N. image and tmem of MmaCase are the even CTA's.
struct PairCase : MmaCase {
  uint32_t issuer = 0;                 // rank
  std::array<uint32_t, 4> odd_mask{};  // `mask` is the even CTA's
  std::vector<uint32_t> odd_tmem;
  std::vector<uint8_t> odd_image;

  /// Lays the operands into images and Tensor Memory.
  void place();
  /// Tensor Memory of the even and of the odd CTA afterwards.
  std::array<std::vector<uint32_t>, 2> expected() const;
};

/// Runs cases that share a form.
std::vector<std::array<std::vector<uint32_t>, 2>> run_pairs(tinygpu::test::RunPtx& gpu,
                                                            const std::vector<PairCase>& cases);

}  // namespace gen5::test
