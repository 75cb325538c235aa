// First step of the pipeline: a ptx::Function becomes ops on virtual registers.
#pragma once
#include <deque>
#include <map>
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/decoder.h"
#include "common/tinygpu/program/lower/flow.h"
#include "common/tinygpu/program/lower/symbols.h"
#include "common/tinygpu/program/lower/touch.h"

namespace tinygpu {

/// What stands in an op where its slots will be: a register of the function by its number, or one of these with an
/// index; kNoSlot stays.
constexpr uint32_t kConstantValue = 0x8000'0000, kTemporaryValue = 0x4000'0000;

struct LoweredInstruction {
  Op op;
  std::vector<Op> before;  // ops that make operands of it: they read Op::a and write Op::dst
  bool unread = false;     // no instruction reads its result
};

struct LoweredFunction {
  Flow flow;
  std::vector<LoweredInstruction> code;                     // by place: as in the body, until ptxas's order is known
  std::vector<Touch> touches;                               // of `code`
  std::vector<FrameConstant> constants;                     // whose slots are still to come
  uint32_t temporaries = 0;                                 // of 256 bytes; each instruction begins anew with the first
  std::deque<OperandList> lists;                            // of Op::list
  std::map<uint32_t, std::vector<uint32_t>> branch_tables;  // labels of brx.idx, by index in ptx::Function::targets
};

/// Sets f.calls_any too.
LoweredFunction lower(Function& f, const Symbols& symbols, const InstructionSet& isa);

}  // namespace tinygpu
