// The steps' timelines.
#pragma once
#include <cstdint>
#include <optional>

#include "chapters/13_gemm/gemm.h"
#include "common/harness/chapter.h"
#include "common/harness/pipeline.h"

namespace gemm {

/// One SM's work in a step, from who watched it.
gen5::harness::Pipeline watched_pipeline(const Step& step, const Problem& p, const gen5::harness::Watched& watched);
/// Launches the step once more and lets its threads write their stamps.
gen5::harness::Pipeline stamped_pipeline(const Step& step, Problem p);

/// Another step, and what it did.
struct Before {
  const Step& step;
  const gen5::harness::Pipeline& pipeline;
};
/// What `step` did; below what the one before it did, on one scale, if that is given.
void show_timeline(gen5::harness::Report& report, const Step& step, const gen5::harness::Pipeline& pipeline,
                   const std::optional<Before>& before);
/// How to read them.
void show_legend(gen5::harness::Report& report, const gen5::harness::Pipeline& pipeline);

}  // namespace gemm
