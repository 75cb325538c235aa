#include "tests/prediction/run_cases.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/harness/device.h"

namespace prediction {
namespace {

/// The device's microseconds of each launch. Before them one whose result is checked, so that all of them find the
/// state of the caches that a launch leaves.
nlohmann::json run(const Case& c, int launches, bool check) {
  const Instance kernel = c.make();
  kernel.reset();
  kernel.launch();
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const std::string wrong = check ? kernel.check() : "";
  nlohmann::json row = {{"name", c.name}, {"group", c.group}, {"tensor", c.tensor}};
  if (!wrong.empty()) {
    row["wrong"] = wrong;
    return row;
  }
  gen5::harness::Timer timer;
  std::vector<double> microseconds;
  double cycles = 0;
  for (int i = 0; i < launches; ++i) {
    // Locks and sums must be as a first launch finds them; memset does not wash the caches.
    kernel.reset();
    GEN5_CUDA(cudaDeviceSynchronize());
    timer.start();
    kernel.launch();
    const auto elapsed = timer.stop();
    microseconds.push_back(elapsed.microseconds);
    cycles = elapsed.cycles;
  }
  row["microseconds"] = microseconds;
  if (gen5::harness::current_device().tinygpu) row["cycles"] = std::llround(cycles);
  return row;
}

}  // namespace

int run_cases(CLI::App& app, int argc, char** argv, const std::function<Cases()>& all) try {
  std::vector<std::string> names;
  bool list = false, unchecked = false;
  int launches = 0;
  app.add_option("NAMES", names, "Names to run, or what comes before a '/' in them (default: all)");
  app.add_option("--launches", launches, "Timed launches of each (default: 1 on tinygpu, 3 on a GPU)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--no-check", unchecked, "Do not look at results: for gen5 run --timing-only, which computes none");
  app.add_flag("--list", list, "Print names, groups and kinds, and run nothing");
  CLI11_PARSE(app, argc, argv);

  Cases cases = all();
  if (!names.empty())
    std::erase_if(cases, [&](const Case& c) {
      return std::ranges::none_of(names,
                                  [&](const std::string& n) { return c.name == n || c.name.starts_with(n + '/'); });
    });
  if (cases.empty()) {
    std::cerr << app.get_name() << ": no case is named so; --list prints the names\n";
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
      row = run(c, launches, !unchecked);
    } catch (const std::exception& e) {
      row = {{"name", c.name}, {"wrong", e.what()}};
    }
    right = right && !row.contains("wrong");
    std::cout << row.dump() << std::endl;
  }
  return right ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << app.get_name() << ": " << e.what() << '\n';
  return 1;
}

}  // namespace prediction
