// The held-out kernels: runs those that are named and prints what they took, a line of JSON each.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/harness/device.h"
#include "tests/prediction/cases.h"

namespace {

using namespace prediction;

/// The device's microseconds of each launch. Before them one whose result is checked, so that all of them find the
/// state of the caches that a launch leaves.
nlohmann::json run(const Case& c, int launches) {
  const Instance kernel = c.make();
  kernel.reset();
  kernel.launch();
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const std::string wrong = kernel.check();
  nlohmann::json row = {{"name", c.name}, {"group", c.group}, {"tensor", c.tensor}};
  if (!wrong.empty()) {
    row["wrong"] = wrong;
    return row;
  }
  gen5::harness::Timer timer;
  std::vector<double> microseconds;
  for (int i = 0; i < launches; ++i) {
    // Locks and sums must be as a first launch finds them; memset does not wash the caches.
    kernel.reset();
    GEN5_CUDA(cudaDeviceSynchronize());
    timer.start();
    kernel.launch();
    microseconds.push_back(timer.stop().microseconds);
  }
  row["microseconds"] = microseconds;
  return row;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Kernels that no number of a machine profile was fitted to", "held_out"};
  std::vector<std::string> names;
  std::string triton;
  bool list = false;
  int launches = 0;
  app.add_option("NAMES", names, "Names to run, or what comes before a '/' in them (default: all)");
  app.add_option("--triton", triton, "Folder that triton_kernels.py wrote: its kernels too");
  app.add_option("--launches", launches, "Timed launches of each (default: 1 on tinygpu, 3 on a GPU)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--list", list, "Print names, groups and kinds, and run nothing");
  CLI11_PARSE(app, argc, argv);

  Cases cases;
  for (const auto add : {add_wgmma_gemms, add_mma_sync_gemms, add_streams, add_rows, add_grids, add_counts,
                         add_pipelines, add_synchronisation, add_latencies, add_arithmetic})
    add(cases);
  if (!triton.empty()) add_triton(cases, triton);
  if (!names.empty())
    std::erase_if(cases, [&](const Case& c) {
      return std::ranges::none_of(names,
                                  [&](const std::string& n) { return c.name == n || c.name.starts_with(n + '/'); });
    });
  if (cases.empty()) {
    std::cerr << "held_out: no case is named so; --list prints the names\n";
    return 2;
  }
  if (list) {
    for (const Case& c : cases)
      std::cout << c.name << " | " << c.group << " | " << (c.tensor ? "tensor cores" : "others") << '\n';
    return 0;
  }
  const auto device = gen5::harness::current_device();
  if (launches == 0) launches = device.tinygpu ? 1 : 3;
  bool right = true;
  for (const Case& c : cases) {
    nlohmann::json row;
    try {
      row = run(c, launches);
    } catch (const std::exception& e) {
      row = {{"name", c.name}, {"wrong", e.what()}};
    }
    right = right && !row.contains("wrong");
    if (device.tinygpu && row.contains("microseconds"))
      row["cycles"] = std::llround(device.cycles(row["microseconds"].back()));
    std::cout << row.dump() << std::endl;
  }
  return right ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "held_out: " << e.what() << '\n';
  return 1;
}
