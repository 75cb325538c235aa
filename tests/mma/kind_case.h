// One tcgen05.mma of any kind end to end: operands, scale factors and metadata laid into memory as the manual's figures
// and CuTe have them, issued from PTX, accumulators compared with the second reference. Shares nothing with tinygpu.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "tests/mma/mma_case.h"

namespace gen5::test {

struct KindCase {
  std::string kind = "f8f6f4";
  Type a_type = Type::e4m3, b_type = Type::e4m3;
  enum class Result { f32, f16, s32 } result = Result::f32;
  bool pair = false, sparse = false, ws = false;
  bool a_in_tmem = false, accumulate = false, negate_a = false, negate_b = false, saturate = false;
  bool masked = false;
  std::string scale_vector, collector;  // ".scale_vec::2X", ".collector::b1::fill"
  bool ue8m0 = true;
  uint32_t scales = 0;  // a row
  uint32_t sfa_id = 0, sfb_id = 0, selector = 0;
  uint64_t zero_columns = 0;
  uint32_t max_shift = 0;  // code in the instruction descriptor
  uint32_t m = 128, n = 8, d_column = 0, lane = 0;
  uint32_t issuer = 0;
  Placement a, b;
  std::array<uint32_t, 8> mask{};
  // Logical operands: [row][k]; of sparse A the stored elements, and which of K they are.
  std::vector<uint32_t> a_bits, b_bits;
  std::vector<uint8_t> a_position;
  std::vector<uint32_t> a_scale, b_scale;  // [row][j]
  std::vector<uint8_t> image[2];           // of each CTA
  std::vector<uint32_t> tmem[2];

  uint32_t ctas() const { return pair ? 2 : 1; }
  uint32_t element_bytes() const { return kind == "tf32" ? 4 : kind == "f16" ? 2 : 1; }
  bool nibbles() const { return kind == "mxf4" || kind == "mxf4nvf4"; }
  bool block_scaled() const { return scales != 0; }
  /// Elements of A's row that are multiplied; K of a dense MMA.
  uint32_t terms() const { return nibbles() ? 64 : 32 / element_bytes(); }
  uint32_t k() const { return sparse ? 2 * terms() : terms(); }
  uint32_t idesc() const;
  /// The instruction, as kernel_text() takes it.
  std::string instruction() const;
  std::string describe() const;

  /// Draws operands, scales, metadata and cells of one flavour each, once shape and types are set.
  void pick_values(Random& random, uint32_t flavour, uint32_t c_flavour);
  /// Lays all of it into images and Tensor Memory.
  void place();
  /// Tensor Memory of each CTA afterwards.
  std::vector<std::vector<uint32_t>> expected() const;
  CtaInput input(uint32_t cta) const;

  /// The element of D that a cell holds, `column` counted from the accumulator's first; none: not of the tile.
  struct Element {
    bool here = false;
    uint32_t row = 0, column = 0;
  };
  Element element_of(uint32_t cta, uint32_t lane, uint32_t column) const;
  /// Columns of Tensor Memory that D takes.
  uint32_t width() const;
  /// Whether a column of D gets zeros for its products (.ws).
  bool zeroed(uint32_t column) const;
};

/// A case of this kind ("f16" … "mxf4nvf4") with everything else drawn at random. `index` walks through N.
KindCase random_kind_case(Random& random, const std::string& kind, bool sparse, bool ws, bool pair, uint32_t index);

/// Runs cases that share an instruction; the cells of each CTA after each.
std::vector<std::vector<std::vector<uint32_t>>> run_kinds(tinygpu::test::RunPtx& gpu,
                                                          const std::vector<KindCase>& cases);

}  // namespace gen5::test
