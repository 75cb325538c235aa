// A block of PTX in the order that ptxas chose. Where loads feed tensor cores, that order decides which loads, moves
// and waits overlap with products. Each instruction of PTX takes the place of a machine instruction of its kind, as far
// as its operands allow; the other machine instructions are time that passes between them.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "common/tinygpu/program/lower/lower.h"
#include "common/tinygpu/program/sass/sass_code.h"

namespace tinygpu {

/// Machine instructions that have no counterpart in PTX, in a row; the first may wait, the last may bring something.
struct SassStep {
  uint16_t stall = 0;
  uint8_t issue = 0, occupies = 0;
  Pipe pipe = Pipe::none;
  uint8_t waits = 0, sets = SassInstruction::kNone, latency = 0;
};

/// A block of PTX, place by place.
struct SassBlock {
  uint32_t begin = 0;           // its first instruction
  std::vector<uint32_t> order;  // which instruction of PTX stands at begin + i
  struct Place {
    std::vector<SassStep> before;
    uint16_t stall = 0;  // behind the instruction
    uint8_t waits = 0, sets = SassInstruction::kNone, reads = SassInstruction::kNone;
  };
  std::vector<Place> places;
  bool of_loop = false;  // its last branch leads back
};

struct PtxFeatures;  // program/sass/ptx_features.h

/// Instructions [begin, end) of PTX, which are a block, in the order of `code`; empty if they are something else, or
/// cannot stand in that order.
std::optional<SassBlock> order_block(const std::vector<PtxFeatures>& features, const std::vector<Touch>& touches,
                                     uint32_t begin, uint32_t end, std::span<const SassInstruction> code);

/// Puts the instructions of such blocks into that order; `step` executes the machine instructions that PTX does not
/// have.
void reorder(LoweredFunction& code, const std::vector<SassBlock>& blocks, ExecFn step);

}  // namespace tinygpu
