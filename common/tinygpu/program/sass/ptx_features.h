// Features by which an instruction of PTX is found in its machine code.
#pragma once
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/lower.h"
#include "common/tinygpu/program/sass/sass_code.h"

namespace tinygpu {

struct PtxFeatures {
  InstructionKind kind = InstructionKind::other;
  bool floating = false;    // f32 or f64 arithmetic
  bool special = false;     // of the slow unit (ex2, rcp, popc …)
  bool shared_out = false;  // it has no counterpart of its own: arithmetic of integers, moves, branches
  bool sequence = false;    // ptxas makes many of it: a division, a root
  bool product = false;     // of integers
  uint8_t weight = 1;       // how many instructions it is about
  bool branches = false;    // or leaves
  /// What may pass it: anything that needs no result of it; other reads of memory; of memory, nothing; nothing.
  enum class Order : uint8_t { free, reads, writes, sync, fixed } order = Order::free;
};

/// By place in the code, whose ops have their price (schedule/issue_cost.h).
std::vector<PtxFeatures> features_of(const Function& f, const LoweredFunction& code);

}  // namespace tinygpu
