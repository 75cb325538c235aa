// A prefill's tasks, on both machines: what the epilogue makes of a tile of tokens. Projections have up to 128 tokens
// as N in place of a batch's sequences. Attention has queries of some tokens, and keys up to the last one's.
#pragma once
#include "chapters/16_megakernel/attention.cuh"

namespace megakernel::kernels {

// ---- Norm

/// Each warp takes a token: a row by itself would be a trip to memory for each. Squares first; then the row comes
/// again, out of L1.
__device__ inline void normalise_tokens(const Arguments& args, const Task& task) {
  constexpr uint32_t kAtOnce = 16;
  const uint32_t lane = threadIdx.x % 32, words = args.hidden / 2;  // a multiple of 64
  const auto* gain = reinterpret_cast<const uint32_t*>(args.gains + size_t(task.half) * args.hidden);
  for (uint32_t token = threadIdx.x % kEpilogue / 32; token < task.rows; token += kWarps) {
    const size_t row = (size_t(task.half) * args.batch + task.row + token) * args.hidden;
    const auto* x = reinterpret_cast<const uint32_t*>(args.residual + row);
    auto* to = reinterpret_cast<uint32_t*>(args.normed + row);
    float squares = 0;
#pragma unroll 1
    for (uint32_t first = lane; first < words; first += 32 * kAtOnce) {
      uint32_t mine[kAtOnce];
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) mine[k] = first + 32 * k < words ? x[first + 32 * k] : 0;
#pragma unroll
      for (const uint32_t w : mine) squares += numbers(w).x * numbers(w).x + numbers(w).y * numbers(w).y;
    }
    const float factor = rsqrtf(warp_sum(squares) / float(args.hidden) + kEpsilon);
#pragma unroll 1
    for (uint32_t first = lane; first < words; first += 32 * kAtOnce) {
      uint32_t mine[kAtOnce], gains[kAtOnce];
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        const uint32_t at = min(first + 32 * k, words - 1);
        mine[k] = x[at];
        gains[k] = gain[at];
      }
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        const float2 two = numbers(mine[k]), g = numbers(gains[k]);
        if (first + 32 * k < words)
          to[first + 32 * k] = rounded(two.x * factor * g.x) | uint32_t(rounded(two.y * factor * g.y)) << 16;
      }
    }
  }
}

// ---- Projections

/// A row of weights is a column of what the operation makes: where that lies for the task's first token, and what it
/// needs beside sums.
struct Column {
  uint16_t* to;
  size_t stride;                 // from one token to the next
  const uint16_t* x = nullptr;   // what sums are added to: out's and down's
  const float2* turn = nullptr;  // qkv's: cosine and sine, with which q and k are rotated with the column beside them
  uint32_t turn_stride;
  float sign;  // of the sine
  bool rotated = false;

  __device__ Column(const Arguments& args, const Task& task, uint32_t row) : turn_stride(args.dim / 2) {
    if (task.op == Op::qkv) {
      const uint32_t of_head = (args.group + 2) * args.dim;
      const uint32_t kv_head = row / of_head, head = row % of_head / args.dim, i = row % args.dim;
      turn = args.rotation + task.row * turn_stride + i / 2;
      sign = i % 2 ? 1 : -1;
      rotated = head <= args.group;
      if (head < args.group) {
        stride = args.heads * args.dim;
        to = args.q + size_t(task.layer) * args.batch * stride + (kv_head * args.group + head) * args.dim + i;
      } else {
        stride = args.dim;
        to = (head == args.group ? args.key_cache : args.value_cache) +
             (size_t(task.layer * args.kv_heads + kv_head) * (args.cache + args.prefill) + args.cache) * stride + i;
      }
    } else if (task.op == Op::gate_up) {
      stride = args.intermediate;
      to = args.gated + size_t(task.layer) * args.batch * stride + row;
    } else {
      stride = args.hidden;
      x = args.residual + (size_t(task.half) * args.batch + task.row) * stride + row;
      to = args.residual + size_t(task.half + 1) * args.batch * stride + row;
    }
    to += task.row * stride;
  }
};

/// Stores a column for `Count` tokens of the task from `first` on. `up`: up's sums of gate_up. The lane beside this one
/// has the column beside this one.
template <uint32_t Count>
__device__ void store_column(const Task& task, const Column& column, const float (&sum)[Count],
                             const float (&up)[Count], uint32_t first) {
  const auto last = [&](uint32_t k) { return min(first + k, task.rows - 1); };  // without a branch around each load
  float2 turn[Count];
  uint16_t x[Count];
  if (column.turn)
#pragma unroll
    for (uint32_t k = 0; k < Count; ++k) turn[k] = column.turn[last(k) * column.turn_stride];
  if (column.x)
#pragma unroll
    for (uint32_t k = 0; k < Count; ++k) x[k] = column.x[last(k) * column.stride];
#pragma unroll
  for (uint32_t k = 0; k < Count; ++k) {
    const float other = __shfl_xor_sync(0xffffffff, sum[k], 1);
    float made = sum[k];
    if (task.op == Op::gate_up)
      made = sum[k] / (1 + __expf(-sum[k])) * up[k];
    else if (column.x)
      made = number(x[k]) + sum[k];
    else if (column.rotated)
      made = sum[k] * turn[k].x + other * column.sign * turn[k].y;
    if (first + k < task.rows) column.to[(first + k) * column.stride] = rounded(made);
  }
}

// ---- Attention

/// A lane has two of the warp's 16 queries: rows r and r + 8 of fragments. Heads of a token follow each other.
struct Query {
  size_t at;          // in q and a
  uint32_t position;  // of its token: it sees keys up to there
  bool there;         // or it stands in for one behind the last

  __device__ Query(const Arguments& args, const Task& task, uint32_t number) {
    there = number < task.rows * args.group;
    const uint32_t mine = there ? number : 0, row = task.row + mine / args.group;
    at = ((size_t(task.layer) * args.batch + row) * args.heads + task.tile * args.group + mine % args.group) * args.dim;
    position = args.cache + row;
  }
};

constexpr uint32_t kTurn = 32;  // keys that a warp takes at a time

/// Scores of 32 keys, from row `first` of the page on: s[n] of keys 8n + 2c and 8n + 2c + 1, of both queries.
template <class S>
__device__ void score_tokens(const S& shared, Ring<S::kPages> page, uint32_t boxes, uint32_t first,
                             const uint4 (&q)[2][2][2], float (&s)[kTurn / 8][4]) {
#pragma unroll
  for (uint32_t box = 0; box < 2; ++box, page.advance()) {
    if (box == boxes) break;
#pragma unroll
    for (uint32_t n = 0; n < kTurn / 8; ++n)
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        const uint4 &x = q[0][box][half], &y = q[1][box][half];
        const uint32_t row = first + n * 8 + threadIdx.x % 32 / 4;
        const uint4 k = words_at(shared.page[page.stage].weights, row * 128 + chunk_of_lane(half) * 16);
        mma_m16n8k16_bf16(s[n], x.x, y.x, x.y, y.y, k.x, k.y);
        mma_m16n8k16_bf16(s[n], x.z, y.z, x.w, y.w, k.z, k.w);
      }
  }
}

/// o += p · v, of both bf16 of p.
template <class S>
__device__ void add_token_values(const S& shared, Ring<S::kPages> page, uint32_t boxes, uint32_t first,
                                 const uint32_t (&high)[kTurn / 16][4], const uint32_t (&low)[kTurn / 16][4],
                                 float (&o)[2][8][4]) {
  const uint32_t lane = threadIdx.x % 32, row = first + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
  for (uint32_t box = 0; box < 2; ++box, page.advance()) {
    if (box == boxes) break;
    const uint32_t values = shared_address(shared.page[page.stage].weights);
#pragma unroll
    for (uint32_t t = 0; t < kTurn / 16; ++t)
#pragma unroll
      for (uint32_t j = 0; j < 4; ++j) {
        uint32_t v[4];
        ldmatrix_x4_trans(
            v, layout::swizzled(layout::Swizzle::b128, values + (row + t * 16) * 128 + (2 * j + lane / 16) * 16));
#pragma unroll
        for (uint32_t i = 0; i < 2; ++i) {
          float(&to)[4] = o[box][2 * j + i];
          mma_m16n8k16_bf16(to, high[t][0], high[t][1], high[t][2], high[t][3], v[2 * i], v[2 * i + 1]);
          mma_m16n8k16_bf16(to, low[t][0], low[t][1], low[t][2], low[t][3], v[2 * i], v[2 * i + 1]);
        }
      }
  }
}

/// Each warp has its own queries and goes through all keys that one of the task's may see: nothing is left to join.
template <class S>
__device__ void attend_tokens(const Arguments& args, const Task& task, S& shared, Ring<S::kPages>& at) {
  const uint32_t lane = threadIdx.x % 32, boxes = args.dim / 64;
  const uint32_t number = threadIdx.x % kEpilogue / 32 * 16 + lane / 4;
  const Query query[2] = {{args, task, number}, {args, task, number + 8}};
  uint4 q[2][2][2] = {};
#pragma unroll
  for (uint32_t i = 0; i < 8; ++i)
    if (i / 2 % 2 < boxes)
      q[i / 4][i / 2 % 2][i % 2] =
          *reinterpret_cast<const uint4*>(args.q + query[i / 4].at + i / 2 % 2 * 64 + chunk_of_lane(i % 2) * 8);
  const float scale = 1.44269504f * rsqrtf(float(args.dim));
  const uint32_t last = args.cache + task.row + task.rows - 1;  // nobody sees keys behind it

  // m is the largest score so far; what was made with a smaller one is multiplied with a factor.
  float m[2] = {-INFINITY, -INFINITY}, sum[2] = {}, o[2][8][4] = {};
  for (uint32_t page = 0, chunk = 0; page < task.pages; page += 2 * boxes, chunk += kTile) {
    wait_for_pages(shared, at, 2 * boxes);
    if (page == 0) note_first(args, task);
    Ring<S::kPages> values = at;
    for (uint32_t i = 0; i < boxes; ++i) values.advance();
#pragma unroll 1
    for (uint32_t first = 0; first < kTile && chunk + first <= last; first += kTurn) {
      float s[kTurn / 8][4] = {}, largest[2] = {m[0], m[1]};
      score_tokens(shared, at, boxes, first, q, s);
#pragma unroll
      for (uint32_t i = 0; i < kTurn / 2; ++i) {
        float& mine = s[i / 4][i % 4];
        const uint32_t key = chunk + first + i / 4 * 8 + lane % 4 * 2 + i % 2, row = i % 4 / 2;
        mine = key <= query[row].position ? mine * scale : -INFINITY;
        largest[row] = fmaxf(largest[row], mine);
      }
      float factor[2];
#pragma unroll
      for (uint32_t row = 0; row < 2; ++row) {
        largest[row] = fmaxf(largest[row], __shfl_xor_sync(0xffffffff, largest[row], 1));
        largest[row] = fmaxf(largest[row], __shfl_xor_sync(0xffffffff, largest[row], 2));
        factor[row] = exp2_sfu(m[row] - largest[row]);
        m[row] = largest[row];
        sum[row] *= factor[row];
      }
      uint32_t high[kTurn / 16][4], low[kTurn / 16][4];
#pragma unroll
      for (uint32_t n = 0; n < kTurn / 8; ++n)
#pragma unroll
        for (uint32_t row = 0; row < 2; ++row) {
          const float x = exp2_sfu(s[n][2 * row] - m[row]), y = exp2_sfu(s[n][2 * row + 1] - m[row]);
          sum[row] += x + y;
          split(x, y, high[n / 2][n % 2 * 2 + row], low[n / 2][n % 2 * 2 + row]);
        }
#pragma unroll
      for (uint32_t i = 0; i < 64; ++i) o[i / 32][i / 4 % 8][i % 4] *= factor[i % 4 / 2];
      add_token_values(shared, values, boxes, first, high, low, o);
    }
    give_pages(shared, at, 2 * boxes);
  }
  note_sum(args, task);

#pragma unroll
  for (uint32_t row = 0; row < 2; ++row) {
    sum[row] += __shfl_xor_sync(0xffffffff, sum[row], 1);
    sum[row] += __shfl_xor_sync(0xffffffff, sum[row], 2);
    if (!query[row].there) continue;
#pragma unroll
    for (uint32_t i = 0; i < 16; ++i)
      if (i / 8 < boxes)
        *reinterpret_cast<uint32_t*>(args.attended + query[row].at + i * 8 + lane % 4 * 2) =
            rounded(o[i / 8][i % 8][2 * row] / sum[row]) | uint32_t(rounded(o[i / 8][i % 8][2 * row + 1] / sum[row]))
                                                               << 16;
  }
}

}  // namespace megakernel::kernels
