// Conformance cases: mma.sp.sync, wmma and the rounding modes of f64.
#pragma once
#include <vector>

#include "tests/conformance/warp_case.h"

namespace conformance::warp_matrices {

/// Every case, in a fixed order.
const std::vector<warp::Case>& all_cases();

}  // namespace conformance::warp_matrices
