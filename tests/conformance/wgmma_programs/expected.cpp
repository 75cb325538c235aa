// The reference: a warpgroup's operations in order, on matrices. Which thread's register holds an element is PTX ISA's
// figures of the fragments, written down here a second time.
#include <array>
#include <bit>
#include <stdexcept>

#include "tests/conformance/wgmma_programs/machine.h"

namespace conformance::wgmma_programs {
namespace {

using gen5::test::Row;
using What = Op::What;

/// Where element (row, k) of A lies in a fragment: the thread, its register, the bit.
struct At {
  uint32_t thread, reg, bit;
};
At a_element(uint32_t element_bytes, uint32_t row, uint32_t k) {
  const uint32_t per = 4 / element_bytes;  // elements of a register
  const uint32_t quad = k / per % 4, half = k / per / 4;
  return {row / 16 * 32 + row % 8 * 4 + quad, row / 8 % 2 + 2 * half, k % per * element_bytes * 8};
}
At d_element(bool packed, uint32_t row, uint32_t column) {
  const uint32_t thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2, pair = column / 8 * 2 + row / 8 % 2;
  return packed ? At{thread, pair, column % 2 * 16} : At{thread, pair * 2 + column % 2, 0};
}

uint32_t bf16_nearest(uint32_t f) {
  if ((f & 0x7fffffff) > 0x7f800000) return 0x7fff;
  const uint32_t cut = f >> 16, rest = f & 0xffff;
  return cut + (rest > 0x8000 || (rest == 0x8000 && (cut & 1)));
}

class Warp4 {
 public:
  Warp4(const Program& p, size_t w) : p_(p), wg_(p.warpgroups[w]), image_(kSlots * kSlotBytes) {
    for (const auto& acc : wg_.accumulators) d_.emplace_back(128 * acc.registers());
    for (auto& f : a_) f.resize(128 * 4);
    for (uint32_t t = 0; t < 128; ++t) word_[t] = uint32_t(w) * 128 + t;
  }
  std::vector<uint32_t> results() {
    run(wg_.ops);
    out_.insert(out_.end(), word_.begin(), word_.end());
    return out_;
  }

 private:
  void run(const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      if (op.what == What::loop) {
        for (uint32_t i = 0; i < op.count; ++i) run(op.body);
        continue;
      }
      if (!apply(books_, op)) throw std::logic_error("something in flight is touched");
      step(op);
    }
  }
  void step(const Op& op) {
    const uint8_t* block = &p_.data[size_t(op.block) * kSlotBytes];
    switch (op.what) {
      case What::fill: std::copy(block, block + kSlotBytes, &image_[op.tile.slot * kSlotBytes]); break;
      case What::load_a:
        for (uint32_t i = 0; i < 512; ++i) a_[op.a][i] = word(block + 4 * i);
        break;
      case What::flip_a:
        for (uint32_t& x : a_[op.a]) x ^= 0x80008000;
        break;
      case What::convert_a:
        for (uint32_t row = 0; row < 64; ++row)
          for (uint32_t k = 0; k < 16; ++k) {
            const At to = a_element(2, row, k);
            uint32_t& x = a_[op.a][to.thread * 4 + to.reg];
            x = (x & ~(0xffffu << to.bit)) | bf16_nearest(d(op.acc, row, op.count + k)) << to.bit;
          }
        break;
      case What::mma: mma(op); break;
      case What::flip_acc:
        for (uint32_t& x : d_[op.acc]) {
          const Kind k = wg_.accumulators[op.acc].kind;
          x = k == Kind::s8 ? x + 12345 : x ^ (halves(k) ? 0x80008000 : 0x80000000);
        }
        break;
      case What::store: out_.insert(out_.end(), d_[op.acc].begin(), d_[op.acc].end()); break;
      case What::call:
        for (uint32_t& x : word_) x = x * 1664525 + 1013904223;
        break;
      case What::diverge:
        for (uint32_t& x : word_) x = x % 2 ? x * 3 + 1 : x / 2;
        break;
      default: break;
    }
  }
  static uint32_t word(const uint8_t* b) { return b[0] | b[1] << 8 | b[2] << 16 | uint32_t(b[3]) << 24; }
  uint32_t d(uint32_t acc, uint32_t row, uint32_t column) const {
    const auto& a = wg_.accumulators[acc];
    const bool packed = halves(a.kind);
    const At at = d_element(packed, row, column);
    const uint32_t x = d_[acc][at.thread * a.registers() + at.reg] >> at.bit;
    return packed ? x & 0xffff : x;
  }
  void set_d(uint32_t acc, uint32_t row, uint32_t column, uint32_t v) {
    const auto& a = wg_.accumulators[acc];
    const bool packed = halves(a.kind);
    const At at = d_element(packed, row, column);
    uint32_t& x = d_[acc][at.thread * a.registers() + at.reg];
    x = packed ? (x & ~(0xffffu << at.bit)) | v << at.bit : v;
  }
  uint32_t element(const Tile& t, uint32_t row, uint32_t k) const {
    uint32_t v = 0;
    for (uint32_t b = 0; b < t.place.element_bytes; ++b) v |= uint32_t(image_[t.place.at(row, k) + b]) << (8 * b);
    return v;
  }
  std::vector<uint32_t> row_of_a(const Op& op, uint32_t row) const {
    const KindInfo& k = info(op.kind);
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < k.k; ++i) {
      if (!op.a_in_registers) {
        out.push_back(element(op.tile, row, i));
        continue;
      }
      const At at = a_element(k.element_bytes, row, i);
      const uint32_t x = a_[op.a][at.thread * 4 + at.reg] >> at.bit;
      out.push_back(k.element_bytes == 4 ? x : x & ((1u << 8 * k.element_bytes) - 1));
    }
    return out;
  }
  void mma(const Op& op) {
    const KindInfo& k = info(op.kind);
    const uint32_t n = wg_.accumulators[op.acc].n;
    std::vector<std::vector<uint32_t>> columns(n);
    for (uint32_t c = 0; c < n; ++c)
      for (uint32_t i = 0; i < k.k; ++i) columns[c].push_back(element(op.b, c, i));
    if (op.kind == Kind::s8) {
      for (uint32_t row = 0; row < 64; ++row) {
        const auto x = row_of_a(op, row);
        for (uint32_t c = 0; c < n; ++c) {
          int64_t sum = op.accumulate ? int32_t(d(op.acc, row, c)) : 0;
          for (uint32_t i = 0; i < k.k; ++i) sum += int64_t(int8_t(x[i])) * int8_t(columns[c][i]);
          set_d(op.acc, row, c, uint32_t(sum));
        }
      }
      return;
    }
    const bool half = halves(op.kind);
    std::vector<Row> b;
    for (const auto& c : columns) b.push_back(gen5::test::decode_row(k.b_type, c, op.negate_b));
    for (uint32_t row = 0; row < 64; ++row) {
      const Row x = gen5::test::decode_row(k.a_type, row_of_a(op, row), op.negate_a);
      for (uint32_t c = 0; c < n; ++c)
        set_d(op.acc, row, c,
              gen5::test::reference_element(x, b[c], op.accumulate, d(op.acc, row, c), 0, half, k.fp8()));
    }
  }

  const Program& p_;
  const Warpgroup& wg_;
  InFlight books_;
  std::vector<uint8_t> image_;
  std::vector<std::vector<uint32_t>> d_;  // [accumulator][thread × registers]
  std::array<std::vector<uint32_t>, kFragments> a_;
  std::array<uint32_t, 128> word_;
  std::vector<uint32_t> out_;
};

}  // namespace

std::vector<uint32_t> expected(const Program& p) {
  std::vector<uint32_t> out;
  for (size_t w = 0; w < p.warpgroups.size(); ++w) {
    const auto r = Warp4(p, w).results();
    out.insert(out.end(), r.begin(), r.end());
  }
  return out;
}

}  // namespace conformance::wgmma_programs
