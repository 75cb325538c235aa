// Matches PTX with its machine code (sass_code.h): loops by the kinds of their instructions; a loop's other machine
// instructions are distributed over its other PTX instructions.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/program/lower/flow.h"
#include "common/tinygpu/program/lower/touch.h"
#include "common/tinygpu/program/sass/ptx_features.h"
#include "common/tinygpu/program/sass/sass_code.h"
#include "common/tinygpu/program/sass/sass_order.h"

namespace tinygpu {

/// Times that the machine code gives to PTX.
struct SassMatch {
  struct Share {
    bool known = false;
    float chain = 1;  // what is left of its latency: where two become one, the next waits for one
    uint8_t issue = 0, occupies = 0;
    Pipe pipe = Pipe::none;
  };
  std::vector<Share> shares;  // by place in the code
  struct LoopShare {
    std::vector<uint32_t> blocks;  // all, sorted
    std::vector<uint32_t> own;     // of those, the ones in no loop inside
    uint32_t header = 0;
    uint32_t unrolled = 1;
    uint32_t turns = 1;         // whose loads go together
    bool no_loads = false;      // they stand before it
    uint32_t cycles = 0;        // of a turn, by the compiler's stalls; 0: not known
    uint32_t least = 0;         // where it is not, cycles of a turn besides the waits for its loads
    uint32_t instructions = 0;  // of the machine code's loop, with those inside
  };
  std::vector<LoopShare> loops;
  /// Cycles that a warp waits before an instruction, for special registers and constants.
  struct Wait {
    uint32_t place = 0;
    uint32_t cycles = 0;
  };
  std::vector<Wait> waits;
  std::vector<SassBlock> blocks;  // whose every instruction has its place
};

/// `features`, `touches`: by place in the code.
SassMatch match_sass(const std::vector<PtxFeatures>& features, const std::vector<Touch>& touches, const Flow& flow,
                     const SassCode& sass);

}  // namespace tinygpu
