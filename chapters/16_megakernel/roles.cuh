// The roles of a CTA (pages.cuh draws them), and the kernel that all steps share. A step says where a CTA's tasks come
// from, and how it learns that a task's inputs are there:
//
//   struct Source {
//     static constexpr bool kDependent;        // launched before the grid ahead of it has ended
//     static constexpr bool kCounters;         // tasks of one grid wait for each other
//     static constexpr uint32_t kSlots;        // tasks that a CTA fetches ahead
//     __device__ Source(const Arguments&, uint32_t first);
//     __device__ const Task* next();           // of the controller: the CTA's next task, null behind the last
//   };
#pragma once
#include "chapters/16_megakernel/epilogue.cuh"

namespace megakernel::kernels {

/// Rows of 128 bytes, 128-byte swizzle, groups of 8 rows 1,024 bytes apart: weights (A) and inputs (B) alike.
constexpr uint64_t kOperand = layout::smem_descriptor({.swizzle = layout::Swizzle::b128, .stride = 8 * 128});
template <uint32_t N>
constexpr uint32_t kInstruction = layout::instruction_descriptor({.m = kTile, .n = N});

template <class S, class Source>
__device__ void control(const Arguments& args, S& shared, Source source) {
  Ring<S::kSlots> to;
  for (;; to.advance()) {
    const Task* task = source.next();
    mbarrier_wait_parity(shared_address(&shared.slot[to.stage].taken), to.parity ^ 1);
    shared.slot[to.stage].task = task ? *task : Task{};
    mbarrier_arrive(shared_address(&shared.slot[to.stage].fetched));
    if (!task) return;
  }
}

template <class S>
__device__ void load_weights(const Arguments& args, S& shared) {
  Ring<S::kPages> to;
  for (Walk<S> walk(shared); walk.next();) {
    const Task task = walk.task;
    walk.give();
    if (args.ran) note_begin(args.ran[task.number]);
    for (uint32_t page = 0; page < task.pages; ++page, to.advance()) {
      const uint32_t full = shared_address(&shared.full[to.stage]);
      const uint32_t weights = shared_address(shared.page[to.stage].weights);
      mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
      mbarrier_arrive_expect_tx(full, sizeof(shared.page[0].weights));
      if (task.op == Op::attend) {  // keys, then values
        const uint32_t boxes = args.dim / 64, head = task.layer * args.batch * args.kv_heads + task.tile;
        tensor_load_3d(weights, page < boxes ? &args.keys : &args.values, page % boxes * 64, task.first * kTile, head,
                       full);
      } else if (task.op == Op::gate_up) {  // of each block a tile of gate, then one of up
        tensor_load_3d(weights, &args.weights[weights_of(task.op)], (task.first + page / 2) * kBlock,
                       page % 2 * args.intermediate + task.tile * kTile, task.layer, full);
      } else {
        tensor_load_3d(weights, &args.weights[weights_of(task.op)], (task.first + page) * kBlock, task.tile * kTile,
                       task.layer, full);
      }
    }
  }
}

/// Waits until all counters of a task have been raised: each lane looks at one.
__device__ inline void wait_for_counters(const Arguments& args, const Task& task) {
  const uint32_t target = (args.run + 1) * task.wait_for;
  for (uint32_t i = threadIdx.x % 32; i < task.waits; i += 32)
    while (int32_t(counter_read(&args.counters[task.wait_first + i]) - target) < 0) {
    }
  __syncwarp();
}

template <class S, class Source>
__device__ void load_inputs(const Arguments& args, S& shared) {
  Ring<S::kPages> to;
  if constexpr (Source::kDependent) griddepcontrol_wait();
  for (Walk<S> walk(shared); walk.next();) {
    const Task task = walk.task;
    if constexpr (Source::kCounters) wait_for_counters(args, task);
    // Other CTAs' threads have written with plain stores what TMA is to read.
    fence_proxy_async_global();
    __syncwarp();
    if (elect_sync()) {
      if (args.ran) args.ran[task.number].inputs = nanoseconds();
      mbarrier_arrive(walk.ready());
      mbarrier_arrive(shared_address(&shared.slot[walk.at.stage].taken));
      for (uint32_t page = 0; page < task.pages; ++page, to.advance()) {
        const uint32_t full = shared_address(&shared.full[to.stage]);
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        if (!is_projection(task.op)) {
          mbarrier_arrive(full);
          continue;
        }
        mbarrier_arrive_expect_tx(full, sizeof(shared.page[0].inputs));
        const uint32_t block = task.first + (task.op == Op::gate_up ? page / 2 : page);
        tensor_load_3d(shared_address(shared.page[to.stage].inputs), &args.inputs[weights_of(task.op)], block * kBlock,
                       0, task.op == Op::qkv || task.op == Op::gate_up ? task.half : task.layer, full);
      }
    }
    __syncwarp();
    walk.at.advance();
  }
}

template <class S>
__device__ void multiply(S& shared, uint32_t columns) {
  Ring<S::kPages> at;
  Ring<kAccumulators> into;
  for (Walk<S> walk(shared); walk.next();) {
    const Task task = walk.task;
    walk.give();
    const bool projection = is_projection(task.op);
    const uint32_t accumulator = columns + into.stage * 2 * S::kN, halves = task.op == Op::gate_up ? 2 : 1;
    if (projection) {  // the epilogue has read what the accumulator held before
      mbarrier_wait_parity(shared_address(&shared.drained[into.stage]), into.parity ^ 1);
      tcgen05_fence_after_thread_sync();
    }
    for (uint32_t page = 0; page < task.pages; ++page, at.advance()) {
      mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
      const uint32_t empty = shared_address(&shared.empty[at.stage]);
      if (projection) {
        const uint32_t a = shared_address(shared.page[at.stage].weights);
        const uint32_t b = shared_address(shared.page[at.stage].inputs);
#pragma unroll
        for (uint32_t along_k = 0; along_k < 2 * kBlock; along_k += 32)  // 16 elements at a time
          tcgen05_mma_f16(accumulator + page % halves * S::kN, layout::at_address(kOperand, a + along_k),
                          layout::at_address(kOperand, b + along_k), kInstruction<S::kN>, page >= halves || along_k);
        tcgen05_commit(empty);
      }
      mbarrier_arrive(empty);
    }
    if (!projection) continue;
    // Two arrivals: the sums are there, and this thread has seen all loads of the task end.
    tcgen05_commit(shared_address(&shared.accumulated[into.stage]));
    mbarrier_arrive(shared_address(&shared.accumulated[into.stage]));
    into.advance();
  }
}

template <class S>
__device__ void finish(const Arguments& args, S& shared, uint32_t columns) {
  Ring<S::kPages> at;
  Ring<kAccumulators> from;
  for (Walk<S> walk(shared); walk.next();) {
    const Task task = walk.task;
    mbarrier_wait_parity(walk.ready(), walk.at.parity);
    __syncwarp();
    if (elect_sync()) mbarrier_arrive(shared_address(&shared.slot[walk.at.stage].taken));
    walk.at.advance();
    if (task.op == Op::norm) {
      normalise(args, task, shared);
    } else if (task.op == Op::attend) {
      attend(args, task, shared, at);
    } else {
      mbarrier_wait_parity(shared_address(&shared.accumulated[from.stage]), from.parity);
      tcgen05_fence_after_thread_sync();
      note_sum(args, task);
      finish_projection(args, task, shared, columns + from.stage * 2 * S::kN,
                        shared_address(&shared.drained[from.stage]));
      from.advance();
      for (uint32_t page = 0; page < task.pages; ++page) at.advance();  // the MMA thread's
    }
  }
}

template <uint32_t N, uint32_t Pages, class Source>
__global__ void __launch_bounds__(kThreads) layer(const __grid_constant__ Arguments args, uint32_t first) {
  extern __shared__ __align__(1024) uint8_t memory[];
  using S = Shared<N, Pages, Source::kSlots>;
  auto& shared = *reinterpret_cast<S*>(memory);
  if constexpr (Source::kDependent) griddepcontrol_launch_dependents();
  const uint32_t columns = begin_cta(shared), warp = threadIdx.x / 32;
  if (warp == 0) {
    if (elect_sync()) control(args, shared, Source(args, first));
  } else if (warp == 1) {
    if (elect_sync()) load_weights(args, shared);
  } else if (warp == 2) {
    load_inputs<S, Source>(args, shared);
  } else if (warp == 3) {
    if (elect_sync()) multiply(shared, columns);
  } else {
    finish(args, shared, columns);
  }
  __syncwarp();
  tensor_kernel::end(columns, kColumns<N>);
}

}  // namespace megakernel::kernels
