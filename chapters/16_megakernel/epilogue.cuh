// What the epilogue's four warps do in each kind of task, on both machines.
#pragma once
#include <cuda_bf16.h>

#include "chapters/16_megakernel/pages.cuh"

namespace megakernel::kernels {

constexpr float kEpsilon = 1e-5f;  // of the norms

__device__ inline float number(uint16_t bf16) { return __uint_as_float(uint32_t(bf16) << 16); }
__device__ inline float2 numbers(uint32_t two) {
  return {__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000)};
}
__device__ inline uint16_t rounded(float f) { return __bfloat16_as_ushort(__float2bfloat16_rn(f)); }
__device__ inline float exp2_sfu(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline void meet() { bar_sync(kEpilogueBarrier, kEpilogue); }

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffff, x, d);
  return x;
}
__device__ inline float warp_max(float x) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, d));
  return x;
}

/// Its first page is there.
__device__ inline void note_first(const Arguments& args, const Task& task) {
  if (args.ran && threadIdx.x % kEpilogue == 0) args.ran[task.number].first = nanoseconds();
}

/// Its pages have been read.
__device__ inline void note_sum(const Arguments& args, const Task& task) {
  if (args.ran && threadIdx.x % kEpilogue == 0) args.ran[task.number].summed = nanoseconds();
}

/// Raises the tile's counter: behind the barrier all threads have stored their results.
__device__ inline void raise(const Arguments& args, const Task& task) {
  meet();
  if (threadIdx.x % kEpilogue == 0) {
    if (args.ran) args.ran[task.number].stored = nanoseconds();
    if (args.counters) counter_raise(&args.counters[task.raises]);
    if (args.ran) args.ran[task.number].end = nanoseconds();
  }
}

/// All parts of a tile have left their sums in scratch memory when this says true, which it does in one CTA alone: the
/// last. It adds them up, always in the same order.
template <class S>
__device__ bool last_part(const Arguments& args, const Task& task, S& shared) {
  meet();
  if (threadIdx.x % kEpilogue == 0) {
    if (args.ran) args.ran[task.number].stored = nanoseconds();
    shared.last = counter_meet(&args.meets[task.meet]) % task.parts == task.parts - 1;
    if (args.ran && !shared.last) args.ran[task.number].end = nanoseconds();
  }
  meet();
  return shared.last;
}

// ---- Norm: a row of x becomes a row of n

/// Whoever calls it raises the counter.
template <class S>
__device__ void normalise(const Arguments& args, const Task& task, S& shared) {
  const uint32_t thread = threadIdx.x % kEpilogue, words = args.hidden / 2;
  const size_t row = size_t(task.half) * args.batch + task.row;
  const auto* x = reinterpret_cast<const uint32_t*>(args.residual + row * args.hidden);
  const auto* gain = reinterpret_cast<const uint32_t*>(args.gains + size_t(task.half) * args.hidden);
  auto* to = reinterpret_cast<uint32_t*>(args.normed + row * args.hidden);
  // All loads at once: a trip to memory takes longer than everything else here.
  uint32_t mine[kLargestHidden / 2 / kEpilogue], gains[kLargestHidden / 2 / kEpilogue];
#pragma unroll
  for (uint32_t i = 0; i < kLargestHidden / 2 / kEpilogue; ++i) {
    const uint32_t at = i * kEpilogue + thread;
    mine[i] = at < words ? x[at] : 0;
    gains[i] = at < words ? gain[at] : 0;
  }
  float squares = 0;
#pragma unroll
  for (const uint32_t w : mine) {
    const float2 two = numbers(w);
    squares += two.x * two.x + two.y * two.y;
  }
  squares = warp_sum(squares);
  if (thread % 32 == 0) shared.newest[thread / 32] = squares;
  meet();
  const float mean = (shared.newest[0] + shared.newest[1] + shared.newest[2] + shared.newest[3]) / float(args.hidden);
  const float factor = rsqrtf(mean + kEpsilon);
#pragma unroll
  for (uint32_t i = 0; i < kLargestHidden / 2 / kEpilogue; ++i) {
    const uint32_t at = i * kEpilogue + thread;
    const float2 two = numbers(mine[i]), g = numbers(gains[i]);
    if (at < words) to[at] = rounded(two.x * factor * g.x) | uint32_t(rounded(two.y * factor * g.y)) << 16;
  }
}

// ---- Projections: a row of W · inputs

/// The row's place in q, k or v, and its rotation. Rows 2i and 2i + 1 of a head are rotated together: neighbouring
/// lanes have them.
struct QkvRow {
  uint16_t* to;
  size_t stride;  // from one sequence to the next
  float2 turn;    // cosine and sine, the latter with the sign of this row; 1 and 0 where nothing is rotated

  QkvRow() = default;
  /// `row`: of Wqkv.
  __device__ QkvRow(const Arguments& args, uint32_t layer, uint32_t row) {
    const uint32_t of_head = (args.group + 2) * args.dim;
    const uint32_t kv_head = row / of_head, head = row % of_head / args.dim, i = row % args.dim;
    turn = head <= args.group ? args.rotation[i / 2] : float2{1, 0};
    if (i % 2 == 0) turn.y = -turn.y;
    if (head < args.group) {
      stride = size_t(args.heads) * args.dim;
      to = args.q + layer * args.batch * stride + (kv_head * args.group + head) * args.dim + i;
    } else {
      const size_t of_cache = size_t(args.cache + 1) * args.dim;
      stride = args.kv_heads * of_cache;
      to = (head == args.group ? args.key_cache : args.value_cache) + layer * args.batch * stride + kv_head * of_cache +
           args.cache * args.dim + i;
    }
  }
};

/// Row b of the batch, or its last one: loads without a branch around each can be on their way together.
__device__ inline uint32_t row_of_batch(const Arguments& args, uint32_t b) { return min(b, args.batch - 1); }

/// What a thread needs for a row of a tile beside its sums, asked for ahead of them: where q, k and v go, or the x that
/// the sums of sequences b, b + step … are added to.
template <uint32_t Count>
struct Beside {
  QkvRow place;
  uint16_t x[Count];

  __device__ Beside(const Arguments& args, const Task& task, uint32_t row, uint32_t b, uint32_t step) {
    if (task.op == Op::qkv) place = QkvRow(args, task.layer, row);
    if (task.op == Op::qkv || task.op == Op::gate_up) return;
    const uint16_t* from = args.residual + size_t(task.half) * args.batch * args.hidden + row;
#pragma unroll
    for (uint32_t i = 0; i < Count; ++i) x[i] = from[size_t(row_of_batch(args, b + i * step)) * args.hidden];
  }
};

/// Stores row `row` of what the operation makes for `Count` sequences: b, b + step …; sum[1] is up's of gate_up.
template <uint32_t Count>
__device__ void store_row(const Arguments& args, const Task& task, uint32_t row, uint32_t b, uint32_t step,
                          const Beside<Count>& beside, const float (&sum)[2][Count]) {
  if (task.op == Op::qkv) {
    const QkvRow& place = beside.place;
#pragma unroll
    for (uint32_t i = 0; i < Count; ++i) {
      const float mine = sum[0][i], other = __shfl_xor_sync(0xffffffff, mine, 1);
      const uint32_t at = b + i * step;
      if (at < args.batch) place.to[at * place.stride] = rounded(mine * place.turn.x + other * place.turn.y);
    }
    return;
  }
  const bool gated = task.op == Op::gate_up;
  uint16_t* to = gated ? args.gated + size_t(task.layer) * args.batch * args.intermediate
                       : args.residual + size_t(task.half + 1) * args.batch * args.hidden;
#pragma unroll
  for (uint32_t i = 0; i < Count; ++i) {
    const uint32_t at = b + i * step;
    if (at >= args.batch) continue;
    if (gated)
      to[size_t(at) * args.intermediate + row] = rounded(sum[0][i] / (1 + __expf(-sum[0][i])) * sum[1][i]);
    else
      to[size_t(at) * args.hidden + row] = rounded(number(beside.x[i]) + sum[0][i]);
  }
}

/// Adds up what the parts of a tile of `Tile` rows have left of this thread's row, for sequences b, b + step …; sum[1]
/// is up's of gate_up, where `Halves` is 2. A trip to memory takes longer than everything else here, so the loads of
/// `AtOnce` parts are on their way together.
template <uint32_t Tile, uint32_t Halves, uint32_t AtOnce, uint32_t Count>
__device__ void add_parts(const Arguments& args, const Task& task, const float* sums, uint32_t b, uint32_t step,
                          float (&sum)[2][Count]) {
  const uint32_t up = task.op == Op::gate_up ? args.batch * Tile : 0, of_part = (up ? 2 : 1) * args.batch * Tile;
  for (uint32_t first = 0; first < task.parts; first += AtOnce) {
    float got[Halves][AtOnce][Count];
#pragma unroll
    for (uint32_t k = 0; k < AtOnce; ++k)
#pragma unroll
      for (uint32_t i = 0; i < Count; ++i) {
        const float* from = sums + min(first + k, task.parts - 1) * of_part + row_of_batch(args, b + i * step) * Tile;
        got[0][k][i] = from[0];
        if constexpr (Halves == 2) got[1][k][i] = from[up];
      }
#pragma unroll
    for (uint32_t k = 0; k < AtOnce; ++k)
#pragma unroll
      for (uint32_t i = 0; i < Count; ++i)
        if (first + k < task.parts) {
          sum[0][i] += got[0][k][i];
          if constexpr (Halves == 2) sum[1][i] += got[1][k][i];
        }
  }
}

/// This part's sums are in scratch memory. The last one finishes the tile, and says true: this thread has row `row` of
/// it, of sequences b, b + step …, `Count` of them at a time.
template <uint32_t Tile, uint32_t Halves, uint32_t AtOnce, uint32_t Count, class S>
__device__ bool finish_parts(const Arguments& args, const Task& task, S& shared, uint32_t row, uint32_t b,
                             uint32_t step) {
  const float* sums = args.scratch + task.scratch + row;
  Beside<Count> beside(args, task, task.tile * Tile + row, b, step);
  if (!last_part(args, task, shared)) return false;
  for (uint32_t at = b; at < args.batch; at += Count * step) {
    if (at > b) beside = Beside<Count>(args, task, task.tile * Tile + row, at, step);
    float sum[2][Count] = {};
    add_parts<Tile, Halves, AtOnce, Count>(args, task, sums, at, step, sum);
    store_row(args, task, task.tile * Tile + row, at, step, beside, sum);
  }
  return true;
}

}  // namespace megakernel::kernels
