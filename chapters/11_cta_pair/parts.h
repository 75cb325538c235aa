// Chapter 11's two halves: clusters (clusters.cu), and the pair (pair.cu), which needs a Blackwell.
#pragma once
#include "common/harness/chapter.h"

/// Ranks, distributed shared memory, the cluster's barrier, hand-overs, multicast; and their mistakes.
void add_clusters(gen5::harness::Chapter& chapter);
/// tcgen05.mma of two CTAs, its commits, and a pipeline of a pair; and their mistakes.
void add_pair(gen5::harness::Chapter& chapter);
