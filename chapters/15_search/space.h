// What is searched: a product, and the kernels that may compute it. A point names one kernel of the template in
// common/kernels/gemm_blackwell.cuh; chapter 13's steps 4 to 8 are five of its points.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "chapters/15_search/numbers.h"

namespace tiny {

constexpr uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

/// D[m × n] = A[m × k] · B[n × k]ᵀ, bf16 in, f32 out.
struct Problem {
  uint32_t m, n, k;
};

struct Point {
  uint32_t m = 128, n = 128, ctas = 1;  // of D: the tile of a CTA, or of a pair
  uint32_t block = 128, span = 128;     // bytes of a row that a block of K has, and that a swizzle has
  uint32_t stages = 4;                  // blocks that the ring holds
  uint32_t accumulators = 1;            // tiles that Tensor Memory holds
  bool persistent = false;              // CTAs that stay, or a CTA for each tile

  friend constexpr bool operator==(const Point&, const Point&) = default;
  constexpr uint32_t rows() const { return m / ctas; }  // of A, in a CTA
  constexpr uint32_t mma_rows() const { return std::min(rows(), 128u); }
  constexpr uint32_t stage_bytes() const { return (rows() + n / ctas) * block; }
  /// Of Tensor Memory.
  constexpr uint32_t columns() const { return accumulators * (rows() / mma_rows()) * n; }
  /// Of shared memory: the ring, two boxes of D for each of four warps, and mbarriers.
  constexpr uint32_t shared_bytes() const {
    return ceil_div(stages * (stage_bytes() + 16) + 2 * mma_rows() * 128 + accumulators * 16 + 68, 1024) * 1024;
  }
};

constexpr uint32_t kColumns = 512;    // of Tensor Memory
constexpr uint32_t kBoxColumns = 32;  // of f32, 128 bytes: what the epilogue stores at a time
constexpr uint32_t kBand = 8;         // tiles along M that are walked before the next column

/// CTAs of the kernel that an SM holds at the same time.
constexpr uint32_t ctas_of_sm(const Point& p) {
  return p.persistent
             ? 1
             : std::max(1u, std::min(kSharedOfSm / (p.shared_bytes() + kSharedReserved), kColumns / p.columns()));
}

/// Tiles of one CTA, rows and columns.
struct Tile {
  uint32_t m, n;
};
constexpr Tile kTiles[] = {{128, 64}, {128, 128}, {128, 192}, {128, 256}, {256, 64}, {256, 128}, {256, 256}, {512, 64}};

/// All points that differ from `p` in one parameter.
template <class Found>
void for_each_change(const Point& p, const Found& found) {
  const auto with = [&](const auto& set) {
    Point q = p;
    set(q);
    if (!(q == p)) found(q);
  };
  for (const uint32_t ctas : {1, 2})
    for (const Tile t : kTiles) with([&](Point& q) { q.m = ctas * t.m, q.n = t.n, q.ctas = ctas; });
  for (const uint32_t block : {64, 128, 256}) with([&](Point& q) { q.block = block; });
  for (const uint32_t span : {64, 128}) with([&](Point& q) { q.span = span; });
  for (uint32_t stages = 1; stages <= 8; ++stages) with([&](Point& q) { q.stages = stages; });
  for (const uint32_t accumulators : {1, 2}) with([&](Point& q) { q.accumulators = accumulators; });
  for (const bool persistent : {false, true}) with([&](Point& q) { q.persistent = persistent; });
}

/// "tile=256x256 ctas=2 block=128 swizzle=128 stages=4 accumulators=2 persistent".
std::string text(const Point& p);
/// What differs: "stages=6".
std::string text_of_change(const Point& from, const Point& to);

}  // namespace tiny
