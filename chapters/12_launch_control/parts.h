// Chapter 12's two halves: launch control (claims.cu, Blackwell), and grids that follow each other (order.cu).
#pragma once
#include <string>

#include "common/harness/chapter.h"
#include "common/harness/timeline.h"

/// clusterlaunchcontrol: requests, asking ahead, uneven tiles, clusters; and their mistakes.
void add_claims(gen5::harness::Chapter& chapter);
/// griddepcontrol, and tasks that follow each other through counters in global memory; and their mistakes.
void add_order(gen5::harness::Chapter& chapter);

/// Something that ran from one %globaltimer to another, in nanoseconds, on an SM.
struct Ran {
  unsigned long long begin, end;
  uint32_t sm, what;
};
