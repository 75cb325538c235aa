// The kernel that all steps share on Hopper, and what its epilogue does beside attention: it multiplies, too.
//
//   warps 0–3 epilogue: pages → sums in registers → memory; warp 4 controller, warp 5 loader, warp 6 inputs
//
// A task has 16 rows of weights and all of K. So no two tasks share a tile, and a projection is one hand-over: no sums
// in scratch memory, nobody who waits for other parts. wgmma would want 64 rows: 32 tiles of Wout for 132 SMs. mma.sync
// has 16, and memory brings an SM 18 bytes of weights a cycle, of which it multiplies 256 in two.
//
// A page is 16 rows × 512 columns, as eight blocks of 64 columns that lie behind each other. A warp has two blocks of
// each, so that the sums of four warps are added in shared memory at the end.
//
// A norm is no task. n = x · gain · factor: the warps multiply x with gain as they read it, and add up its squares. The
// factor comes to the sums at the end.
#pragma once
#include "chapters/16_megakernel/epilogue.cuh"
#include "chapters/16_megakernel/hopper/sizes.h"
#include "chapters/16_megakernel/loads.cuh"
#include "common/ptx/bulk_tensor_4d.h"
#include "common/ptx/mma_sync.h"

namespace megakernel::kernels {

constexpr uint32_t kThreads = 224;
constexpr uint32_t kWarps = kEpilogue / 32;

/// Blocks of 64 columns: of weights (or keys, or values), of `N` rows of inputs, of a norm's gains. Rows of 128 bytes,
/// swizzled.
template <uint32_t N>
struct Page {
  uint8_t weights[kBlocks * kBand * 128];
  uint8_t inputs[kBlocks * N * 128];
  uint8_t gains[kBlocks * 128];
};
template <uint32_t N, uint32_t Pages>
struct PageRing {
  Page<N> page[Pages];
};

/// Is what it multiplies with x, to be normalised?
constexpr bool is_normed(Op op) { return op == Op::qkv || op == Op::gate_up; }

template <uint32_t N, uint32_t Pages, uint32_t Slots = 4>
struct Shared : PageRing<N, Pages>, Meeting<Pages, Slots> {
  static constexpr uint32_t kN = N;
  static constexpr uint32_t kGives = 32;  // threads of the epilogue for which one gives a page back
  float sums[kWarps][2][N][kBand];        // 2: gate and up
  float squares[kWarps][N];

  /// Of gate_up, even pages are gate's and odd ones up's.
  static __device__ uint32_t block_of(const Task& task, uint32_t page) {
    return (task.first + (task.op == Op::gate_up ? page / 2 : page)) * kBlocks;
  }
  static __device__ void load_weights(const Arguments& args, const Task& task, uint32_t page, Page<N>& to,
                                      uint32_t full) {
    const uint32_t row = task.tile * kBand + (task.op == Op::gate_up ? page % 2 * args.intermediate : 0);
    mbarrier_arrive_expect_tx(full, sizeof(to.weights) + (is_normed(task.op) ? sizeof(to.gains) : 0));
    tensor_load_4d(shared_address(to.weights), &args.weights[weights_of(task.op)], 0, row, block_of(task, page),
                   task.layer, full);
    if (is_normed(task.op))
      tensor_load_4d(shared_address(to.gains), &args.gain_map, 0, task.half, block_of(task, page), 0, full);
  }
  static __device__ void load_inputs(const Arguments& args, const Task& task, uint32_t page, Page<N>& to,
                                     uint32_t full) {
    mbarrier_arrive_expect_tx(full, sizeof(to.inputs));
    tensor_load_4d(shared_address(to.inputs), &args.inputs[weights_of(task.op)], 0, 0, block_of(task, page),
                   is_normed(task.op) ? task.half : task.layer, full);
  }
};

/// Tiles of 8 columns of D: of the batch.
template <uint32_t N>
constexpr uint32_t kColumnTiles = N < 8 ? 1 : N / 8;

__device__ inline uint4 words_at(const uint8_t* blocks, uint32_t offset) {
  return *reinterpret_cast<const uint4*>(blocks + layout::swizzled(layout::Swizzle::b128, offset));
}

/// Two words of x become two of x · gain; the squares of x are added up.
__device__ inline uint32_t times_gain(uint32_t x, uint32_t gain, float& squares) {
  const float2 two = numbers(x);
  squares = fmaf(two.x, two.x, fmaf(two.y, two.y, squares));
  const __nv_bfloat162 product =
      __hmul2(*reinterpret_cast<const __nv_bfloat162*>(&x), *reinterpret_cast<const __nv_bfloat162*>(&gain));
  return *reinterpret_cast<const uint32_t*>(&product);
}

/// This warp's two blocks of a page. In a dot product the order along K is free: lane 4r + c takes 16 bytes at a time,
/// chunks c and c + 4 of rows r and r + 8 of A and of rows r, r + 8 … of the batch, so that A and B agree.
template <uint32_t N, bool kNormed>
__device__ void multiply_page(const Page<N>& page, float (&d)[kColumnTiles<N>][4], float (&squares)[kColumnTiles<N>]) {
  const uint32_t warp = threadIdx.x / 32, r = threadIdx.x % 32 / 4, c = threadIdx.x % 4;
#pragma unroll
  for (uint32_t i = 0; i < kBlocks / kWarps; ++i) {
    const uint32_t block = warp + i * kWarps;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t chunk = c + 4 * half;
      const uint4 top = words_at(page.weights, (block * kBand + r) * 128 + chunk * 16);
      const uint4 bottom = words_at(page.weights, (block * kBand + r + 8) * 128 + chunk * 16);
      uint4 gain;
      if constexpr (kNormed) gain = words_at(page.gains, block * 128 + chunk * 16);
#pragma unroll
      for (uint32_t j = 0; j < kColumnTiles<N>; ++j) {
        uint4 x = words_at(page.inputs, (block * N + (N == 1 ? 0 : j * 8 + r)) * 128 + chunk * 16);
        if constexpr (kNormed)
          x = {times_gain(x.x, gain.x, squares[j]), times_gain(x.y, gain.y, squares[j]),
               times_gain(x.z, gain.z, squares[j]), times_gain(x.w, gain.w, squares[j])};
        mma_m16n8k16_bf16(d[j], top.x, bottom.x, top.y, bottom.y, x.x, x.y);
        mma_m16n8k16_bf16(d[j], top.z, bottom.z, top.w, bottom.w, x.z, x.w);
      }
    }
  }
}

/// What a thread stores of a tile: a row's number of one sequence, or of every eighth.
template <uint32_t N>
constexpr uint32_t kNumbers = (N * kBand + kEpilogue - 1) / kEpilogue;

/// Adds the warps' sums up, and stores the tile.
template <class S>
__device__ void store_tile(const Arguments& args, const Task& task, const S& shared,
                           const Beside<kNumbers<S::kN>>& beside) {
  const uint32_t row = threadIdx.x % kBand, column = task.tile * kBand + row;
#pragma unroll
  for (uint32_t i = 0; i < kNumbers<S::kN>; ++i) {
    const uint32_t b = threadIdx.x / kBand + i * (kEpilogue / kBand), from = min(b, S::kN - 1);
    float sum[2] = {}, squares = 0, factor = 1;
#pragma unroll
    for (uint32_t w = 0; w < kWarps; ++w) {
      sum[0] += shared.sums[w][0][from][row];
      if (task.op == Op::gate_up) sum[1] += shared.sums[w][1][from][row];
      if (is_normed(task.op)) squares += shared.squares[w][from];
    }
    if (is_normed(task.op)) factor = rsqrtf(squares / float(args.hidden) + kEpsilon);
    const float mine = sum[0] * factor, up = sum[1] * factor, other = __shfl_xor_sync(0xffffffff, mine, 1);
    if (b >= args.batch) continue;
    const size_t sequence = size_t(task.layer) * args.batch + b;
    if (task.op == Op::qkv)
      beside.place.to[b * beside.place.stride] = rounded(mine * beside.place.turn.x + other * beside.place.turn.y);
    else if (task.op == Op::gate_up)
      args.gated[sequence * args.intermediate + column] = rounded(mine / (1 + __expf(-mine)) * up);
    else
      args.residual[(size_t(task.half + 1) * args.batch + b) * args.hidden + column] =
          rounded(number(beside.x[i]) + mine);
  }
}

template <class S>
__device__ void project(const Arguments& args, const Task& task, S& shared, Ring<S::kPages>& at) {
  constexpr uint32_t kN = S::kN;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Beside<kNumbers<kN>> beside(args, task, task.tile * kBand + threadIdx.x % kBand, threadIdx.x / kBand,
                                    kEpilogue / kBand);
  float d[2][kColumnTiles<kN>][4] = {}, squares[kColumnTiles<kN>] = {}, unused[kColumnTiles<kN>] = {};
  for (uint32_t page = 0; page < task.pages; ++page, at.advance()) {
    mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
    const Page<kN>& from = shared.page[at.stage];
    if (!is_normed(task.op))
      multiply_page<kN, false>(from, d[0], squares);
    else if (task.op == Op::gate_up && page % 2)
      multiply_page<kN, true>(from, d[1], unused);  // up's page has gate's block of x
    else
      multiply_page<kN, true>(from, d[0], squares);
    fence_proxy_async_shared();  // these reads before the loader's next write
    __syncwarp();
    if (lane == 0) mbarrier_arrive(shared_address(&shared.empty[at.stage]));
  }
  note_sum(args, task);

#pragma unroll
  for (uint32_t j = 0; j < kColumnTiles<kN>; ++j) {
    // Four lanes share a row of the batch.
    squares[j] += __shfl_xor_sync(0xffffffff, squares[j], 1);
    squares[j] += __shfl_xor_sync(0xffffffff, squares[j], 2);
    if (lane % 4 == 0 && j * 8 + lane / 4 < kN) shared.squares[warp][j * 8 + lane / 4] = squares[j];
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half)
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i)
        if (const uint32_t b = j * 8 + lane % 4 * 2 + i % 2; b < kN)
          shared.sums[warp][half][b][lane / 4 + i / 2 * 8] = d[half][j][i];
  }
  meet();
  store_tile(args, task, shared, beside);
  raise(args, task);
}

template <class S>
__device__ void finish(const Arguments& args, S& shared) {
  Ring<S::kPages> at;
  for (Walk<S> walk(shared); walk.next();) {
    const Task task = walk.task;
    mbarrier_wait_parity(walk.ready(), walk.at.parity);
    __syncwarp();
    if (elect_sync()) mbarrier_arrive(shared_address(&shared.slot[walk.at.stage].taken));
    walk.at.advance();
    if (task.op == Op::attend)
      attend(args, task, shared, at);
    else
      project(args, task, shared, at);
  }
}

template <uint32_t N, uint32_t Pages, class Source>
__global__ void __launch_bounds__(kThreads) layer(const __grid_constant__ Arguments args, uint32_t first) {
  extern __shared__ __align__(1024) uint8_t memory[];
  using S = Shared<N, Pages, Source::kSlots>;
  auto& shared = *reinterpret_cast<S*>(memory);
  if constexpr (Source::kDependent) griddepcontrol_launch_dependents();
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    make_barriers(shared, kWarps, 2 + kWarps);  // tasks: loader, inputs, and four warps
    fence_mbarrier_init();
  }
  __syncthreads();
  if (warp < kWarps) {
    finish(args, shared);
  } else if (warp == 4) {
    if (elect_sync()) control(args, shared, Source(args, first));
  } else if (warp == 5) {
    if (elect_sync()) load_weights(args, shared);
  } else {
    load_inputs<S, Source>(args, shared);
  }
}

/// Pages of a CTA. Where grids follow each other, two CTAs shall fit on an SM; one that stays has the SM for itself.
template <uint32_t N>
constexpr uint32_t kFewPages = N == 1   ? 5
                               : N == 8 ? 3
                                        : 2;
template <uint32_t N>
constexpr uint32_t kAllPages = N == 1    ? 11
                               : N == 8  ? 8
                               : N == 32 ? 4
                                         : 2;

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
