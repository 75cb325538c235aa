// Attention: the heads that share a kv head of one sequence, over chunks of 128 keys of its cache.
//
// Each warp has a quarter of a chunk, and mma.sync multiplies: scores S[head][key] = q · Kᵀ, then O[head][d] += P · V.
// A chunk to each warp would be as much work; but the last one to land would then be a single warp's. An A has 16 rows
// for at most four heads. P is rounded to bf16, and what the rounding leaves goes along as another bf16 eight rows
// below: the two halves of O's fragment are added at the end. So P is good to 17 bits, and costs no more.
// Each warp has its own largest score. They meet when all chunks are done.
#pragma once
#include "chapters/16_megakernel/epilogue.cuh"
#include "chapters/16_megakernel/marks.cuh"
#include "common/ptx/ldmatrix.h"
#include "common/ptx/mma_sync.h"

namespace megakernel::kernels {

template <class S>
__device__ void wait_for_pages(S& shared, Ring<S::kPages> at, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i, at.advance()) wait_for_page(shared, at);
}

/// What the parts of a tile leave each other: of each a softmax without the division. For each head g the largest score
/// m and Σ 2^(s − m), then Σ 2^(s − m) · v. Plain floats, which an atomic says to be there; or marked words. Two at a
/// time.
template <bool Marked>
struct PartSums {
  using Two = std::conditional_t<Marked, uint4, float2>;
  const Arguments& args;
  uint32_t first, of_part, mark;

  __device__ PartSums(const Arguments& a, const Task& task)
      : args(a), first(task.scratch), of_part(a.group * (a.dim + 2)), mark((a.run + 1) & 0xffff) {}
  __device__ uint32_t at(uint32_t part, uint32_t i) const { return first + part * of_part + i; }
  __device__ void store(uint32_t part, uint32_t i, float2 two) const {
    if constexpr (Marked)
      word_store_x4(args.marked.sums + 2 * at(part, i), marked_halves(two, mark));
    else
      *reinterpret_cast<float2*>(args.scratch + at(part, i)) = two;
  }
  __device__ Two read(uint32_t part, uint32_t i) const {
    if constexpr (Marked)
      return word_read_x4(args.marked.sums + 2 * at(part, i));
    else
      return *reinterpret_cast<const float2*>(args.scratch + at(part, i));
  }
  __device__ bool there(const Two& two) const {
    if constexpr (Marked) return are_marked(two, mark);
    return true;
  }
  __device__ float2 value(const Two& two) const {
    if constexpr (Marked)
      return wholes_of(two);
    else
      return two;
  }
};

/// The head of number i of what the task's heads make; a head has 64 or 128 numbers.
__device__ inline uint32_t head_of(const Arguments& args, uint32_t i) { return i >> (5 + args.dim / 64); }

/// Where the newest key is, which a qkv tile has just appended.
__device__ inline size_t newest_key(const Arguments& args, const Task& task) {
  const size_t head = size_t(task.layer) * args.batch * args.kv_heads + task.tile;
  return (head * (args.cache + 1) + args.cache) * args.dim;
}

/// And where it is among marked words.
__device__ inline size_t newest_marked(const Arguments& args, const Task& task) {
  return (size_t(task.layer) * args.batch * args.kv_heads + task.tile) * args.dim;
}

/// The first head of the task's sequence in q and a.
__device__ inline size_t first_head(const Arguments& args, const Task& task) {
  const size_t row = size_t(task.layer) * args.batch + task.tile / args.kv_heads;
  return (row * args.heads + task.tile % args.kv_heads * args.group) * args.dim;
}

/// Numbers i and i + 1 of what the task's heads make.
template <class S>
__device__ void store_attended(const Arguments& args, const Task& task, uint32_t i, float x, float y) {
  const size_t at = first_head(args, task) + i;
  const uint32_t low = rounded(x), high = rounded(y);
  *reinterpret_cast<uint32_t*>(args.attended + at) = low | high << 16;
  if constexpr (S::kMarked) {
    const uint32_t mark = mark_of(args);
    word_store_x2(args.marked.attended + at, {low << 16 | mark, high << 16 | mark});
  }
}

/// Adds the chunks of all parts up, and the newest key. A lane has a part's largest score and sum, a thread two numbers
/// of o at a time. The loads of several parts are on their way together, until all that they bring is marked. The code
/// is short: it runs once a layer, and other code has put it out of the instruction cache.
template <class S>
__device__ void join_chunks(const Arguments& args, const Task& task, const S& shared, float2 newest_value) {
  constexpr uint32_t kAtOnce = 4;
  const uint32_t thread = threadIdx.x % kEpilogue, lane = thread % 32, last = task.parts - 1;
  const PartSums<S::kMarkedSums> sums(args, task);
  typename PartSums<S::kMarkedSums>::Two head, got[kAtOnce];
#pragma unroll 1
  for (uint32_t i = 2 * thread; i < args.group * args.dim; i += 2 * kEpilogue) {
    const uint32_t g = head_of(args, i);  // the same of all lanes
    float2 o = {};
    float factor = 0, sum = 0;
#pragma unroll 1
    for (uint32_t first = 0; first <= last; first += kAtOnce) {
      bool there;
      do {
        head = sums.read(min(lane, last), 2 * g);
#pragma unroll
        for (uint32_t p = 0; p < kAtOnce; ++p) got[p] = sums.read(min(first + p, last), 2 * args.group + i);
        there = sums.there(head);
#pragma unroll
        for (uint32_t p = 0; p < kAtOnce; ++p) there &= sums.there(got[p]);
      } while (!there);
      __syncwarp();
      if (first == 0) {
        const float newest = shared.newest[g];
        const float2 mine = sums.value(head);  // largest score, sum
        const float largest = fmaxf(warp_max(mine.x), newest), of_newest = exp2_sfu(newest - largest);
        factor = lane <= last ? exp2_sfu(mine.x - largest) : 0;
        sum = warp_sum(factor * mine.y) + of_newest;
        o = {of_newest * newest_value.x, of_newest * newest_value.y};
      }
#pragma unroll
      for (uint32_t p = 0; p < kAtOnce; ++p) {
        const float of_part = __shfl_sync(0xffffffff, factor, first + p);
        const float2 two = sums.value(got[p]);
        o = {fmaf(of_part, two.x, o.x), fmaf(of_part, two.y, o.y)};
      }
    }
    store_attended<S>(args, task, i, o.x / sum, o.y / sum);
  }
}

/// 16 bytes of rows of 128 bytes, as TMA leaves them.
__device__ inline uint4 words_at(const uint8_t* rows, uint32_t offset) {
  return *reinterpret_cast<const uint4*>(rows + layout::swizzled(layout::Swizzle::b128, offset));
}

/// In a dot product the order along K is free. Lane 4r + c takes 16 bytes at a time: chunks 2c and 2c + 1 of each row
/// of 128 bytes, so that eight neighbouring lanes, of two rows, meet all banks once.
__device__ inline uint32_t chunk_of_lane(uint32_t half) { return threadIdx.x % 4 * 2 + half; }

constexpr uint32_t kKeys = kTile / kWarps;  // of a chunk, of a warp
/// The warp's first key of a chunk.
__device__ inline uint32_t key_of_warp() { return threadIdx.x % kEpilogue / 32 * kKeys; }

/// Scores of the warp's keys of a chunk: s[n] of keys 8n + 2c and 8n + 2c + 1, of the head of the lane's row. `page`:
/// the first of its boxes of 64 columns.
template <class S>
__device__ void score(const S& shared, Ring<S::kPages> page, uint32_t boxes, const uint4 (&q)[2][2],
                      float (&s)[kKeys / 8][2]) {
  const uint32_t row = key_of_warp() + threadIdx.x % 32 / 4;
#pragma unroll
  for (uint32_t box = 0; box < 2; ++box, page.advance()) {
    if (box == boxes) break;
#pragma unroll
    for (uint32_t n = 0; n < kKeys / 8; ++n) {
      float d[4] = {s[n][0], s[n][1]};  // rows 8 to 15 of q are zeros
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        const uint4 k = words_at(shared.page[page.stage].weights, (row + n * 8) * 128 + chunk_of_lane(half) * 16);
        mma_m16n8k16_bf16(d, q[box][half].x, 0, q[box][half].y, 0, k.x, k.y);
        mma_m16n8k16_bf16(d, q[box][half].z, 0, q[box][half].w, 0, k.z, k.w);
      }
      s[n][0] = d[0];
      s[n][1] = d[1];
    }
  }
}

/// o += p · v.
template <class S>
__device__ void add_values(const S& shared, Ring<S::kPages> page, uint32_t boxes, const uint32_t (&p)[kKeys / 16][4],
                           float (&o)[2][8][4]) {
  const uint32_t lane = threadIdx.x % 32, row = key_of_warp() + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
  for (uint32_t box = 0; box < 2; ++box, page.advance()) {
    if (box == boxes) break;
    const uint32_t values = shared_address(shared.page[page.stage].weights);
#pragma unroll
    for (uint32_t t = 0; t < kKeys / 16; ++t)  // 16 keys at a time
#pragma unroll
      for (uint32_t j = 0; j < 4; ++j) {
        uint32_t v[4];
        ldmatrix_x4_trans(
            v, layout::swizzled(layout::Swizzle::b128, values + (row + t * 16) * 128 + (2 * j + lane / 16) * 16));
        mma_m16n8k16_bf16(o[box][2 * j], p[t][0], p[t][1], p[t][2], p[t][3], v[0], v[1]);
        mma_m16n8k16_bf16(o[box][2 * j + 1], p[t][0], p[t][1], p[t][2], p[t][3], v[2], v[3]);
      }
  }
}

/// Two numbers as bf16, and what that leaves of them as bf16.
__device__ inline void split(float x, float y, uint32_t& high, uint32_t& low) {
  high = rounded(x) | uint32_t(rounded(y)) << 16;
  const float2 there = numbers(high);
  low = rounded(x - there.x) | uint32_t(rounded(y - there.y)) << 16;
}

/// q · the newest key, of the lane's row.
__device__ inline float score_of_newest(const uint4 (&q)[2][2], const uint4 (&key)[2][2]) {
  float s = 0;
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
    for (uint32_t w = 0; w < 4; ++w) {
      const float2 x = numbers((&q[i / 2][i % 2].x)[w]), k = numbers((&key[i / 2][i % 2].x)[w]);
      s = fmaf(x.x, k.x, fmaf(x.y, k.y, s));
    }
  s += __shfl_xor_sync(0xffffffff, s, 1);
  return s + __shfl_xor_sync(0xffffffff, s, 2);
}

/// The four warps' sums become the task's: those of its part, or a, if no other task has a part.
template <class S>
__device__ void join_warps(const Arguments& args, const Task& task, const S& shared, float2 newest_value) {
  const PartSums<S::kMarkedSums> sums(args, task);
#pragma unroll 1  // as join_chunks
  for (uint32_t i = threadIdx.x % kEpilogue * 2; i < args.group * args.dim; i += 2 * kEpilogue) {
    const uint32_t g = head_of(args, i), d = i % args.dim;
    float m = shared.newest[g], sum = 0;
    float2 o = {};
#pragma unroll
    for (uint32_t w = 0; w < 4; ++w) m = fmaxf(m, shared.of_warp[w][g].x);
#pragma unroll
    for (uint32_t w = 0; w < 4; ++w) {
      const float factor = exp2_sfu(shared.of_warp[w][g].x - m);
      const float2 mine = *reinterpret_cast<const float2*>(&shared.o[w][g][d]);
      sum = fmaf(factor, shared.of_warp[w][g].y, sum);
      o = {fmaf(factor, mine.x, o.x), fmaf(factor, mine.y, o.y)};
    }
    if (task.parts == 1) {
      const float of_newest = exp2_sfu(shared.newest[g] - m);
      sum += of_newest;
      store_attended<S>(args, task, i, fmaf(of_newest, newest_value.x, o.x) / sum,
                        fmaf(of_newest, newest_value.y, o.y) / sum);
    } else {
      sums.store(task.part, 2 * args.group + i, o);
      if (d == 0) sums.store(task.part, 2 * g, {m, sum});
    }
  }
}

/// q and the newest key, of the lane's head, and two numbers of the newest value: `boxes` of 64 columns.
__device__ inline void load_heads(const Arguments& args, const Task& task, uint32_t boxes, uint32_t head,
                                  uint4 (&q)[2][2], uint4 (&key)[2][2], float2& value) {
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) {
    if (i / 2 >= boxes) continue;
    const uint32_t column = i / 2 * 64 + chunk_of_lane(i % 2) * 8;
    q[i / 2][i % 2] = *reinterpret_cast<const uint4*>(args.q + first_head(args, task) + head * args.dim + column);
    key[i / 2][i % 2] = *reinterpret_cast<const uint4*>(args.key_cache + newest_key(args, task) + column);
  }
  value = numbers(
      *reinterpret_cast<const uint32_t*>(args.value_cache + newest_key(args, task) + 2 * threadIdx.x % args.dim));
}

/// The same of marked words. All are asked for before any is looked at.
__device__ inline void load_marked_heads(const Arguments& args, const Task& task, uint32_t boxes, uint32_t head,
                                         uint4 (&q)[2][2], uint4 (&key)[2][2], float2& value) {
  const uint32_t mark = mark_of(args);
  const uint32_t* const queries = args.marked.q + first_head(args, task) + head * args.dim;
  const uint32_t* const keys = args.marked.keys + newest_marked(args, task);
  const uint32_t* const values = args.marked.values + newest_marked(args, task) + 2 * threadIdx.x % args.dim;
  MarkedEight of_q[4], of_key[4];
  uint2 words;
  for (bool all = false; !all;) {
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      if (i / 2 >= boxes) continue;
      const uint32_t column = i / 2 * 64 + chunk_of_lane(i % 2) * 8;
      of_q[i].load(queries + column);
      of_key[i].load(keys + column);
    }
    words = word_read_x2(values);
    all = ((words.x ^ mark | words.y ^ mark) & 0xffff) == 0;
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i)
      if (i / 2 < boxes) all &= of_q[i].there(mark) && of_key[i].there(mark);
  }
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) {
    if (i / 2 >= boxes) continue;
    q[i / 2][i % 2] = of_q[i].numbers();
    key[i / 2][i % 2] = of_key[i].numbers();
  }
  value = numbers(__byte_perm(words.x, words.y, 0x7632));
}

/// True: no other task has a part of the tile that is missing, and a is there.
template <class S>
__device__ bool attend(const Arguments& args, const Task& task, S& shared, Ring<S::kPages>& at) {
  const uint32_t warp = threadIdx.x % kEpilogue / 32, lane = threadIdx.x % 32, boxes = args.dim / 64;
  const uint32_t row = lane / 4;  // of fragments: the head
  uint4 q[2][2] = {}, key[2][2] = {};
  float2 newest_value;
  if constexpr (S::kMarked)
    load_marked_heads(args, task, row < args.group ? boxes : 0, row, q, key, newest_value);
  else
    load_heads(args, task, row < args.group ? boxes : 0, row, q, key, newest_value);
  const float scale = 1.44269504f * rsqrtf(float(args.dim)), newest = score_of_newest(q, key) * scale;

  // Chunk by chunk: m is the largest score so far; what was made with a smaller one is multiplied with a factor.
  float m = newest, sum = 0, o[2][8][4] = {};
  for (uint32_t page = 0; page < task.pages; page += 2 * boxes) {
    const uint32_t chunk = page / (2 * boxes);
    // All of the keys, then all of the values: a ring may have no more pages than that.
    wait_for_pages(shared, at, boxes);
    if (chunk == 0) note_first(args, task);
    float s[kKeys / 8][2] = {}, largest = m;
    score(shared, at, boxes, q, s);
    for (uint32_t i = 0; i < boxes; ++i) give_page(shared, at);
    const uint32_t first = (task.first + chunk) * kTile + key_of_warp() + lane % 4 * 2;
#pragma unroll
    for (uint32_t i = 0; i < kKeys / 4; ++i) {
      float& mine = s[i / 2][i % 2];
      mine = first + i / 2 * 8 + i % 2 < args.cache ? mine * scale : -INFINITY;
      largest = fmaxf(largest, mine);
    }
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
    const float factor = exp2_sfu(m - largest);
    m = largest;
    sum *= factor;
    uint32_t p[kKeys / 16][4];
#pragma unroll
    for (uint32_t n = 0; n < kKeys / 8; ++n) {
      const float x = exp2_sfu(s[n][0] - m), y = exp2_sfu(s[n][1] - m);
      sum += x + y;
      split(x, y, p[n / 2][n % 2 * 2], p[n / 2][n % 2 * 2 + 1]);
    }
#pragma unroll
    for (uint32_t i = 0; i < 64; ++i) o[i / 32][i / 4 % 8][i % 4] *= factor;
    wait_for_pages(shared, at, boxes);
    add_values(shared, at, boxes, p, o);
    for (uint32_t i = 0; i < boxes; ++i) give_page(shared, at);
  }
  note_sum(args, task);

  meet();  // the task before has read what the warps leave here
  sum += __shfl_xor_sync(0xffffffff, sum, 1);
  sum += __shfl_xor_sync(0xffffffff, sum, 2);
  if (row < args.group) {
#pragma unroll
    for (uint32_t i = 0; i < 16; ++i) {
      const float* const mine = o[i / 8][i % 8];
      if (i / 8 < boxes)
        *reinterpret_cast<float2*>(&shared.o[warp][row][i * 8 + lane % 4 * 2]) = {mine[0] + mine[2], mine[1] + mine[3]};
    }
    if (lane % 4 == 0) shared.of_warp[warp][row] = {m, sum};
    if (lane % 4 == 0 && warp == 0) shared.newest[row] = newest;
  }
  meet();
  join_warps(args, task, shared, newest_value);
  if (task.parts == 1) return true;
  if constexpr (S::kMarkedSums) {
    // The last one in program order, which stands behind the others in all lists, waits for their words.
    if (task.part + 1 < task.parts) {
      if (args.ran && threadIdx.x % kEpilogue == 0)
        args.ran[task.number].stored = args.ran[task.number].end = nanoseconds();
      return false;
    }
  } else if (!last_part(args, task, shared)) {
    return false;
  }
  join_chunks(args, task, shared, newest_value);
  return true;
}

}  // namespace megakernel::kernels
