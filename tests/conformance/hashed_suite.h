// A suite of warp cases with hashes for a golden file, on the GPU of this machine.
#pragma once
#include <string>
#include <vector>

#include "tests/conformance/hashed_golden.h"

namespace conformance::warp {

/// main() of the suite's program: gpu_suite_main() of these cases.
int hashed_suite_main(const std::string& name, const std::vector<Case>& cases, int argc, char** argv);

}  // namespace conformance::warp
