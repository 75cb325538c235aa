// Loops on all threads of the host.
#pragma once
#include <oneapi/tbb/parallel_for.h>

#include "common/harness/thread_sanitizer.h"

#ifdef GEN5_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#define GEN5_NOT_INSTRUMENTED __attribute__((no_sanitize("thread")))
#else
#define GEN5_NOT_INSTRUMENTED
#endif

namespace gen5::harness {

/// Tells ThreadSanitizer what oneTBB, whose library is not instrumented, cannot: calls of a loop come after what its
/// thread did before, and before what it does afterwards.
class LoopOrder {
#ifdef GEN5_THREAD_SANITIZER
 public:
  LoopOrder() { __tsan_release(&begin_); }
  ~LoopOrder() { __tsan_acquire(&end_); }
  LoopOrder(const LoopOrder&) = delete;
  LoopOrder& operator=(const LoopOrder&) = delete;
  void before_call() { __tsan_acquire(&begin_); }
  void after_call() { __tsan_release(&end_); }

 private:
  char begin_, end_;  // two places: calls that one thread makes in turn count as unordered all the same
#else
 public:
  void before_call() {}
  void after_call() {}
#endif
};

/// body(part) for all parts of a range of oneTBB's.
template <class Range, class Body>
void for_parts(const Range& range, const Body& body) {
  LoopOrder order;
  oneapi::tbb::parallel_for(range, [&order, &body](const Range& part) GEN5_NOT_INSTRUMENTED {
    order.before_call();
    body(part);
    order.after_call();
  });
}

/// f(i) for all i below n.
template <class Index, class F>
void for_all(Index n, const F& f) {
  using Range = oneapi::tbb::blocked_range<Index>;
  for_parts(Range(0, n), [&](const Range& part) {
    for (Index i = part.begin(); i < part.end(); ++i) f(i);
  });
}

}  // namespace gen5::harness
