// A CTA of this chapter: its roles, how they meet, and what of its shared memory both machines have.
//
//   controller   one thread: fetches tasks ahead into slots
//   loader       one thread: weights, keys and values into pages. It waits for pages, never for other tasks
//   inputs       a warp: waits for the task's counters, then loads what other tasks have made into the same pages
//   MMA          one thread: multiplies page by page (roles.cuh; on Hopper the epilogue's warps do: hopper/roles.cuh)
//   epilogue     128 threads: sums → memory; attention and norms are theirs alone
//
// A page is a stage of a ring that all tasks of a CTA go through: 16 KiB of weights, and the block of inputs that they
// are multiplied with. Pages pass from one task to the next without a pause: the loader fills those that this task has
// given back with the weights of the task after it.
//
// Every role walks every page, also of tasks in which it has nothing to do with it. A role that skipped a page could
// meet its mbarrier two phases later, where the parity is the old one again.
#pragma once
#include "chapters/16_megakernel/arguments.h"
#include "chapters/tensor_kernel.cuh"
#include "common/layout/swizzle.h"
#include "common/layout/tile.h"
#include "common/ptx/barrier.h"
#include "common/ptx/bulk_tensor_3d.h"
#include "common/ptx/counter.h"
#include "common/ptx/elect.h"
#include "common/ptx/fence.h"
#include "common/ptx/launch_control.h"
#include "common/ptx/mbarrier.h"

namespace megakernel::kernels {

using namespace gen5::ptx;
using tensor_kernel::Ring;
namespace layout = gen5::layout;

constexpr uint32_t kEpilogue = 128, kWarps = kEpilogue / 32;  // threads and warps of the epilogue
constexpr uint32_t kEpilogueBarrier = 1;

/// A task that was fetched.
struct Slot {
  Task task;
  uint64_t fetched;  // the controller has written the task
  uint64_t ready;    // what the task needs of others is there
  uint64_t taken;    // all roles have read the task
};

/// What roles share beside pages. `Slots`: tasks that are fetched ahead of the one that the epilogue is at.
template <uint32_t Pages, uint32_t Slots>
struct Meeting {
  static constexpr uint32_t kPages = Pages, kSlots = Slots;
  // Of the epilogue.
  float o[4][kLargestGroup][128];    // of attention: each warp's
  float2 of_warp[4][kLargestGroup];  // its largest score, and its sum
  float newest[kLargestGroup];
  uint32_t last;

  Slot slot[Slots];
  uint64_t landed[Pages];  // the loader's bytes are there
  uint64_t full[Pages];    // those of inputs, too: readers wait for both
  uint64_t empty[Pages];   // arrivals of all that read pages
  uint64_t raised;         // a quiet task has raised its counter
};

/// The mbarriers of a Meeting, by one thread. `readers`: of a page; `takers`: of a task.
template <class S>
__device__ void make_barriers(S& shared, uint32_t readers, uint32_t takers) {
  for (uint32_t i = 0; i < S::kPages; ++i) {
    mbarrier_init(shared_address(&shared.landed[i]), 1);
    mbarrier_init(shared_address(&shared.full[i]), S::kInputWarps);
    mbarrier_init(shared_address(&shared.empty[i]), readers);
  }
  mbarrier_init(shared_address(&shared.raised), 1);
  for (uint32_t i = 0; i < S::kSlots; ++i) {
    mbarrier_init(shared_address(&shared.slot[i].fetched), 1);
    mbarrier_init(shared_address(&shared.slot[i].ready), 1);
    mbarrier_init(shared_address(&shared.slot[i].taken), takers);
  }
}

/// Every reader waits for every page, its own or not, and gives every page back. One that skipped a page could come to
/// its place one phase too early, or two too late: with the parity that it waits for, or for ever without it.
template <class S>
__device__ void wait_for_page(S& shared, const Ring<S::kPages>& at) {
  mbarrier_wait_parity(shared_address(&shared.landed[at.stage]), at.parity);
  mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
}

/// Two pages. Where they are there, which is what the four looks at once are for, that takes a warp no longer than one
/// look.
template <class S>
__device__ void wait_for_two_pages(S& shared, const Ring<S::kPages>& at, const Ring<S::kPages>& next) {
  const bool landed = mbarrier_test_wait_parity(shared_address(&shared.landed[at.stage]), at.parity),
             full = mbarrier_test_wait_parity(shared_address(&shared.full[at.stage]), at.parity),
             next_landed = mbarrier_test_wait_parity(shared_address(&shared.landed[next.stage]), next.parity),
             next_full = mbarrier_test_wait_parity(shared_address(&shared.full[next.stage]), next.parity);
  if (landed & full & next_landed & next_full) return;
  wait_for_page(shared, at);
  wait_for_page(shared, next);
}

/// This warp of the epilogue has read the next `count` pages.
template <class S>
__device__ void give_pages(S& shared, Ring<S::kPages>& at, uint32_t count) {
  fence_proxy_async_shared();  // these reads before the loader's next write
  __syncwarp();
  for (; count; --count, at.advance())
    if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&shared.empty[at.stage]));
}
template <class S>
__device__ void give_page(S& shared, Ring<S::kPages>& at) {
  give_pages(shared, at, 1);
}

/// A source (loads.cuh) of tasks of which each warp logs when it takes one. Others pay nothing for that.
template <class Source>
struct Logged : Source {
  __device__ Logged(const Arguments& args, uint32_t first) : Source(args, first) {}
};
template <class Source>
constexpr bool kIsLogged = false;
template <class Source>
constexpr bool kIsLogged<Logged<Source>> = true;

/// This warp, or the thread of it that has a role, takes the task. An atomic, as another lane may have noted the task
/// before, and the log shall be no race itself.
template <class S>
__device__ void log_taken(const Arguments& args, uint32_t number) {
  if constexpr (S::kLogs)
    if (threadIdx.x % 32 == uint32_t(__ffs(int(__activemask())) - 1))
      atomicMax(&args.taken[number].at[threadIdx.x / 32], (unsigned long long)clock64());
}

/// A role's way through the tasks.
template <class S>
struct Walk {
  S& shared;
  Ring<S::kSlots> at;
  Task task;

  __device__ explicit Walk(S& s) : shared(s) {}
  /// The next task; false: there is none. Whoever has called it has to give the slot back.
  __device__ bool next(const Arguments& args) {
    mbarrier_wait_parity(shared_address(&shared.slot[at.stage].fetched), at.parity);
    task = shared.slot[at.stage].task;
    if (task.op != Op::none) log_taken<S>(args, task.number);
    return task.op != Op::none;
  }
  __device__ uint32_t ready() const { return shared_address(&shared.slot[at.stage].ready); }
  /// This thread needs the slot no longer.
  __device__ void give() {
    mbarrier_arrive(shared_address(&shared.slot[at.stage].taken));
    at.advance();
  }
  /// The same of a warp of the epilogue, which waits first for what the task needs of others.
  __device__ void take_inputs() {
    mbarrier_wait_parity(ready(), at.parity);
    __syncwarp();
    if (elect_sync()) mbarrier_arrive(shared_address(&shared.slot[at.stage].taken));
    at.advance();
  }
};

__device__ inline unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

/// A task's first moment.
__device__ inline void note_begin(Ran& ran) {
  ran.loads = nanoseconds();
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  ran.sm = sm;
  ran.cta = blockIdx.x;
}

}  // namespace megakernel::kernels
