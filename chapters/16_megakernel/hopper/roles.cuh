// The kernel that all steps share on Hopper, and what its epilogue does beside attention: it multiplies, too.
//
//   warps 0–3 epilogue: pages → sums in registers → memory; warp 4 controller, warp 5 loader, warp 6 inputs, warp 7
//   raiser
//
// The raiser raises counters. A red.release waits until all stores of the task are where the chip sees them, a
// microsecond and more while weights stream. The epilogue multiplies meanwhile. In step 7 nothing is left for a raiser:
// warps 6 and 7 both load inputs.
//
// Up to 8 sequences, a task has 16 rows of weights and all of K. So no two tasks share a tile, and a projection is one
// hand-over: no sums in scratch memory, nobody who waits for other parts. wgmma would want 64 rows: 32 tiles of Wout
// for 132 SMs. mma.sync has 16. Memory brings an SM 18 bytes of weights a cycle, of which it multiplies 512 in two. A
// page is 16 rows × 512 columns, as eight blocks of 64 columns that lie behind each other. A warp has two blocks of
// each, and the sums of four warps are added in shared memory at the end. A norm is no task. n = x · gain · factor: the
// warps multiply x with gain as they read it, and add up its squares. The factor comes to the sums at the end.
//
// With more sequences, inputs are what counts: a page of 16 rows would want more bytes of them than of weights. There a
// task has 64 rows, wgmma multiplies them, several tasks share a tile as on Blackwell, and norms are tasks.
#pragma once
#include <type_traits>

#include "chapters/16_megakernel/attention.cuh"
#include "chapters/16_megakernel/hopper/prefill.cuh"
#include "chapters/16_megakernel/hopper/sizes.h"
#include "chapters/16_megakernel/hopper/wgmma_tile.cuh"
#include "chapters/16_megakernel/loads.cuh"
#include "common/ptx/bulk_tensor_4d.h"
#include "common/ptx/wgmma.h"

namespace megakernel::kernels {

constexpr uint32_t kThreads = 256;

/// Blocks of 64 columns: of weights (or keys, or values), and of `N` rows of inputs. Rows of 128 bytes, swizzled.
template <uint32_t N>
struct Page {
  static constexpr bool kWide = is_wide(N);
  static constexpr uint32_t kRows = tile_rows(N), kBlocks = page_blocks(N);
  static constexpr uint32_t kGainBytes = kWide ? 0 : kBlocks * 128;
  uint8_t weights[kBlocks * kRows * 128];
  uint8_t inputs[kBlocks * N * 128 + kGainBytes];  // and a norm's gains

  __device__ uint8_t* gains() { return inputs + kBlocks * N * 128; }
  __device__ const uint8_t* gains() const { return inputs + kBlocks * N * 128; }
};
template <uint32_t N, uint32_t Pages>
struct PageRing {
  Page<N> page[Pages];
};

/// Is what it multiplies with made of x by a norm?
constexpr bool is_normed(Op op) { return op == Op::qkv || op == Op::gate_up; }

/// Where the warps leave their sums, by turns.
struct NarrowSums {
  float sums[2][kWarps][2][8][16];  // of even and odd pages: of gate_up gate's and up's
  float squares[2][kWarps][8];
};
struct NoSums {};
template <uint32_t N>
using SumsOf = std::conditional_t<is_prefill(N), TokenSums, std::conditional_t<is_wide(N), NoSums, NarrowSums>>;

/// A task's end: what the raiser is to raise.
struct Signal {
  static constexpr uint32_t kNothing = ~0u,
                            kEnd = ~0u - 1;  // other parts of the tile are missing; there are no more tasks
  uint64_t stored;                           // all warps have stored
  uint64_t read;                             // the raiser has read these:
  uint32_t counter, task;
  uint64_t quiet;
};
constexpr uint32_t kSignals = 4;

template <uint32_t N, uint32_t Pages, uint32_t Slots = 4, bool Marked = false, bool MarkedSums = Marked,
          bool Logs = false>
struct Shared : PageRing<N, Pages>, Meeting<Pages, Slots>, SumsOf<N> {
  static constexpr uint32_t kN = N;
  static constexpr bool kLogs = Logs;      // its warps log the tasks that they take
  static constexpr bool kMarked = Marked;  // tasks hand each other marked words
  static constexpr uint32_t kInputWarps = Marked ? 2 : 1;
  static constexpr bool kMarkedSums = MarkedSums;               // and the parts of an attention do
  static constexpr uint32_t kInFlight = Pages < 3 ? Pages : 3;  // 48 KiB an SM: what memory brings in 1.4 microseconds
  // Nothing is handed over in the middle of a long task. Where words bring marks, they wait behind these loads, too.
  static constexpr uint32_t kSteadyInFlight = Marked || Pages < 11 ? kInFlight : 5;
  // Attention hands nothing over before its last page.
  static constexpr uint32_t kAttendInFlight = is_wide(N) ? Pages : kInFlight;
  static constexpr uint32_t kAhead = is_wide(N) ? 0 : 8, kPace = 1400;
  static constexpr bool kPairs = Pages >= 8;  // two pages are multiplied at a time; a small ring would wait
  static constexpr bool kQuiet = !Marked;     // a marked word waits for no load
  static constexpr bool kByPage = !is_wide(N);
  Signal signal[kSignals];
  using P = Page<N>;

  /// Of gate_up, even pages are gate's and odd ones up's.
  static __device__ uint32_t block_of(const Task& task, uint32_t page) {
    return (task.first + (task.op == Op::gate_up ? page / 2 : page)) * P::kBlocks;
  }
  static __device__ uint32_t columns_of(const Task& task, uint32_t pages) {
    return (block_of(task, pages - 1) + P::kBlocks) * kBlock;
  }
  /// Is it multiplied with the inputs of the page before it? Up's are gate's.
  static __device__ bool has_those_before(const Task& task, uint32_t page) {
    return !P::kWide && kPairs && task.op == Op::gate_up && page % 2;
  }
  /// The first row of a page's weights: of gate_up, up's lie behind gate's.
  static __device__ uint32_t row_of(const Arguments& args, const Task& task, uint32_t page) {
    return task.tile * P::kRows + (task.op == Op::gate_up ? page % 2 * args.intermediate : 0);
  }
  static __device__ void load_weights(const Arguments& args, const Task& task, uint32_t page, P& to, uint32_t full) {
    if constexpr (is_prefill(N)) {
      mbarrier_arrive_expect_tx(full, sizeof(to.weights));
      for (uint32_t half = 0; half < 2; ++half)
        tensor_load_3d(shared_address(to.weights + half * sizeof(to.weights) / 2), &args.weights[weights_of(task.op)],
                       (task.first + page) * kBlock, weights_row(args, task, half), task.layer, full);
      return;
    }
    const bool gains = !P::kWide && is_normed(task.op) && !has_those_before(task, page);
    mbarrier_arrive_expect_tx(full, sizeof(to.weights) + (gains ? P::kGainBytes : 0));
    tensor_load_4d(shared_address(to.weights), &args.weights[weights_of(task.op)], 0, row_of(args, task, page),
                   block_of(task, page), task.layer, full);
    if (gains) tensor_load_4d(shared_address(to.gains()), &args.gain_map, 0, task.half, block_of(task, page), 0, full);
  }
  static __device__ void prefetch_weights(const Arguments& args, const Task& task, uint32_t page) {
    tensor_prefetch_4d(&args.weights[weights_of(task.op)], 0, row_of(args, task, page), block_of(task, page),
                       task.layer);
  }
  static __device__ void load_inputs(const Arguments& args, const Task& task, uint32_t page, P& to, uint32_t full) {
    if (has_those_before(task, page)) {
      mbarrier_arrive(full);
      return;
    }
    if constexpr (is_prefill(N)) {
      mbarrier_arrive_expect_tx(full, sizeof(to.inputs));
      tensor_load_3d(shared_address(to.inputs), &args.inputs[weights_of(task.op)], (task.first + page) * kBlock,
                     task.row, is_normed(task.op) ? task.half : task.layer, full);
      return;
    }
    mbarrier_arrive_expect_tx(full, P::kBlocks * N * 128);
    tensor_load_4d(shared_address(to.inputs), &args.inputs[weights_of(task.op)], 0, 0, block_of(task, page),
                   is_normed(task.op) ? task.half : task.layer, full);
  }
};

// ---- Up to 8 sequences: mma.sync

/// What a warp has of pages, and where in each: two of its eight blocks of 64 columns. A lane's chunks of 16 bytes are
/// those of rows r and r + 8 of A and of row r of the batch, so that A and B agree. What the swizzle makes of them is
/// the same in every page.
template <uint32_t N>
struct OfWarp {
  using P = Page<N>;
  static constexpr uint32_t kBlocks = P::kBlocks / kWarps;
  uint32_t weights[2];                             // of each half of a block's 128 bytes: row r
  uint32_t inputs[kBlocks][2], gains[kBlocks][2];  // of each block, too

  __device__ OfWarp() {
    const uint32_t warp = threadIdx.x / 32, r = threadIdx.x % 32 / 4;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t chunk = chunk_of_lane(half) * 16;
      weights[half] = layout::swizzled(layout::Swizzle::b128, r * 128 + chunk) + warp * kBlocks * P::kRows * 128;
#pragma unroll
      for (uint32_t i = 0; i < kBlocks; ++i) {
        const uint32_t block = warp * kBlocks + i;
        inputs[i][half] = layout::swizzled(layout::Swizzle::b128, (block * N + (N == 1 ? 0 : r)) * 128 + chunk);
        gains[i][half] = layout::swizzled(layout::Swizzle::b128, block * 128 + chunk);
      }
    }
  }
};

__device__ inline uint4 vector_at(const uint8_t* from) { return *reinterpret_cast<const uint4*>(from); }

/// Two numbers of x times two gains.
__device__ inline uint32_t times_gain(uint32_t x, uint32_t gain) {
  const __nv_bfloat162 product =
      __hmul2(*reinterpret_cast<const __nv_bfloat162*>(&x), *reinterpret_cast<const __nv_bfloat162*>(&gain));
  return *reinterpret_cast<const uint32_t*>(&product);
}

/// Sums of a warp, in four places so that few mma wait for the one before.
using Places = float[4][4];

/// One sequence has no use for B's other columns, so they have other parts of K: even columns words x and z of a lane's
/// 16 bytes of inputs, odd ones y and w. Then 16 bytes of a row of weights are an A as they are loaded, where ptxas
/// would have to move eight registers for two of them. Of A, row r is words x and z of the row of weights and row r + 8
/// is y and w; the row's sum is D[r][even] + D[r + 8][odd], which a lane has both.
__device__ inline uint2 columns_of_one(const uint4& x) {
  const bool odd = threadIdx.x % 8 / 4;
  return {odd ? x.y : x.x, odd ? x.w : x.z};
}

/// The warp's part of a page. `inputs`: the page whose inputs and gains it is multiplied with. kNormed: x · gain is
/// what it multiplies with. kSquares: adds x · x up, too. As A has the same rows as B has columns, row and column b
/// give the squares of sequence b (N == 1: all of them do).
template <uint32_t N, bool kNormed, bool kSquares>
__device__ void multiply_page(const Page<N>& page, const Page<N>& inputs, const OfWarp<N>& of, Places& d,
                              Places& squares) {
  using P = Page<N>;
#pragma unroll
  for (uint32_t i = 0; i < OfWarp<N>::kBlocks; ++i)
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const uint8_t* const rows = page.weights + of.weights[half] + i * P::kRows * 128;
      const uint4 top = vector_at(rows), bottom = vector_at(rows + 8 * 128);
      uint4 x = vector_at(inputs.inputs + of.inputs[i][half]);
      float(&first)[4] = d[i % 2 * 2], (&second)[4] = d[i % 2 * 2 + 1];
      if constexpr (N == 1 && kSquares) {
        const uint2 b = columns_of_one(x);
        mma_m16n8k16_bf16(squares[i % 2 * 2 + half], x.x, x.y, x.z, x.w, b.x, b.y);
      } else if constexpr (kSquares) {
        mma_m16n8k16_bf16(squares[i % 2 * 2], x.x, 0, x.y, 0, x.x, x.y);
        mma_m16n8k16_bf16(squares[i % 2 * 2 + 1], x.z, 0, x.w, 0, x.z, x.w);
      }
      if constexpr (kNormed) {
        const uint4 gain = vector_at(inputs.gains() + of.gains[i][half]);
        x = {times_gain(x.x, gain.x), times_gain(x.y, gain.y), times_gain(x.z, gain.z), times_gain(x.w, gain.w)};
      }
      if constexpr (N == 1) {
        const uint2 b = columns_of_one(x);
        mma_m16n8k16_bf16(first, top.x, top.y, top.z, top.w, b.x, b.y);
        mma_m16n8k16_bf16(second, bottom.x, bottom.y, bottom.z, bottom.w, b.x, b.y);
      } else {
        mma_m16n8k16_bf16(first, top.x, bottom.x, top.y, bottom.y, x.x, x.y);
        mma_m16n8k16_bf16(second, top.z, bottom.z, top.w, bottom.w, x.z, x.w);
      }
    }
}

/// Their sum: number i of a lane's four of D.
template <uint32_t N>
__device__ float whole_sum(const Places& d, uint32_t i) {
  if constexpr (N == 1) {
    const uint32_t bottom = i / 2;
    return d[bottom][0] + d[bottom][3] + (d[2 + bottom][0] + d[2 + bottom][3]);
  } else {
    return d[0][i] + d[1][i] + (d[2][i] + d[3][i]);
  }
}

/// The same of x · x. Of one sequence, all four places have a part of it.
template <uint32_t N>
__device__ float whole_square(const Places& d, uint32_t i) {
  if constexpr (N == 1) {
    return whole_sum<N>(d, 0) + whole_sum<N>(d, 2);
  } else {
    return whole_sum<N>(d, i);
  }
}

/// A pair of pages, or the last one alone. Loads of both are on their way together.
template <uint32_t N, bool kNormed>
__device__ void multiply_pair(bool two, const Page<N>& even, const Page<N>& odd, const OfWarp<N>& of, Places (&d)[2],
                              Places& squares) {
  if (two) {
    multiply_page<N, kNormed, kNormed>(even, even, of, d[0], squares);
    multiply_page<N, kNormed, kNormed>(odd, odd, of, d[1], squares);
  } else {
    multiply_page<N, kNormed, kNormed>(even, even, of, d[0], squares);
  }
}

/// A page alone, whose number is even or odd.
template <uint32_t N>
__device__ void multiply_alone(Op op, bool odd, const Page<N>& page, const OfWarp<N>& of, Places (&d)[2],
                               Places& squares) {
  if (op == Op::gate_up && odd)
    multiply_page<N, true, false>(page, page, of, d[1], squares);
  else if (is_normed(op) && odd)
    multiply_page<N, true, true>(page, page, of, d[1], squares);
  else if (is_normed(op))
    multiply_page<N, true, true>(page, page, of, d[0], squares);
  else if (odd)
    multiply_page<N, false, false>(page, page, of, d[1], squares);
  else
    multiply_page<N, false, false>(page, page, of, d[0], squares);
}

/// The same of any operation, from page `page` on. gate_up's pairs have the same inputs: the first one's.
template <uint32_t N, bool kPairs>
__device__ void multiply_pages(Op op, uint32_t page, bool two, const Page<N>& even, const Page<N>& odd,
                               const OfWarp<N>& of, Places (&d)[2], Places& squares) {
  if constexpr (!kPairs) {
    multiply_alone(op, page % 2, even, of, d, squares);
  } else if (op == Op::gate_up) {
    multiply_page<N, true, true>(even, even, of, d[0], squares);
    multiply_page<N, true, false>(odd, even, of, d[1], squares);
  } else if (op == Op::qkv) {
    multiply_pair<N, true>(two, even, odd, of, d, squares);
  } else {
    multiply_pair<N, false>(two, even, odd, of, d, squares);
  }
}

/// As Beside, where a task's inputs are marked words: the x that its sums are added to, and where its words go.
struct MarkedBeside {
  QkvRow place;
  uint16_t x[1];
  uint32_t* to;

  __device__ MarkedBeside(const Arguments& args, const Task& task, uint32_t row, uint32_t b, uint32_t) {
    if (b >= args.batch) return;
    if (task.op == Op::qkv) {
      place = QkvRow(args, task.layer, row);
      const uint32_t of_head = (args.group + 2) * args.dim, kv_head = row / of_head, head = row % of_head / args.dim;
      const uint32_t i = row % args.dim;
      to = head < args.group
               ? args.marked.q + ((task.layer * args.kv_heads + kv_head) * args.group + head) * args.dim + i
               : (head == args.group ? args.marked.keys : args.marked.values) +
                     (task.layer * args.kv_heads + kv_head) * args.dim + i;
    } else if (task.op == Op::gate_up) {
      to = args.marked.gated + task.layer * args.intermediate + row;
    } else {
      const size_t from = size_t(task.half) * args.hidden + row;
      to = args.marked.residual + from + args.hidden;
      x[0] = task.half ? marked_number(args.marked.residual + from, mark_of(args)) : args.residual[from];
    }
  }
};

/// Adds the warps' sums up, and stores the tile: a thread has a number of it.
template <class S, class Aside>
__device__ void store_tile(const Arguments& args, const Task& task, const S& shared, uint32_t turn,
                           const Aside& beside) {
  const uint32_t row = threadIdx.x % 16, b = threadIdx.x / 16, column = task.tile * 16 + row;
  float sum[2] = {}, squares = 0, factor = 1;
#pragma unroll
  for (uint32_t w = 0; w < kWarps; ++w) {
    sum[0] += shared.sums[turn][w][0][b][row];
    sum[1] += shared.sums[turn][w][1][b][row];
    squares += shared.squares[turn][w][b];
  }
  if (is_normed(task.op)) factor = rsqrtf(squares / float(args.hidden) + kEpsilon);
  const float mine = (task.op == Op::gate_up ? sum[0] : sum[0] + sum[1]) * factor, up = sum[1] * factor;
  const float other = __shfl_xor_sync(0xffffffff, mine, 1);
  if (b >= args.batch) return;
  uint16_t* to;
  uint16_t made;
  if (task.op == Op::qkv) {
    to = beside.place.to + b * beside.place.stride;
    made = rounded(mine * beside.place.turn.x + other * beside.place.turn.y);
  } else if (task.op == Op::gate_up) {
    to = args.gated + (size_t(task.layer) * args.batch + b) * args.intermediate + column;
    made = rounded(mine / (1 + __expf(-mine)) * up);
  } else {
    to = args.residual + (size_t(task.half + 1) * args.batch + b) * args.hidden + column;
    made = rounded(number(beside.x[0]) + mine);
  }
  if constexpr (S::kMarked) store_marked(beside.to, made, mark_of(args));
  *to = made;
}

/// `turn`: 0 and 1 by turns, so that the next task's sums do not meet these.
template <class S>
__device__ void project_narrow(const Arguments& args, const Task& task, S& shared, Ring<S::kPages>& at, uint32_t turn) {
  constexpr uint32_t kN = S::kN;
  const uint32_t warp = threadIdx.x / 32, r = threadIdx.x % 32 / 4, c = threadIdx.x % 4;
  using Aside = std::conditional_t<S::kMarked, MarkedBeside, Beside<1>>;
  const Aside beside(args, task, task.tile * 16 + threadIdx.x % 16, threadIdx.x / 16, 0);
  const OfWarp<kN> of;
  Places d[2] = {}, squares = {};
  for (uint32_t page = 0; page < task.pages; page += S::kPairs ? 2 : 1) {
    const bool two = S::kPairs && page + 1 < task.pages;
    Ring<S::kPages> next = at;
    next.advance();
    if (two)
      wait_for_two_pages(shared, at, next);
    else
      wait_for_page(shared, at);
    if (page == 0) note_first(args, task);
    multiply_pages<kN, S::kPairs>(task.op, page, two, shared.page[at.stage], shared.page[next.stage], of, d, squares);
    give_pages(shared, at, two ? 2 : 1);
  }

  const float two[2] = {whole_square<kN>(squares, 0), whole_square<kN>(squares, 1)};
  if (c == r / 2) shared.squares[turn][warp][r] = two[r % 2];
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half)
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i)
      shared.sums[turn][warp][half][c * 2 + i % 2][r + i / 2 * 8] = whole_sum<kN>(d[half], i);
  meet();
  note_sum(args, task);
  store_tile(args, task, shared, turn, beside);
}

// ---- More sequences: wgmma, tiles of 64 rows, whose parts meet

template <uint32_t N>
__device__ void multiply_wide(const Page<N>& page, float (&d)[N / 2], bool first) {
  using P = Page<N>;
  const uint64_t a = operand_at(page.weights), b = operand_at(page.inputs);
  wgmma_fence();
#pragma unroll
  for (uint32_t block = 0; block < P::kBlocks; ++block)
#pragma unroll
    for (uint32_t along = 0; along < 128; along += 32)  // 16 elements at a time
      wgmma_m64k16<int(N), WgmmaType::bf16>(d, a + ((block * P::kRows * 128 + along) >> 4),
                                            b + ((block * N * 128 + along) >> 4), !first || block > 0 || along > 0);
  wgmma_commit_group();
  wgmma_wait_group<0>();
#pragma unroll
  for (float& x : d) wgmma_pin(x);
}

/// Stores a tile that no other task has a part of, from registers.
template <uint32_t N>
__device__ void store_wide(const Arguments& args, const Task& task, const float (&d)[2][N / 2]) {
  const uint32_t first = task.tile * Page<N>::kRows;
  if (task.op == Op::qkv) {
    const QkvRow places[2] = {{args, task.layer, first + row_of(0)}, {args, task.layer, first + row_of(2)}};
#pragma unroll
    for (uint32_t i = 0; i < N / 2; ++i) {
      const QkvRow& place = places[i / 2 % 2];
      const float mine = d[0][i], other = __shfl_xor_sync(0xffffffff, mine, 4);  // the lane of the row beside this one
      if (const uint32_t b = sequence_of(i); b < args.batch)
        place.to[b * place.stride] = rounded(mine * place.turn.x + other * place.turn.y);
    }
    return;
  }
  uint16_t x[N / 2];
  const uint16_t* from = args.residual + size_t(task.half) * args.batch * args.hidden + first;
  uint16_t* to = task.op == Op::gate_up ? args.gated + size_t(task.layer) * args.batch * args.intermediate + first
                                        : args.residual + size_t(task.half + 1) * args.batch * args.hidden + first;
  if (task.op != Op::gate_up) {
#pragma unroll
    for (uint32_t i = 0; i < N / 2; ++i)
      x[i] = from[size_t(row_of_batch(args, sequence_of(i))) * args.hidden + row_of(i)];
  }
#pragma unroll
  for (uint32_t i = 0; i < N / 2; ++i) {
    const uint32_t b = sequence_of(i);
    if (b >= args.batch) continue;
    if (task.op == Op::gate_up)
      to[size_t(b) * args.intermediate + row_of(i)] = rounded(d[0][i] / (1 + __expf(-d[0][i])) * d[1][i]);
    else
      to[size_t(b) * args.hidden + row_of(i)] = rounded(number(x[i]) + d[0][i]);
  }
}

template <class S>
__device__ bool project_wide(const Arguments& args, const Task& task, S& shared, Ring<S::kPages>& at) {
  constexpr uint32_t kN = S::kN, kRows = Page<kN>::kRows;
  const uint32_t halves = task.op == Op::gate_up ? 2 : 1;
  float d[2][kN / 2];
  for (uint32_t page = 0; page < task.pages; ++page) {
    wait_for_page(shared, at);
    if (page == 0) note_first(args, task);
    if (halves == 2 && page % 2)
      multiply_wide<kN>(shared.page[at.stage], d[1], page == 1);
    else
      multiply_wide<kN>(shared.page[at.stage], d[0], page == 0);
    give_page(shared, at);
  }
  note_sum(args, task);

  if (task.parts == 1) {
    store_wide<kN>(args, task, d);
    return true;
  }
  // A part's sums: [half][batch][row of the tile].
  float* const sums = args.scratch + task.scratch + size_t(task.part) * halves * args.batch * kRows;
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half)
#pragma unroll
    for (uint32_t i = 0; i < kN / 2; ++i)
      if (const uint32_t b = sequence_of(i); half < halves && b < args.batch)
        sums[(half * args.batch + b) * kRows + row_of(i)] = d[half][i];
  constexpr uint32_t kAtATime = kN == 32 ? 16 : 8;  // sequences
  return finish_parts<kRows, 2, 32 / kAtATime, kAtATime>(args, task, shared, threadIdx.x % kRows, threadIdx.x / kRows,
                                                         kEpilogue / kRows);
}

/// All warps have stored what the task makes: tells the raiser.
template <class S>
__device__ void tell(S& shared, Ring<kSignals>& to, uint32_t counter, const Task& task) {
  Signal& signal = shared.signal[to.stage];
  if (threadIdx.x == 0) {
    mbarrier_wait_parity(shared_address(&signal.read), to.parity ^ 1);
    signal.counter = counter;
    signal.task = task.number;
    signal.quiet = task.quiet;
  }
  __syncwarp();
  if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&signal.stored));
  to.advance();
}

template <class S>
__device__ void raise_counters(const Arguments& args, S& shared) {
  for (Ring<kSignals> at;; at.advance()) {
    Signal& signal = shared.signal[at.stage];
    mbarrier_wait_parity(shared_address(&signal.stored), at.parity);
    const uint32_t counter = signal.counter, task = signal.task, quiet = signal.quiet;
    mbarrier_arrive(shared_address(&signal.read));
    if (counter == Signal::kEnd) return;
    log_taken<S>(args, task);
    if (counter != Signal::kNothing) {
      if (args.counters) counter_raise(&args.counters[counter]);
      if (args.ran) args.ran[task].end = nanoseconds();
    }
    if (S::kQuiet && quiet) mbarrier_arrive(shared_address(&shared.raised));
  }
}

template <class S>
__device__ void finish(const Arguments& args, S& shared) {
  Ring<S::kPages> at;
  Ring<kSignals> to;
  for (Walk<S> walk(shared); walk.next(args);) {
    const Task task = walk.task;
    walk.take_inputs();
    bool done = true;
    if (task.op == Op::attend) {
      if constexpr (is_prefill(S::kN))
        attend_tokens(args, task, shared, at);
      else
        done = attend(args, task, shared, at);
    } else if constexpr (is_wide(S::kN)) {
      if (task.op == Op::norm && is_prefill(S::kN)) {
        normalise_tokens(args, task);
      } else if (task.op == Op::norm) {
        meet();  // the task before has read what a norm writes
        normalise(args, task, shared);
      } else if constexpr (is_prefill(S::kN)) {
        done = project_tokens(args, task, shared, at);
      } else {
        done = project_wide(args, task, shared, at);
      }
    } else {
      project_narrow(args, task, shared, at, to.stage % 2);
    }
    if (args.ran && done && threadIdx.x == 0) args.ran[task.number].stored = nanoseconds();
    if constexpr (S::kMarked) {
      if (done && threadIdx.x == 0) {
        counter_count(&args.counters[task.raises]);
        if (args.ran) args.ran[task.number].end = nanoseconds();
      }
      to.advance();  // there is no raiser
    } else {
      tell(shared, to, done ? task.raises : Signal::kNothing, task);
    }
  }
  if constexpr (!S::kMarked) tell(shared, to, Signal::kEnd, Task{});
}

/// A page's inputs as marked words: a lane has eight numbers of each 256, and zeros behind the last column.
template <class P>
struct MarkedInputs {
  static constexpr uint32_t kEights = P::kBlocks * kBlock / 256;
  MarkedEight eight[kEights];

  /// The numbers of columns [first, columns).
  __device__ void load(const uint32_t* from, uint32_t first, uint32_t columns) {
#pragma unroll
    for (uint32_t i = 0; i < kEights; ++i)
      eight[i].load(from + min(first + i * 256 + threadIdx.x % 32 * 8, columns - 8));
  }
  __device__ bool there(uint32_t mark) const {
    bool all = true;
#pragma unroll
    for (const MarkedEight& e : eight) all &= e.there(mark);
    return all;
  }
  /// As TMA would leave them.
  __device__ void store(P& page, uint32_t first, uint32_t columns) const {
#pragma unroll
    for (uint32_t i = 0; i < kEights; ++i) {
      const uint32_t column = i * 256 + threadIdx.x % 32 * 8;
      *reinterpret_cast<uint4*>(page.inputs + layout::swizzled(layout::Swizzle::b128, column * 2)) =
          first + column < columns ? eight[i].numbers() : uint4{};
    }
  }
};

/// The next `count` pages have nothing that this warp loads. Both warps wait for each page and arrive on it, so that
/// neither falls two phases behind.
template <class S>
__device__ void pass_pages(S& shared, Ring<S::kPages>& to, uint32_t count) {
  for (; count; --count, to.advance()) {
    mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
    if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&shared.full[to.stage]));
  }
}

/// Loads the marked words that a task's pages are multiplied with: of even blocks of them, or of odd ones. Those of two
/// blocks are on their way at a time.
template <class S>
__device__ void load_marked_pages(const Arguments& args, const Task& task, S& shared, Ring<S::kPages>& to, bool odd,
                                  Raised<false>& raised) {
  using P = typename S::P;
  constexpr uint32_t kAtOnce = 2;
  const uint32_t mark = mark_of(args), pages = task.op == Op::gate_up ? 2 : 1, count = task.pages / pages;
  const uint32_t columns = task.op == Op::out    ? args.heads * args.dim
                           : task.op == Op::down ? args.intermediate
                                                 : args.hidden;
  const uint32_t* const from = task.op == Op::out    ? args.marked.attended + task.layer * columns
                               : task.op == Op::down ? args.marked.gated + task.layer * columns
                                                     : args.marked.residual + task.half * columns;
  const auto first = [&](uint32_t block) { return (task.first + block) * P::kBlocks * kBlock; };
  MarkedInputs<P> inputs[kAtOnce];
  bool asked[kAtOnce] = {};
  // The counters say when to look; that a number is there, only its mark says.
  const auto ask = [&](uint32_t k, uint32_t block) {
    if (asked[k] || block >= count || !raised.there(first(block + 1))) return;
    inputs[k].load(from, first(block), columns);
    asked[k] = true;
  };
#pragma unroll
  for (uint32_t k = 0; k < kAtOnce; ++k) ask(k, 2 * k + odd);
  for (uint32_t at = 0; at < count; at += 2 * kAtOnce) {
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const uint32_t block = at + 2 * k + odd;
      if (odd && block <= count) pass_pages(shared, to, pages);
      if (block >= count) break;
      if (!asked[k]) {
        raised.wait(first(block + 1));
        ask(k, block);
        ask(1 - k, block + 2);
      }
      while (!inputs[k].there(mark)) inputs[k].load(from, first(block), columns);
      asked[k] = false;
      for (uint32_t page = 0; page < pages; ++page, to.advance()) {
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        if (page == 0) inputs[k].store(shared.page[to.stage], first(block), columns);  // up's are gate's
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&shared.full[to.stage]));
      }
      ask(k, block + 2 * kAtOnce);
      if (!odd && block + 1 < count) pass_pages(shared, to, pages);
    }
  }
}

/// Two warps load inputs where tasks hand each other marked words; the first one also says that they are there. What is
/// given before the launch has no marks: TMA loads it.
template <class S>
__device__ void load_marked(const Arguments& args, S& shared, bool odd) {
  Ring<S::kPages> to;
  for (Walk<S> walk(shared); walk.next(args);) {
    const Task task = walk.task;
    Raised<false> raised(args, task);
    const bool by_page = is_projection(task.op) && task.waits;
    if (!odd && by_page) raised.wait(S::columns_of(task, 1));
    if (!odd && !by_page) raised.wait_for_all();
    __syncwarp();  // all lanes have read the task
    if (threadIdx.x % 32 == 0) {
      if (args.ran && !odd) args.ran[task.number].inputs = nanoseconds();
      if (!odd) mbarrier_arrive(walk.ready());
      mbarrier_arrive(shared_address(&shared.slot[walk.at.stage].taken));
    }
    walk.at.advance();
    if (by_page) {
      load_marked_pages(args, task, shared, to, odd, raised);
    } else if (odd || !is_projection(task.op)) {
      pass_pages(shared, to, task.pages);
    } else {
      for (uint32_t page = 0; page < task.pages; ++page, to.advance()) {
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        if (threadIdx.x % 32 == 0)
          S::load_inputs(args, task, page, shared.page[to.stage], shared_address(&shared.full[to.stage]));
      }
    }
    __syncwarp();
  }
}

template <uint32_t N, uint32_t Pages, class Source>
__global__ void __launch_bounds__(kThreads, is_wide(N) && !Source::kCounters ? 1 : Source::kCtas)
    layer(const __grid_constant__ Arguments args, uint32_t first) {
  extern __shared__ __align__(1024) uint8_t memory[];
  using S = Shared<N, Pages, Source::kSlots, Source::kMarked, Source::kCounters || Source::kMarked, kIsLogged<Source>>;
  auto& shared = *reinterpret_cast<S*>(memory);
  if constexpr (Source::kDependent) griddepcontrol_launch_dependents();
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    make_barriers(shared, kWarps, 1 + S::kInputWarps + kWarps);  // tasks: loader, inputs, epilogue
    for (Signal& signal : shared.signal) {
      mbarrier_init(shared_address(&signal.stored), kWarps);
      mbarrier_init(shared_address(&signal.read), 1);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (warp < kWarps) {
    finish(args, shared);
  } else if (warp == 4) {
    if (elect_sync()) control(args, shared, Source(args, first));
  } else if (warp == 5) {
    if (elect_sync()) load_weights(args, shared, Source(args, first));
  } else if constexpr (S::kMarked) {
    load_marked(args, shared, warp == 7);
  } else if (warp == 6) {
    load_inputs<S, Source>(args, shared);
  } else {
    if (elect_sync()) raise_counters(args, shared);
  }
}

/// Pages of a CTA. Where grids follow each other, two CTAs shall fit on an SM; one that stays has the SM for itself.
template <uint32_t N>
constexpr uint32_t kFewPages = N == 1          ? 5
                               : N == 8        ? 3
                               : is_prefill(N) ? 5
                                               : 2;
template <uint32_t N>
constexpr uint32_t kAllPages = N == 1          ? 11
                               : N == 8        ? 8
                               : N == 32       ? 8
                               : is_prefill(N) ? 5
                                               : 6;

/// Calls f.operator()<N>() for a batch: a page has so many rows of inputs.
template <class F>
void for_batch(uint32_t batch, F&& f) {
  switch (input_rows(batch)) {
    case 1: return f.template operator()<1>();
    case 8: return f.template operator()<8>();
    case 32: return f.template operator()<32>();
    default: return f.template operator()<kLargestBatch>();
  }
}

}  // namespace megakernel::kernels
