// Conformance cases of the warp's instructions: mma.sync in every shape that sm_90a has, ldmatrix, stmatrix, movmatrix,
// shuffles, votes, match, redux, elect, barrier reductions, atomics and cp.async. Shared by the runner that asks a GPU
// (run_on_gpu.cpp) and by the test that asks tinygpu, so both execute the same text on the same words.
#pragma once
#include <vector>

#include "tests/conformance/warp_case.h"

namespace conformance::warp {

/// Every case, in a fixed order.
const std::vector<Case>& all_cases();

}  // namespace conformance::warp
