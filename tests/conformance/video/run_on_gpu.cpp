// Runs the cases of video instructions and isspacep on the GPU of this machine: conformance_video --check
// h200.golden.zst
#include "tests/conformance/hashed_suite.h"
#include "tests/conformance/video/cases.h"

int main(int argc, char** argv) {
  return conformance::warp::hashed_suite_main("video", conformance::video::all_cases(), argc, argv);
}
