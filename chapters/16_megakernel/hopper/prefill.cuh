// A prefill's projections on Hopper: tiles of 128 rows of weights and 128 tokens, multiplied by wgmma. The rows of a
// page are two halves of 64: of gate_up those of gate and of up, so that one thread has both sums of a number of h.
#pragma once
#include "chapters/16_megakernel/hopper/wgmma_tile.cuh"
#include "chapters/16_megakernel/prefill.cuh"

namespace megakernel::kernels {

constexpr uint32_t kHalf = kTile / 2;  // rows of weights of a wgmma

/// The first row of weights of a half of the task's tile.
__device__ inline uint32_t weights_row(const Arguments& args, const Task& task, uint32_t half) {
  return task.op == Op::gate_up ? task.tile * kHalf + half * args.intermediate : task.tile * kTile + half * kHalf;
}

/// Sums on their way from the registers of products to those of whoever stores them: [token][row of the tile], of half
/// of the tokens at a time.
struct alignas(16) TokenSums {
  static constexpr uint32_t kTokens = kTokenTile / 2,
                            kStride = kTile + 4;  // so that a warp's words meet all banks once
  float of_token[kTokens][kStride];
};

/// Starts the products of a page, as a group of this warpgroup's wgmmas.
template <class P>
__device__ void multiply_tokens(const P& page, float (&d)[2][kTokenTile / 2], bool first) {
  const uint64_t b = operand_at(page.inputs);
  wgmma_fence();
#pragma unroll
  for (uint32_t along = 0; along < 128; along += 32)  // 16 elements at a time
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half)
      wgmma_m64k16<int(kTokenTile), WgmmaType::bf16>(d[half],
                                                     operand_at(page.weights) + ((half * kHalf * 128 + along) >> 4),
                                                     b + (along >> 4), !first || along > 0);
  wgmma_commit_group();
}

/// Leaves the sums of half of the tokens in rows of `stride`.
template <uint32_t Second>
__device__ void put_sums(const float (&d)[2][kTokenTile / 2], float* rows, uint32_t stride) {
  constexpr uint32_t kCount = kTokenTile / 4;
#pragma unroll
  for (uint32_t i = 0; i < 2 * kCount; ++i)
    rows[sequence_of(i % kCount) * stride + i / kCount * kHalf + row_of(i)] =
        d[i / kCount][Second * kCount + i % kCount];
}

/// A thread's two columns of what the operation makes, of every `step`th token. The code is a short loop: it runs once
/// a task, and other code has put it out of the instruction cache.
struct TwoColumns {
  uint32_t pair, first, step;  // columns 2 · pair and the one behind it; tokens first, first + step …
  Column column;

  __device__ static uint32_t pairs(const Task& task) { return (task.op == Op::gate_up ? kHalf : kTile) / 2; }
  __device__ TwoColumns(const Arguments& args, const Task& task)
      : pair(threadIdx.x % pairs(task)),
        first(threadIdx.x / pairs(task)),
        step(kEpilogue / pairs(task)),
        column(args, task, task.tile * 2 * pairs(task) + 2 * pair) {}

  /// Stores them for tokens [from, to) of the task. Each part has left its sums `of_part` floats behind those of the
  /// one before; token `from` has the first row. The loads of kAtOnce tokens are on their way together.
  template <uint32_t kAtOnce>
  __device__ void store(const Task& task, uint32_t from, uint32_t to, const float* sums, uint32_t stride,
                        uint32_t of_part) const {
    const bool gated = task.op == Op::gate_up;
#pragma unroll 1
    for (uint32_t token = from + first; token < to; token += kAtOnce * step) {
      float2 sum[kAtOnce] = {}, up[kAtOnce] = {}, turn[kAtOnce];
      uint32_t x[kAtOnce];
      const auto at = [&](uint32_t k) { return min(token + k * step, to - 1); };  // without a branch around each load
      if (column.turn)
#pragma unroll
        for (uint32_t k = 0; k < kAtOnce; ++k) turn[k] = column.turn[at(k) * column.turn_stride];
      if (column.x)
#pragma unroll
        for (uint32_t k = 0; k < kAtOnce; ++k)
          x[k] = *reinterpret_cast<const uint32_t*>(column.x + at(k) * column.stride);
#pragma unroll 1
      for (uint32_t part = 0; part < task.parts; ++part) {
        const float* const mine = sums + part * of_part + 2 * pair;
        float2 got[2][kAtOnce];
#pragma unroll
        for (uint32_t k = 0; k < kAtOnce; ++k)
          got[0][k] = *reinterpret_cast<const float2*>(mine + (at(k) - from) * stride);
        if (gated)
#pragma unroll
          for (uint32_t k = 0; k < kAtOnce; ++k)
            got[1][k] = *reinterpret_cast<const float2*>(mine + (at(k) - from) * stride + kHalf);
#pragma unroll
        for (uint32_t k = 0; k < kAtOnce; ++k) {
          sum[k] = {sum[k].x + got[0][k].x, sum[k].y + got[0][k].y};
          if (gated) up[k] = {up[k].x + got[1][k].x, up[k].y + got[1][k].y};
        }
      }
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        float2 made = sum[k];
        if (gated)
          made = {made.x / (1 + __expf(-made.x)) * up[k].x, made.y / (1 + __expf(-made.y)) * up[k].y};
        else if (column.x)
          made = {numbers(x[k]).x + made.x, numbers(x[k]).y + made.y};
        else if (column.rotated)
          made = {made.x * turn[k].x - made.y * turn[k].y, made.y * turn[k].x + made.x * turn[k].y};
        if (token + k * step < to)
          *reinterpret_cast<uint32_t*>(column.to + at(k) * column.stride) = rounded(made.x) | uint32_t(rounded(made.y))
                                                                                                  << 16;
      }
    }
  }
};

template <class S>
__device__ bool project_tokens(const Arguments& args, const Task& task, S& shared, Ring<S::kPages>& at) {
  float d[2][kTokenTile / 2];
  Ring<S::kPages> read = at;  // the page whose products may be on their way
  for (uint32_t page = 0; page < task.pages; ++page, at.advance()) {
    wait_for_page(shared, at);
    if (page == 0) note_first(args, task);
    multiply_tokens(shared.page[at.stage], d, page == 0);
    if (page == 0) continue;
    wgmma_wait_group<1>();
    give_page(shared, read);
  }
  wgmma_wait_group<0>();
#pragma unroll
  for (float& x : d[0]) wgmma_pin(x);
#pragma unroll
  for (float& x : d[1]) wgmma_pin(x);
  give_page(shared, read);
  note_sum(args, task);

  const TwoColumns columns(args, task);
  if (task.parts == 1) {
    constexpr uint32_t kTokens = TokenSums::kTokens, kStride = TokenSums::kStride;
#pragma unroll 1
    for (uint32_t from = 0; from < task.rows; from += kTokens) {
      meet();  // all have read what lay there before
      if (from == 0)
        put_sums<0>(d, shared.of_token[0], kStride);
      else
        put_sums<1>(d, shared.of_token[0], kStride);
      meet();
      columns.store<8>(task, from, min(from + kTokens, task.rows), shared.of_token[0], kStride, 0);
    }
    return true;
  }
  float* const sums = args.scratch + task.scratch;
  constexpr uint32_t kOfPart = kTokenTile * kTile;
  put_sums<0>(d, sums + task.part * kOfPart, kTile);
  put_sums<1>(d, sums + task.part * kOfPart + kOfPart / 2, kTile);
  if (!last_part(args, task, shared)) return false;
  columns.store<16>(task, 0, task.rows, sums, kTile, kOfPart);
  return true;
}

}  // namespace megakernel::kernels
