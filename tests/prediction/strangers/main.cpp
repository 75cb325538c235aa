// Other people's kernels: runs those that are named and prints what they took, a line of JSON each.
#include "tests/prediction/run_cases.h"
#include "tests/prediction/strangers/strangers.h"

int main(int argc, char** argv) try {
  using namespace prediction;
  CLI::App app{"Kernels of other people, none of which a number of a machine profile was fitted to", "strangers"};
  std::string captured;
  app.add_option("--captured", captured, "Folder that capture.py wrote: its kernels too");
  return run_cases(app, argc, argv, [&] {
    Cases cases;
    add_cutlass_gemms(cases);
    if (!captured.empty()) add_captured(cases, captured);
    return cases;
  });
} catch (const std::exception& e) {
  std::fprintf(stderr, "strangers: %s\n", e.what());
  return 1;
}
