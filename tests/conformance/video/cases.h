// Conformance cases: video instructions and isspacep.
#pragma once
#include <vector>

#include "tests/conformance/warp_case.h"

namespace conformance::video {

/// Every case, in a fixed order.
const std::vector<warp::Case>& all_cases();

}  // namespace conformance::video
