#include "chapters/13_gemm/timelines.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/harness/pipeline_run.h"
#include "common/layout/tile.h"

namespace gemm {
namespace {

using namespace gen5::harness;

/// Cycles that a picture shows at most: a block of K has two columns or more.
uint64_t window_of(const Step& step) { return step.tile_n == 128 ? 8400 : 13440; }

PipelineShape shape_of(const Step& step, const Problem& p) {
  PipelineShape s;
  const Ladder& l = ladder(p.kind);
  s.loads_of_a_block = step.number == 1 ? 0 : l.scale_chunks ? 4 : 2;
  s.blocks_of_a_tile = gen5::layout::ceil_div(p.k, l.block_k);
  // A tcgen05.ld reads 128 bytes of a row of D.
  s.reads_of_a_tile = step.tile_n * (p.out == Output::bf16 ? 2 : 4) / 128;
  s.stages = step.stages;
  return s;
}

PipelineNames names_of(const Step& step) {
  PipelineNames names;
  if (step.number == 1) {
    names.asks.clear();
    names.loads = "threads copy";
  }
  return names;
}

Picture picture_of(const Step& step, const Pipeline& pipeline) {
  return gen5::harness::picture_of(pipeline, fmt::format("Step {}, {}:", step.number, step.name), names_of(step));
}

/// What its picture shows needs a second tile of a CTA.
bool tells_of_next_tile(const Step& step) { return step.number == 5 || step.number == 6; }

}  // namespace

Pipeline watched_pipeline(const Step& step, const Problem& p, const Watched& watched) {
  return pipeline_of(watched, shape_of(step, p));
}

Pipeline stamped_pipeline(const Step& step, Problem p) {
  return gen5::harness::stamped_pipeline(shape_of(step, p), [&](uint64_t* stamps) {
    p.stamps = stamps;
    step.launch(p);
  });
}

void show_timeline(Report& report, const Step& step, const Pipeline& pipeline, const std::optional<Before>& before) {
  if (pipeline.loads.empty()) return;
  std::vector<Picture> pictures;
  if (before) pictures.push_back(picture_of(before->step, before->pipeline));
  pictures.push_back(picture_of(step, pipeline));
  const uint64_t length = pictures.back().end() - pictures.back().begin();
  report.picture(draw(pictures, {.window = std::min(length, window_of(step))}));
  report.say(fmt::format("What to see in step {}: {}{}", step.number, step.look,
                         tells_of_next_tile(step) && pipeline.outputs.size() < 2
                             ? " Here its CTA has one tile, so nothing of that shows: try --m 4096 --n 2304 --k 512."
                             : ""));
}

void show_legend(Report& report, const Pipeline& pipeline) {
  if (!pipeline.loads.empty()) report.say(legend(pipeline, {}, "blocks of K"));
}

}  // namespace gemm
