// One tcgen05.mma end to end: operands laid into shared memory or Tensor Memory, issued from PTX, accumulators read
// back.
#pragma once
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/mma/random_operand.h"
#include "tests/mma/reference.h"
#include "tests/support/run_ptx.h"

namespace gen5::test {

// Accumulator columns 0…255, A in 256…263, scale factors of A in 264…267, of B in 268…275, metadata in 276…279.
inline constexpr uint32_t kLanes = 128, kColumns = 280;
inline constexpr uint32_t kAColumn = 256, kScaleAColumn = 264, kScaleBColumn = 268, kMetadataColumn = 276;

/// What the instruction is written with.
struct Form {
  bool tf32 = false, a_in_tmem = false, masked = false, ashift = false;
  bool pair = false;      // cta_group::2
  int scale = -1;         // −1: no scale-input-d
  std::string collector;  // "fill", …

  /// What does not depend on the shape.
  void pick_kind(Random& random);
  bool operator<(const Form& o) const {
    return std::tie(tf32, a_in_tmem, masked, ashift, pair, scale, collector) <
           std::tie(o.tf32, o.a_in_tmem, o.masked, o.ashift, o.pair, o.scale, o.collector);
  }
};

struct MmaCase {
  Form form;
  Type a_type = Type::f16, b_type = Type::f16;
  bool half = false, accumulate = false, negate_a = false, negate_b = false;
  uint32_t m = 128, n = 8, d_column = 0, lane = 0;  // lane: 0 or 16, for m = 64
  Placement a, b;
  std::array<uint32_t, 4> mask{};
  std::vector<uint32_t> a_bits, b_bits;  // [row][k]
  std::vector<uint32_t> tmem;            // before: [column][lane]
  std::vector<uint8_t> image;            // shared memory

  /// A and B K-major without swizzle, B 8 KiB behind A.
  void place_plainly();
  /// Whether it accumulates, and the signs.
  void pick_signs(Random& random);
  uint32_t k() const { return form.tf32 ? 8 : 16; }
  uint32_t idesc() const;
  std::string describe() const;
  /// a_bits and b_bits of one flavour.
  void pick_operands(Random& random, uint32_t flavour);
  /// Cells of an accumulator of one flavour.
  void pick_cells(Random& random, uint32_t flavour, std::vector<uint32_t>& cells) const;
  /// Lays a_bits and b_bits into image and tmem.
  void place();
  /// Tensor Memory afterwards.
  std::vector<uint32_t> expected() const;
};

/// The PTX of a kernel that runs one case of this form in each CTA, or in each pair of CTAs.
std::string kernel_text(const Form& form);
/// The same around any tcgen05.mma. It may name %d, %at or %adesc, %bdesc, %meta, %idesc, %sfa, %sfb, %en, %zero and
/// the mask's %m0 to %m7; GROUP stands for the CTA group.
std::string kernel_text(const std::string& mma, bool pair);

/// `text` with the first `from` replaced. Throws std::invalid_argument where there is none.
std::string replaced(std::string text, const std::string& from, const std::string& to);

/// Shared memory full of noise.
void pick_image(Random& random, std::vector<uint8_t>& image);

/// What one CTA runs the kernel with; of a pair, both have the same but for image and Tensor Memory.
struct CtaInput {
  const std::vector<uint8_t>& image;
  const std::vector<uint32_t>& tmem;
  uint64_t a = 0;  // descriptor, or address relative to the allocation
  uint64_t b = 0;
  uint32_t idesc = 0;
  bool accumulate = false;
  std::array<uint32_t, 8> mask{};
  uint32_t d = 0, metadata = 0, scale_a = 0, scale_b = 0;  // addresses relative to the allocation
  uint64_t zero_columns = 0;
  uint32_t issuer = 0;  // of a pair: the rank that issues
};
/// Of a case; the odd CTA's image and cells differ in a pair.
CtaInput cta_input(const MmaCase& c, const std::vector<uint8_t>& image, const std::vector<uint32_t>& tmem);
/// Runs CTAs of one kernel, in clusters of two if it is a pair's; the cells of each afterwards.
std::vector<std::vector<uint32_t>> run_ctas(tinygpu::test::RunPtx& gpu, const std::vector<CtaInput>& ctas, bool pair);

/// Runs cases that share a form; the cells after each.
std::vector<std::vector<uint32_t>> run(tinygpu::test::RunPtx& gpu, const std::vector<MmaCase>& cases);

/// What stops `launch`: "code: message", or that nothing does.
template <class Launch>
std::string fault_in(Launch launch) {
  try {
    launch();
  } catch (const tinygpu::KernelFault& f) {
    return f.diagnosis.code + ": " + f.diagnosis.message;
  }
  return "ran to its end";
}

/// Where the kernel's shared image begins.
inline constexpr uint32_t kImageOffset = 0x800;

}  // namespace gen5::test
