// The kernel that all steps share on Blackwell, and its two roles beside those that fetch (loads.cuh): MMA and
// epilogue.
//
//   warp 0 controller, warp 1 loader, warp 2 inputs, warp 3 MMA, warps 4–7 epilogue: Tensor Memory → sums → memory
#pragma once
#include "chapters/16_megakernel/attention.cuh"
#include "chapters/16_megakernel/loads.cuh"
#include "chapters/16_megakernel/prefill.cuh"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/layout/tensor_memory.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"

namespace megakernel::kernels {

constexpr uint32_t kThreads = 256;

constexpr uint32_t kAccumulators = 2;  // one is read while the other is filled

/// 16 KiB of weights, keys or values, and `N` rows of inputs, as TMA leaves them: rows of 128 bytes, swizzled.
template <uint32_t N>
struct Page {
  uint8_t weights[kTile * 2 * kBlock];
  uint8_t inputs[N * 2 * kBlock];
};
template <uint32_t N, uint32_t Pages>
struct PageRing {
  Page<N> page[Pages];
};

template <uint32_t N, uint32_t Pages, uint32_t Slots = 4, bool Logs = false>
struct Shared : PageRing<N, Pages>, Meeting<Pages, Slots> {
  static constexpr bool kLogs = Logs;  // its warps log the tasks that they take
  static constexpr bool kMarked = false, kMarkedSums = false;
  static constexpr uint32_t kN = N;
  static constexpr uint32_t kAttendInFlight = Pages;
  // A release waits for all that its SM loads (an H200's does; that a B200's does is inferred), and next tasks' pages
  // are on their way then: with three of them a 1B layer takes 0.90 of the cycles that it takes with all, in tinygpu.
  static constexpr uint32_t kInFlight = Pages < 3 ? Pages : 3, kSteadyInFlight = kInFlight;
  static constexpr uint32_t kInputWarps = 1;
  static constexpr bool kQuiet = false;
  static constexpr bool kByPage = false;
  static __device__ uint32_t columns_of(const Task&, uint32_t) { return ~0u; }
  static constexpr uint32_t kAhead = 0;
  uint64_t accumulated[kAccumulators], drained[kAccumulators];
  uint32_t columns;

  static __device__ void load_weights(const Arguments& args, const Task& task, uint32_t page, Page<N>& to,
                                      uint32_t full) {
    const uint32_t weights = shared_address(to.weights);
    mbarrier_arrive_expect_tx(full, sizeof(to.weights));
    if (task.op == Op::gate_up)  // of each block a tile of gate, then one of up
      tensor_load_3d(weights, &args.weights[weights_of(task.op)], (task.first + page / 2) * kBlock,
                     page % 2 * args.intermediate + task.tile * kTile, task.layer, full);
    else
      tensor_load_3d(weights, &args.weights[weights_of(task.op)], (task.first + page) * kBlock, task.tile * kTile,
                     task.layer, full);
  }

  static __device__ void load_inputs(const Arguments& args, const Task& task, uint32_t page, Page<N>& to,
                                     uint32_t full) {
    const uint32_t block = task.first + (task.op == Op::gate_up ? page / 2 : page);
    mbarrier_arrive_expect_tx(full, sizeof(to.inputs));
    tensor_load_3d(shared_address(to.inputs), &args.inputs[weights_of(task.op)], block * kBlock,
                   is_prefill(N) ? task.row : 0, task.op == Op::qkv || task.op == Op::gate_up ? task.half : task.layer,
                   full);
  }
};

/// Two accumulators for each of two tasks: gate and up.
template <uint32_t N>
constexpr uint32_t kColumns = kAccumulators * 2 * N < 32 ? 32 : kAccumulators * 2 * N;

template <class S>
__device__ uint32_t begin_cta(S& shared) {
  if (threadIdx.x == 0) {
    // Pages: the MMA thread and four warps. Tasks: 3 threads and four warps.
    make_barriers(shared, 1 + kWarps, 3 + kWarps);
    for (uint32_t i = 0; i < kAccumulators; ++i) {
      mbarrier_init(shared_address(&shared.accumulated[i]), 2);
      mbarrier_init(shared_address(&shared.drained[i]), kWarps);
    }
    fence_mbarrier_init();
  }
  return tensor_kernel::begin(&shared.columns, kColumns<S::kN>);
}

/// Rows of 128 bytes, 128-byte swizzle, groups of 8 rows 1,024 bytes apart: weights (A) and inputs (B) alike.
constexpr uint64_t kOperand = layout::smem_descriptor({.swizzle = layout::Swizzle::b128, .stride = 8 * 128});
template <uint32_t N>
constexpr uint32_t kInstruction = layout::instruction_descriptor({.m = kTile, .n = N});

template <class S>
__device__ void multiply(const Arguments& args, S& shared, uint32_t columns) {
  Ring<S::kPages> at;
  Ring<kAccumulators> into;
  for (Walk<S> walk(shared); walk.next(args);) {
    const Task task = walk.task;
    walk.give();
    const bool projection = is_projection(task.op);
    const uint32_t accumulator = columns + into.stage * 2 * S::kN, halves = task.op == Op::gate_up ? 2 : 1;
    if (projection) {  // the epilogue has read what the accumulator held before
      mbarrier_wait_parity(shared_address(&shared.drained[into.stage]), into.parity ^ 1);
      tcgen05_fence_after_thread_sync();
    }
    for (uint32_t page = 0; page < task.pages; ++page, at.advance()) {
      wait_for_page(shared, at);
      if (args.ran && page == 0 && projection) args.ran[task.number].first = nanoseconds();
      const uint32_t empty = shared_address(&shared.empty[at.stage]);
      if (projection) {
        const uint32_t a = shared_address(shared.page[at.stage].weights);
        const uint32_t b = shared_address(shared.page[at.stage].inputs);
#pragma unroll
        for (uint32_t along_k = 0; along_k < 2 * kBlock; along_k += 32)  // 16 elements at a time
          tcgen05_mma_f16(accumulator + page % halves * S::kN, layout::at_address(kOperand, a + along_k),
                          layout::at_address(kOperand, b + along_k), kInstruction<S::kN>, page >= halves || along_k);
        tcgen05_commit(empty);
        mbarrier_arrive(empty, kWarps);  // for the warps, which look at pages of attention alone
      } else {
        mbarrier_arrive(empty);
      }
    }
    if (!projection) continue;
    // Two arrivals: the sums are there, and this thread has seen all loads of the task end.
    tcgen05_commit(shared_address(&shared.accumulated[into.stage]));
    mbarrier_arrive(shared_address(&shared.accumulated[into.stage]));
    into.advance();
  }
}

template <class S>
__device__ bool finish_projection(const Arguments& args, const Task& task, S& shared, uint32_t accumulator,
                                  uint32_t drained) {
  const uint32_t row = threadIdx.x % kEpilogue, halves = task.op == Op::gate_up ? 2 : 1;
  const uint32_t of_warp = layout::tmem_address(accumulator, row / 32 * 32, 0);
  // A part's sums: [half][batch][row of the tile].
  const uint32_t of_part = halves * args.batch * kTile;
  float* const sums = args.scratch + task.scratch + row;
  for (uint32_t half = 0; half < halves; ++half)
    for (uint32_t b = 0; b < args.batch; b += 8) {
      uint32_t words[8];
      tcgen05_ld_32x32b(words, of_warp + half * S::kN + b);
      tcgen05_wait_ld();
#pragma unroll
      for (uint32_t i = 0; i < 8; ++i)
        if (b + i < args.batch)
          sums[task.part * of_part + (half * args.batch + b + i) * kTile] = __uint_as_float(words[i]);
    }
  tcgen05_fence_before_thread_sync();
  __syncwarp();
  if (elect_sync()) mbarrier_arrive(drained);
  if (halves == 2) return finish_parts<kTile, 2, 2, 8>(args, task, shared, row, 0, 1);
  if (S::kN > 16) return finish_parts<kTile, 1, 4, 16>(args, task, shared, row, 0, 1);
  return finish_parts<kTile, 1, 4, 8>(args, task, shared, row, 0, 1);
}

/// The same of a tile of tokens. One that no other task has a part of does not leave its sums anywhere.
template <class S>
__device__ bool finish_tokens(const Arguments& args, const Task& task, S& shared, uint32_t accumulator,
                              uint32_t drained) {
  constexpr uint32_t kAtOnce = 32;  // tokens
  const uint32_t row = threadIdx.x % kEpilogue, halves = task.op == Op::gate_up ? 2 : 1;
  const uint32_t of_warp = layout::tmem_address(accumulator, row / 32 * 32, 0);
  const Column column(args, task, task.tile * kTile + row);
  float sum[2][kAtOnce];
  const auto read = [&](uint32_t first) {
    uint32_t words[2][kAtOnce];
    tcgen05_ld_32x32b(words[0], of_warp + first);
    if (halves == 2) tcgen05_ld_32x32b(words[1], of_warp + S::kN + first);
    tcgen05_wait_ld();
#pragma unroll
    for (uint32_t i = 0; i < 2 * kAtOnce; ++i)
      sum[i / kAtOnce][i % kAtOnce] = i / kAtOnce < halves ? __uint_as_float(words[i / kAtOnce][i % kAtOnce]) : 0;
  };
  const auto store = [&](uint32_t first) { store_column(task, column, sum[0], sum[1], first); };
  // A part's sums: [half][token][row of the tile].
  const uint32_t of_part = halves * S::kN * kTile;
  float* const sums = args.scratch + task.scratch + row;
  for (uint32_t first = 0; first < task.rows; first += kAtOnce) {
    read(first);
    if (task.parts == 1) {
      store(first);
      continue;
    }
#pragma unroll
    for (uint32_t i = 0; i < 2 * kAtOnce; ++i)
      if (i / kAtOnce < halves)
        sums[task.part * of_part + (i / kAtOnce * S::kN + first + i % kAtOnce) * kTile] = sum[i / kAtOnce][i % kAtOnce];
  }
  tcgen05_fence_before_thread_sync();
  __syncwarp();
  if (elect_sync()) mbarrier_arrive(drained);
  if (task.parts == 1) return true;
  if (!last_part(args, task, shared)) return false;
  for (uint32_t first = 0; first < task.rows; first += kAtOnce) {
#pragma unroll
    for (uint32_t i = 0; i < 2 * kAtOnce; ++i) sum[i / kAtOnce][i % kAtOnce] = 0;
    for (uint32_t part = 0; part < task.parts; ++part) {
      const float* const mine = sums + part * of_part + first * kTile;
      float got[2][kAtOnce];
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i) got[0][i] = mine[i * kTile];
      if (halves == 2)
#pragma unroll
        for (uint32_t i = 0; i < kAtOnce; ++i) got[1][i] = mine[(S::kN + i) * kTile];
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        sum[0][i] += got[0][i];
        if (halves == 2) sum[1][i] += got[1][i];
      }
    }
    store(first);
  }
  return true;
}

template <class S>
__device__ void finish(const Arguments& args, S& shared, uint32_t columns) {
  Ring<S::kPages> at;
  Ring<kAccumulators> from;
  for (Walk<S> walk(shared); walk.next(args);) {
    const Task task = walk.task;
    walk.take_inputs();
    bool done = true;
    if (task.op == Op::norm) {
      if constexpr (is_prefill(S::kN))
        normalise_tokens(args, task);
      else
        normalise(args, task, shared);
    } else if (task.op == Op::attend) {
      if constexpr (is_prefill(S::kN))
        attend_tokens(args, task, shared, at);
      else
        done = attend(args, task, shared, at);
    } else {
      mbarrier_wait_parity(shared_address(&shared.accumulated[from.stage]), from.parity);
      tcgen05_fence_after_thread_sync();
      note_sum(args, task);
      const uint32_t accumulator = columns + from.stage * 2 * S::kN,
                     drained = shared_address(&shared.drained[from.stage]);
      if constexpr (is_prefill(S::kN))
        done = finish_tokens(args, task, shared, accumulator, drained);
      else
        done = finish_projection(args, task, shared, accumulator, drained);
      from.advance();
      for (uint32_t page = 0; page < task.pages; ++page) at.advance();  // the MMA thread's
    }
    if (done) raise(args, task);
  }
}

template <uint32_t N, uint32_t Pages, class Source>
__global__ void __launch_bounds__(kThreads, is_prefill(N) ? 1 : Source::kCtas)
    layer(const __grid_constant__ Arguments args, uint32_t first) {
  extern __shared__ __align__(1024) uint8_t memory[];
  static_assert(!Source::kMarked);  // Hopper's alone
  using S = Shared<N, Pages, Source::kSlots, kIsLogged<Source>>;
  auto& shared = *reinterpret_cast<S*>(memory);
  if constexpr (Source::kDependent) griddepcontrol_launch_dependents();
  const uint32_t columns = begin_cta(shared), warp = threadIdx.x / 32;
  if (warp == 0) {
    if (elect_sync()) control(args, shared, Source(args, first));
  } else if (warp == 1) {
    if (elect_sync()) load_weights(args, shared, Source(args, first));
  } else if (warp == 2) {
    load_inputs<S, Source>(args, shared);
  } else if (warp == 3) {
    if (elect_sync()) multiply(args, shared, columns);
  } else {
    finish(args, shared, columns);
  }
  __syncwarp();
  tensor_kernel::end(columns, kColumns<N>);
}

/// Pages of a CTA. Where grids follow each other, two CTAs shall fit on an SM; one that stays has the SM for itself.
/// A prefill's pages have as many bytes of inputs as of weights: there, one CTA fits.
template <uint32_t N>
constexpr uint32_t kAllPages = N <= 16         ? 11
                               : is_prefill(N) ? 6
                                               : 8;
template <uint32_t N>
constexpr uint32_t kFewPages = N <= 16         ? 5
                               : is_prefill(N) ? kAllPages<N>
                                               : 4;

/// Calls f.operator()<N>() for a batch: B has 16 rows, or 64.
template <class F>
void for_batch(uint32_t batch, F&& f) {
  if (batch <= 16)
    f.template operator()<16>();
  else
    f.template operator()<kLargestBatch>();
}

}  // namespace megakernel::kernels
