// The steps' timelines.
#pragma once
#include "chapters/14_attention/attention.h"
#include "chapters/14_attention/reference.h"
#include "common/harness/chapter.h"
#include "common/harness/watch.h"

namespace attention {

/// What one SM did in `step`; above it, on the same scale, what it did in the step before, if that was watched too.
void show_timeline(gen5::harness::Report& report, const Inputs& in, const Step& step,
                   const gen5::harness::Watched& watched, const Step* before,
                   const gen5::harness::Watched* watched_before);
/// How to read them.
void show_legend(gen5::harness::Report& report);

}  // namespace attention
