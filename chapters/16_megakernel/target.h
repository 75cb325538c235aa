// What the chapter's two programs differ in beside their kernels: 16_megakernel (tcgen05) and 16_megakernel_hopper.
#pragma once
#include "chapters/16_megakernel/layer.h"

namespace megakernel {

/// How operations are cut into tasks.
struct Tiling {
  uint32_t rows = kTile;            // of weights, of a task
  uint32_t gated = kTile;           // the same of gate_up: so many of gate, and as many of up
  uint32_t columns = kBlock;        // along K, of a page
  uint32_t tokens = kLargestBatch;  // rows of x that a task multiplies, at most
  bool gate_apart = true;           // gate's and up's weights have pages of their own
  bool split = true;                // tasks may share a tile, each with a part of K
  bool norms_apart = true;  // norms are operations; otherwise a projection of x normalises it while it multiplies
};

struct Step;

struct Target {
  const char* title;
  const char* machine;  // tinygpu's, where there is no such GPU
  Tiling (*tiling)(const Sizes& sizes);
  uint32_t (*input_rows)(const Sizes& sizes);  // of a box of inputs
  const Step* marked = nullptr;                // a step for one sequence, behind those that both have
  bool in_turns = false;                       // tasks are dealt out in turns; or those of the critical path first
  bool quiet = false;                          // the kernel knows quiet tasks (Task::quiet)
};
/// Of this program: blackwell.cpp, or hopper/target.cpp.
extern const Target kTarget;

}  // namespace megakernel
