// The roles that fetch: tasks into slots, weights and inputs into pages. Both machines share them; what a page holds of
// a projection, its shared memory `S` says:
//
//   static constexpr uint32_t kInFlight, kAttendInFlight;  // pages that may be on their way at a time
//   static __device__ void load_weights(args, task, page, where, bar);   // expects their bytes on `bar`, and loads
//   them static __device__ void load_inputs(args, task, page, where, bar);
//
// A step says where a CTA's tasks come from, and how it learns that a task's inputs are there:
//
//   struct Source {
//     static constexpr bool kDependent;        // launched before the grid ahead of it has ended
//     static constexpr bool kCounters;         // tasks of one grid wait for each other: for counters,
//     static constexpr bool kMarked;           // or for marked words (Hopper, one sequence)
//     static constexpr uint32_t kSlots;        // tasks that a CTA fetches ahead
//     static constexpr uint32_t kCtas;         // for which an SM shall have room
//     __device__ Source(const Arguments&, uint32_t first);
//     __device__ const Task* next();           // of the controller: the CTA's next task, null behind the last
//   };
#pragma once
#include "chapters/16_megakernel/pages.cuh"

namespace megakernel::kernels {

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

/// More loads on their way than memory needs to be busy would not come sooner. Everything else would come later: what
/// tasks hand each other stands in the same queues.
template <class S>
__device__ void load_weights(const Arguments& args, S& shared) {
  static_assert(S::kInFlight <= S::kPages &&
                S::kAttendInFlight <= S::kPages);  // or it would wait for a page's phase before the last
  Ring<S::kPages> to, landing;
  uint32_t in_flight = 0, quiet = 0;
  for (Walk<S> walk(shared); walk.next();) {
    const Task task = walk.task;
    walk.give();
    if (args.ran) note_begin(args.ran[task.number]);
    for (uint32_t page = 0; page < task.pages; ++page, to.advance()) {
      const uint32_t landed = shared_address(&shared.landed[to.stage]);
      mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
      const uint32_t most = task.op == Op::attend ? S::kAttendInFlight : S::kInFlight;
      for (; in_flight >= most; --in_flight, landing.advance())
        mbarrier_wait_parity(shared_address(&shared.landed[landing.stage]), landing.parity);
      ++in_flight;
      if (task.op == Op::attend) {  // of each chunk keys, then values
        const uint32_t boxes = args.dim / 64, head = task.layer * args.batch * args.kv_heads + task.tile;
        mbarrier_arrive_expect_tx(landed, kTile * 2 * kBlock);
        tensor_load_3d(shared_address(shared.page[to.stage].weights), page / boxes % 2 ? &args.values : &args.keys,
                       page % boxes * 64, (task.first + page / (2 * boxes)) * kTile, head, landed);
      } else {
        S::load_weights(args, task, page, shared.page[to.stage], landed);
      }
    }
    if (S::kQuiet && task.quiet) mbarrier_wait_parity(shared_address(&shared.raised), quiet++ % 2);
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
  // Each lane has a page. Their number is even, so that no lane waits for a page that is given back with one of theirs.
  constexpr uint32_t kAtOnce = S::kPages < 4 ? 2 : 4;
  const uint32_t lane = threadIdx.x % 32;
  Ring<S::kPages> to;
  for (uint32_t i = 0; i < lane % kAtOnce; ++i) to.advance();
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
    }
    for (uint32_t first = 0; first < task.pages; first += kAtOnce) {
      const uint32_t count = min(kAtOnce, task.pages - first);
      if (lane < count) {
        const uint32_t full = shared_address(&shared.full[to.stage]);
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        if (is_projection(task.op))
          S::load_inputs(args, task, first + lane, shared.page[to.stage], full);
        else
          mbarrier_arrive(full);
      }
      for (uint32_t i = 0; i < count; ++i) to.advance();
    }
    __syncwarp();
    walk.at.advance();
  }
}

}  // namespace megakernel::kernels
