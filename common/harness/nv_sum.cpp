#include "common/harness/nv_sum.h"

#include <algorithm>
#include <bit>

#include "common/harness/parallel.h"
#include "common/harness/window_sum.h"

namespace gen5::harness {
namespace {

// One instruction is 64 deep: 4 blocks of 16 elements that share a scale, each of 4 groups of 4.
constexpr uint32_t kDepth = 64, kBlock = 16, kGroup = 4;
constexpr int kNothing = -10000;  // raw exponent of a zero

/// Rows of an operand as integers. An element is `twice` / 2, a scale `eighths` / 8 · 2^exponent. Raw exponents are
/// those of the encoding: a subnormal has the smallest normal number's.
struct Rows {
  std::vector<int32_t> twice, exponent;          // [row][k]
  std::vector<int32_t> eighths, scale_exponent;  // [row][k / 16]
  std::vector<uint8_t> nan;                      // [row][k / 64]: a scale of the instruction is NaN
};

Rows rows_of(const NarrowMatrix& m, uint32_t first, uint32_t count, uint32_t padded) {
  Rows r;
  const uint32_t blocks = padded / kBlock;
  r.twice.assign(size_t(count) * padded, 0);
  r.exponent.assign(size_t(count) * padded, kNothing);
  r.eighths.assign(size_t(count) * blocks, 0);
  r.scale_exponent.assign(size_t(count) * blocks, 0);
  r.nan.assign(size_t(count) * (padded / kDepth), 0);
  for (uint32_t row = 0; row < count; ++row) {
    for (uint32_t k = 0; k < m.k; ++k) {
      const uint32_t code = m.codes[size_t(first + row) * m.k + k] & 15, e = code >> 1 & 3;
      if ((code & 7) == 0) continue;
      const size_t at = size_t(row) * padded + k;
      const int magnitude = e == 0 ? 1 : (2 | int(code & 1)) << (e - 1);
      r.twice[at] = code & 8 ? -magnitude : magnitude;
      r.exponent[at] = e == 0 ? 0 : int(e) - 1;
    }
    for (uint32_t j = 0; j < m.blocks(); ++j) {
      const uint32_t code = m.scales[size_t(first + row) * m.blocks() + j] & 0x7f, e = code >> 3;
      const size_t at = size_t(row) * blocks + j;
      r.eighths[at] = e ? int32_t(8 | (code & 7)) : int32_t(code & 7);
      r.scale_exponent[at] = int(std::max(e, 1u)) - 7;
      if (code == 0x7f) r.nan[size_t(row) * (padded / kDepth) + j / (kDepth / kBlock)] = 1;
    }
  }
  return r;
}

int64_t cut(int64_t value, int exponent, int quantum) {
  const int shift = exponent - quantum;
  const int64_t magnitude = value < 0 ? -value : value;
  const int64_t kept = shift >= 0 ? magnitude << shift : shift < -62 ? 0 : magnitude >> -shift;
  return value < 0 ? -kept : kept;
}

/// One instruction's sum for a row of A and a column of B; pointers to its 64 elements and 4 scales.
uint32_t step(const int32_t* a, const int32_t* ae, const int32_t* as, const int32_t* ase, const int32_t* b,
              const int32_t* be, const int32_t* bs, const int32_t* bse, uint32_t c) {
  // Largest raw exponents: of the scaled products that are not zero, and of the scales of such.
  int largest = kNothing, scales = kNothing;
  int64_t sums[kDepth / kGroup];
  int unit[kDepth / kBlock];
  for (uint32_t block = 0; block < kDepth / kBlock; ++block) {
    const int scale = ase[block] + bse[block];
    const int64_t significands = int64_t(as[block]) * bs[block];
    unit[block] = scale - 8;  // of eighths times eighths times halves times halves
    int top = kNothing;
    for (uint32_t k = block * kBlock; k < (block + 1) * kBlock; ++k)
      if (a[k] && b[k]) top = std::max(top, ae[k] + be[k]);
    if (significands && top > kNothing) {
      largest = std::max(largest, top + scale);
      scales = std::max(scales, scale);
    }
    for (uint32_t g = block * kBlock / kGroup; g < (block + 1) * kBlock / kGroup; ++g) {
      int32_t sum = 0;
      for (uint32_t k = g * kGroup; k < (g + 1) * kGroup; ++k) sum += a[k] * b[k];
      sums[g] = sum * significands;
    }
  }
  const Parts old = split(c, 8, 23);
  if (old.nan) return kCanonicalNan;
  if (old.infinite) return c;
  const int old_exponent = old.significand ? old.exponent : kNothing;
  if (largest == kNothing) return old.significand ? c : 0;
  // Where the accumulator reaches the products, exact sums of 16 are cut 35 bits below it; else sums of 4.
  const bool reaches = old.significand && old_exponent >= largest;
  const int quantum = reaches ? old_exponent - 35 : std::max(std::max(largest, old_exponent) - 39, scales - 35);
  int64_t total = 0;
  for (uint32_t block = 0; block < kDepth / kBlock; ++block) {
    const int64_t* of_block = sums + block * kBlock / kGroup;
    if (reaches) {
      total += cut(of_block[0] + of_block[1] + of_block[2] + of_block[3], unit[block], quantum);
    } else {
      for (uint32_t g = 0; g < kBlock / kGroup; ++g) total += cut(of_block[g], unit[block], quantum);
    }
  }
  if (old.significand)
    total += cut(old.negative ? -int64_t(old.significand) : int64_t(old.significand), old_exponent - 23, quantum);
  return to_f32(total, quantum);
}

}  // namespace

std::vector<uint32_t> nv_gemm(const NarrowMatrix& a, const NarrowMatrix& b, uint32_t m0, uint32_t n0, uint32_t rows,
                              uint32_t columns) {
  const uint32_t padded = (a.k + kDepth - 1) / kDepth * kDepth, blocks = padded / kBlock, steps = padded / kDepth;
  const Rows left = rows_of(a, m0, rows, padded), right = rows_of(b, n0, columns, padded);
  std::vector<uint32_t> out(size_t(rows) * columns);
  for_all(rows, [&](uint32_t r) {
    for (uint32_t n = 0; n < columns; ++n) {
      uint32_t c = 0;
      for (uint32_t s = 0; s < steps; ++s) {
        const size_t at = size_t(r) * padded + s * kDepth, bt = size_t(n) * padded + s * kDepth;
        const size_t as = size_t(r) * blocks + s * kDepth / kBlock, bs = size_t(n) * blocks + s * kDepth / kBlock;
        c = left.nan[size_t(r) * steps + s] || right.nan[size_t(n) * steps + s]
                ? kCanonicalNan
                : step(&left.twice[at], &left.exponent[at], &left.eighths[as], &left.scale_exponent[as],
                       &right.twice[bt], &right.exponent[bt], &right.eighths[bs], &right.scale_exponent[bs], c);
      }
      out[size_t(r) * columns + n] = c;
    }
  });
  return out;
}

}  // namespace gen5::harness
