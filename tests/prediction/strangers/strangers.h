// Kernels of other people, by which the clock is judged a second time.
#pragma once
#include "tests/prediction/cases.h"

namespace prediction {

/// Of the folder that capture.py wrote; throws where it is not there.
void add_captured(Cases& cases, const std::string& folder);
/// CUTLASS's tiles and clusters, where this program was built with them.
void add_cutlass_gemms(Cases& cases);

}  // namespace prediction
