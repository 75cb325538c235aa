// The roles that fetch: tasks into slots, weights and inputs into pages. Both machines share them; what a page holds of
// a projection, its shared memory `S` says:
//
//   static constexpr uint32_t kInFlight, kAttendInFlight;  // pages that may be on their way at a time,
//   static constexpr uint32_t kSteadyInFlight;             // and behind the first few of a long task
//   static constexpr uint32_t kAhead, kPace;  // pages that L2 is asked for ahead of the ring's, and cycles between two
//   static constexpr uint32_t kInputWarps;    // that arrive on a page's `full`
//   static constexpr bool kByPage;            // a projection's inputs are waited for page by page, not all at first
//   static __device__ uint32_t columns_of(task, pages);  // of its inputs, that its first pages are multiplied with
//   // expects their bytes on `bar`, and loads them:
//   static __device__ void load_weights(args, task, page, where, bar);
//   static __device__ void load_inputs(args, task, page, where, bar);
//   static __device__ void prefetch_weights(args, task, page);  // into L2
//
// A step says where a CTA's tasks come from, and how it learns that a task's inputs are there:
//
//   struct Source {
//     static constexpr bool kDependent;        // launched before the grid ahead of it has ended
//     static constexpr bool kCounters;         // tasks of one grid wait for each other: for counters,
//     static constexpr bool kMarked;           // or for marked words (Hopper, one sequence)
//     static constexpr uint32_t kSlots;        // tasks that a CTA fetches ahead
//     static constexpr uint32_t kCtas;         // for which an SM shall have room
//     static constexpr bool kListed;           // the CTA's tasks to come are known
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
    if (task) log_taken<S>(args, task->number);
    mbarrier_wait_parity(shared_address(&shared.slot[to.stage].taken), to.parity ^ 1);
    shared.slot[to.stage].task = task ? *task : Task{};
    mbarrier_arrive(shared_address(&shared.slot[to.stage].fetched));
    if (!task) return;
  }
}

/// The box of the cache that page `page` of an attention holds: of each chunk keys, then values. A prefill's are made
/// by other tasks, so that its inputs' warp loads them; otherwise the loader does.
struct CacheBox {
  const CUtensorMap* map;
  uint32_t column, key, head;

  __device__ CacheBox(const Arguments& args, const Task& task, uint32_t page) {
    const uint32_t boxes = args.dim / 64;
    map = page / boxes % 2 ? &args.values : &args.keys;
    column = page % boxes * 64;
    key = (task.first + page / (2 * boxes)) * kTile;
    head = task.layer * (args.prefill ? 1 : args.batch) * args.kv_heads + task.tile;
  }
  __device__ void load(uint8_t* to, uint32_t full) const {
    mbarrier_arrive_expect_tx(full, kTile * 2 * kBlock);
    tensor_load_3d(shared_address(to), map, column, key, head, full);
  }
};

/// In place of Ahead, where there is none.
struct None {
  template <class... Words>
  __device__ explicit None(const Words&...) {}
};

/// Memory would be idle while the ring is full. So the loader brings pages ahead of the ring's into L2 then, one each
/// S::kPace cycles. Memory needs 920 for a page of each SM: what tasks hand each other does not wait behind these. It
/// goes on while it is ahead, as what the ring takes comes out of L2 meanwhile.
template <class S, class Source>
class Ahead {
 public:
  __device__ Ahead(const Arguments& args, const Source& source) : args_(args), source_(source) {
    task_ = source_.next();
    last_ = clock();
  }
  /// The ring has taken a page.
  __device__ void taken() { --distance_; }
  __device__ bool is_ahead() const { return distance_ > 0; }
  /// Asks for a page where it is time to. False: there was nothing to do.
  __device__ bool maybe() {
    if (distance_ >= int32_t(S::kAhead) || uint32_t(clock() - last_) < S::kPace || !task_) return false;
    for (;;) {  // behind the ring's pages
      const uint32_t there = task_->pages - page_, step = min(there, uint32_t(max(-distance_, 0)));
      page_ += step;
      distance_ += int32_t(step);
      if (page_ < task_->pages) break;
      page_ = 0;
      if (!(task_ = source_.next())) return false;
    }
    if (task_->op == Op::attend) {
      const CacheBox box(args_, *task_, page_);
      tensor_prefetch_3d(box.map, box.column, box.key, box.head);
    } else {
      S::prefetch_weights(args_, *task_, page_);
    }
    ++page_;
    ++distance_;
    last_ = clock();
    return true;
  }

 private:
  const Arguments& args_;
  Source source_;
  const Task* task_;  // and its next page
  uint32_t page_ = 0;
  int32_t distance_ = 0;  // from the ring's next page
  clock_t last_;
};

/// More loads on their way than memory needs to be busy would not come sooner. Everything else would come later: what
/// tasks hand each other stands in the same queues.
template <class S, class Source>
__device__ void load_weights(const Arguments& args, S& shared, const Source& source) {
  constexpr bool kAhead = Source::kListed && S::kAhead > 0;
  // Or it would wait for a page's phase before the last.
  static_assert(S::kInFlight <= S::kSteadyInFlight && S::kSteadyInFlight <= S::kPages &&
                S::kAttendInFlight <= S::kPages);
  Ring<S::kPages> to, landing;
  uint32_t in_flight = 0, quiet = 0;
  std::conditional_t<kAhead, Ahead<S, Source>, None> ahead(args, source);
  for (Walk<S> walk(shared); walk.next(args);) {
    const Task task = walk.task;
    walk.give();
    if (args.ran) note_begin(args.ran[task.number]);
    for (uint32_t page = 0; page < task.pages; ++page, to.advance()) {
      const uint32_t landed = shared_address(&shared.landed[to.stage]);
      const uint32_t empty = shared_address(&shared.empty[to.stage]);
      if constexpr (kAhead) {
        for (bool full = true; full;) {
          full = !mbarrier_test_wait_parity(empty, to.parity ^ 1);
          if ((full || ahead.is_ahead()) && !ahead.maybe() && full) __nanosleep(50);
        }
      } else {
        mbarrier_wait_parity(empty, to.parity ^ 1);
      }
      const uint32_t most = task.op == Op::attend                                             ? S::kAttendInFlight
                            : Source::kListed && is_long(task.op) && page >= S::kInFlight + 1 ? S::kSteadyInFlight
                                                                                              : S::kInFlight;
      for (; in_flight >= most; --in_flight, landing.advance())
        mbarrier_wait_parity(shared_address(&shared.landed[landing.stage]), landing.parity);
      ++in_flight;
      if (task.op == Op::attend && is_prefill(S::kN)) {
        mbarrier_arrive(landed);
      } else if (task.op == Op::attend) {
        CacheBox(args, task, page).load(shared.page[to.stage].weights, landed);
      } else {
        S::load_weights(args, task, page, shared.page[to.stage], landed);
      }
      if constexpr (kAhead) ahead.taken();
    }
    if (S::kQuiet && task.quiet) mbarrier_wait_parity(shared_address(&shared.raised), quiet++ % 2);
  }
}

/// What a warp knows of the counters of a task that takes its inputs page by page: so many of them have been raised,
/// from the first one on.
template <bool Acquires>
class Raised {
 public:
  __device__ Raised(const Arguments& args, const Task& task)
      : counters_(args.counters + task.wait_first),
        target_((args.run + 1) * task.wait_for),
        count_(task.waits),
        columns_(task.wait_columns) {}
  /// Are the first `columns` columns of the inputs there? It looks where it does not know, once.
  __device__ bool there(uint32_t columns) {
    const uint32_t wanted = columns ? min(count_, (columns - 1) / columns_ + 1) : 0;
    if (known_ < wanted) look();
    return known_ >= wanted;
  }
  /// Waits for them. True: it did not know.
  __device__ bool wait(uint32_t columns) {
    const uint32_t before = known_;
    while (!there(columns)) {
    }
    __syncwarp();
    return known_ > before;
  }
  __device__ void wait_for_all() { wait(count_ * columns_); }

 private:
  /// Each lane looks at a counter.
  __device__ void look() {
    const uint32_t i = known_ + threadIdx.x % 32;
    const uint32_t* const counter = counters_ + min(i, count_ - 1);
    const uint32_t value = Acquires ? counter_read(counter) : word_read(counter);
    const uint32_t missing = __ballot_sync(0xffffffff, i >= count_ || int32_t(value - target_) < 0);
    known_ += missing ? uint32_t(__ffs(int(missing))) - 1 : 32;
  }
  const uint32_t* const counters_;
  const uint32_t target_, count_, columns_;
  uint32_t known_ = 0;
};

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
  constexpr bool kByPage = Source::kCounters && S::kByPage;
  const uint32_t lane = threadIdx.x % 32;
  Ring<S::kPages> to;
  for (uint32_t i = 0; i < lane % kAtOnce; ++i) to.advance();
  if constexpr (Source::kDependent) griddepcontrol_wait();
  for (Walk<S> walk(shared); walk.next(args);) {
    const Task task = walk.task;
    Raised<true> raised(args, task);
    const bool by_page = kByPage && is_projection(task.op) && task.waits;
    if (by_page)
      raised.wait(S::columns_of(task, min(kAtOnce, task.pages)));
    else if constexpr (Source::kCounters)
      wait_for_counters(args, task);
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
      if constexpr (kByPage)
        if (by_page && raised.wait(S::columns_of(task, first + count))) fence_proxy_async_global();
      if (lane < count) {
        const uint32_t full = shared_address(&shared.full[to.stage]);
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        if (is_projection(task.op))
          S::load_inputs(args, task, first + lane, shared.page[to.stage], full);
        else if (is_prefill(S::kN))
          CacheBox(args, task, first + lane).load(shared.page[to.stage].weights, full);
        else
          mbarrier_arrive(full);
      }
      for (uint32_t i = 0; i < count; ++i) to.advance();
      // Pages may be given back out of order, as commits of MMAs arrive. In a small ring, a lane that is ahead of
      // others could come to a place for the second time before it was free for the first time.
      if constexpr (is_prefill(S::kN)) __syncwarp();
    }
    __syncwarp();
    walk.at.advance();
  }
}

}  // namespace megakernel::kernels
