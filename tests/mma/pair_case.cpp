#include "tests/mma/pair_case.h"

namespace gen5::test {
namespace {

/// Which element of D a cell holds, `column` counted from the accumulator's first. Layout A (M = 256): lanes are rows.
/// Layout B (M = 128): the upper 64 lanes hold the same 64 rows once more, of the right half of D.
struct Element {
  uint32_t row, column;
};
Element element_of(const PairCase& c, uint32_t cta, uint32_t lane, uint32_t column) {
  if (c.m == 256) return {cta * 128 + lane, column};
  return {cta * 64 + lane % 64, column + (lane < 64 ? 0 : c.n / 2)};
}
uint32_t width(const PairCase& c) { return c.m == 256 ? c.n : c.n / 2; }

}  // namespace

void PairCase::place() {
  const auto lay = [&](const Placement& p, const std::vector<uint32_t>& bits, uint32_t rows) {
    for (uint32_t row = 0; row < rows; ++row) {
      const bool odd = row >= rows / 2;
      std::vector<uint8_t>& to = odd ? odd_image : image;
      for (uint32_t i = 0; i < k(); ++i)
        std::memcpy(to.data() + p.at(odd ? row - rows / 2 : row, i), &bits[row * k() + i], p.element_bytes);
    }
  };
  lay(b, b_bits, n);
  if (!form.a_in_tmem) return lay(a, a_bits, m);
  for (uint32_t cta = 0; cta < 2; ++cta)
    for (uint32_t lane_ = 0; lane_ < kLanes; ++lane_)
      for (uint32_t w = 0; w < 8; ++w) {
        const uint32_t* e = &a_bits[element_of(*this, cta, lane_, 0).row * k()];
        (cta ? odd_tmem : tmem)[(kAColumn + w) * kLanes + lane_] =
            form.tf32 ? e[w] : (e[2 * w] & 0xffff) | e[2 * w + 1] << 16;
      }
}

std::array<std::vector<uint32_t>, 2> PairCase::expected() const {
  std::vector<Row> rows, columns;
  for (uint32_t r = 0; r < m; ++r)
    rows.push_back(decode_row(a_type, {a_bits.begin() + r * k(), a_bits.begin() + (r + 1) * k()}, negate_a));
  for (uint32_t c = 0; c < n; ++c)
    columns.push_back(decode_row(b_type, {b_bits.begin() + c * k(), b_bits.begin() + (c + 1) * k()}, negate_b));
  std::array<std::vector<uint32_t>, 2> out{tmem, odd_tmem};
  for (uint32_t cta = 0; cta < 2; ++cta)
    for (uint32_t lane_ = 0; lane_ < kLanes; ++lane_) {
      const uint32_t word = (cta ? odd_mask : mask)[lane_ / 32];
      if (!(form.masked && (word >> lane_ % 32 & 1)))
        for (uint32_t c = 0; c < width(*this); ++c) {
          const Element e = element_of(*this, cta, lane_, c);
          uint32_t& cell = out[cta][(d_column + c) * kLanes + lane_];
          cell = reference_element(rows[e.row], columns[e.column], accumulate, half ? cell & 0xffff : cell,
                                   std::max(form.scale, 0), half);
        }
      if (form.ashift && lane_ % 32 != 31)
        for (uint32_t w = kAColumn; w < kAColumn + 8; ++w)
          out[cta][w * kLanes + lane_] = (cta ? odd_tmem : tmem)[w * kLanes + lane_ + 1];
    }
  return out;
}

std::vector<std::array<std::vector<uint32_t>, 2>> run_pairs(tinygpu::test::RunPtx& gpu,
                                                            const std::vector<PairCase>& cases) {
  std::vector<CtaInput> ctas;
  for (const PairCase& c : cases) {
    for (const bool odd : {false, true}) {
      CtaInput in = cta_input(c, odd ? c.odd_image : c.image, odd ? c.odd_tmem : c.tmem);
      std::copy(c.odd_mask.begin(), c.odd_mask.end(), in.mask.begin() + 4);
      in.issuer = c.issuer;
      ctas.push_back(in);
    }
  }
  const auto cells = run_ctas(gpu, ctas, true);
  std::vector<std::array<std::vector<uint32_t>, 2>> out;
  for (size_t i = 0; i < cells.size(); i += 2) out.push_back({cells[i], cells[i + 1]});
  return out;
}

}  // namespace gen5::test
