// The machine code that ptxas made of a function, as far as timing needs it: each instruction's unit, its stall, the
// scoreboards that it waits for, its branch target. Read from the cubin beside the PTX (image/machine_code.h); the
// machine executes PTX.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "common/tinygpu/program/op.h"

namespace tinygpu {

/// Cycles of the issue port that an instruction of the slow unit takes: half as many as the unit's (measured on an
/// H200: 16 ex2 take 137 cycles, 112 fma 124, both together 183).
constexpr uint8_t special_issue(uint8_t occupies) { return occupies > 1 ? occupies / 2 : 1; }

/// Kinds of instructions that ptxas translates one to one: they identify a part of PTX in its machine code.
enum class InstructionKind : uint8_t {
  other,
  load,  // through the generic window: either of the next two
  global_load,
  shared_load,
  global_store,
  shared_store,
  global_atomic,
  shared_atomic,
  local,
  shuffle,
  vote,
  barrier,
  matrix,
  copy,        // cp.async
  copy_group,  // its commit_group
  copy_wait,   // its wait_group
  engine,      // mbarriers, bulk copies, the tensor cores that warps don't feed
  count_
};
using KindCounts = std::array<uint32_t, size_t(InstructionKind::count_)>;

struct SassInstruction {
  static constexpr uint8_t kNone = 7;
  InstructionKind kind = InstructionKind::other;
  Pipe pipe = Pipe::none;
  uint8_t occupies = 0;   // cycles of the pipe
  uint8_t stall = 1;      // cycles until the warp's next instruction
  uint8_t sets = kNone;   // scoreboard that its result releases
  uint8_t reads = kNone;  // scoreboard that it releases when it has read its registers
  uint8_t waits = 0;      // bit: scoreboard
  uint8_t latency = 0;    // of a result that releases a scoreboard and has no counterpart in PTX
  bool guarded = false;
  bool floating = false;  // f32 or f64 arithmetic
  bool product = false;   // of integers; not a move or a sum that the multiplier makes
  bool branches = false, leaves = false, calls = false;
  int32_t target = -1;  // of a branch: an instruction of the function
};

struct SassCode {
  std::vector<SassInstruction> code;
  /// Lines of 64 bytes of constants that are looked at on the shortest way to the function's first bulk copy out of
  /// global memory; those of LDC count apart, which has a cache of its own. 0: there is no such copy.
  uint32_t lines_before_copy = 0;
};

}  // namespace tinygpu
