// The held-out kernels: runs those that are named and prints what they took, a line of JSON each.
#include "tests/prediction/run_cases.h"

int main(int argc, char** argv) {
  using namespace prediction;
  CLI::App app{"Kernels that no number of a machine profile was fitted to", "held_out"};
  std::string triton;
  app.add_option("--triton", triton, "Folder that triton_kernels.py wrote: its kernels too");
  return run_cases(app, argc, argv, [&] {
    Cases cases;
    for (const auto add : {add_wgmma_gemms, add_mma_sync_gemms, add_streams, add_rows, add_grids, add_counts,
                           add_pipelines, add_synchronisation, add_latencies, add_arithmetic})
      add(cases);
    if (!triton.empty()) add_triton(cases, triton);
    return cases;
  });
}
