// Runs the cases of mma.sp.sync, wmma and the rounding modes of f64 on the GPU of this machine:
// conformance_warp_matrices --check h200.golden.zst
#include "tests/conformance/hashed_suite.h"
#include "tests/conformance/warp_matrices/cases.h"

int main(int argc, char** argv) {
  return conformance::warp::hashed_suite_main("warp_matrices", conformance::warp_matrices::all_cases(), argc, argv);
}
