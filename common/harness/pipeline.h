// A kernel that loads blocks, works on them and carries results out, as a picture: who did what when on one SM. The
// same picture from what tinygpu saw and from stamps that the kernel took itself.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/harness/timeline.h"

namespace gen5::harness {

struct Watched;  // common/harness/watch.h, which no .cu includes: its JSON takes nvcc seconds

/// What belongs together in a kernel.
struct PipelineShape {
  std::string load = "cp.async.bulk.tensor load", work = "tcgen05.mma";  // operations, by Watched::Operation::kind
  uint32_t loads_of_a_block = 2;  // by the threads of one CTA. 0: threads copy, from the commit before to the first MMA
  uint32_t work_of_a_block = 4;
  uint32_t blocks_of_a_tile = 0;  // numbers start again behind so many; 0: never
  uint32_t reads_of_a_tile = 4;   // tcgen05.ld of one warp
  uint32_t stores_of_a_tile = 0;  // by TMA, of one warp: for kernels whose accumulators are registers
  uint32_t stages = 1;
  int worker = -1;  // a warp whose threads do the work: from when it has waited for a block until it arrives. −1: none
};

struct Pipeline {
  struct Numbered {
    uint32_t number = 0;
    uint64_t begin = 0, end = 0;
  };
  std::vector<Numbered> loads;    // from the request until the bytes are there, or seen to be there
  std::vector<Numbered> work;     // the unit is busy with it
  std::vector<Numbered> outputs;  // a tile is stored
  bool stamped = false;
};

Pipeline pipeline_of(const Watched& watched, const PipelineShape& shape);
/// `stamps` as the kernel left them (stamps.h). Of the CTAs of the first one's SM.
Pipeline pipeline_of(const std::vector<uint64_t>& stamps, const PipelineShape& shape);

struct PipelineNames {
  std::string asks = "producer", loads = "TMA", work = "tensor core", outputs = "epilogue";  // empty: no such lane
};
Picture picture_of(const Pipeline& pipeline, const std::string& title, const PipelineNames& names = {});

/// How to read such pictures, in sentences. `blocks`: what is numbered.
std::string legend(const Pipeline& pipeline, const PipelineNames& names = {}, const std::string& blocks = "blocks");

}  // namespace gen5::harness
