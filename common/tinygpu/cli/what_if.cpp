#include "common/tinygpu/cli/what_if.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/cli/counted_runs.h"
#include "common/tinygpu/observe/report/html.h"
#include "common/tinygpu/timing/free_work.h"

namespace tinygpu::cli {
namespace {

using observe::thousands;
using Json = nlohmann::ordered_json;

/// The page shows no more kernels, and an environment variable has its limits.
constexpr size_t kKernels = 64;

/// A run in which work took no time; none: the program as it is.
struct FreeVariant {
  std::string words, value;  // "bank conflicts", "bank-conflicts"
};

std::vector<FreeVariant> free_variants() {
  std::vector<FreeVariant> out(1);
  FreeVariant all{"all of them", ""};
  for (const FreeKind& k : free_kinds()) {
    out.push_back({std::string(k.words), std::string(k.name)});
    all.value += (all.value.empty() ? "" : ",") + std::string(k.name);
  }
  out.push_back(std::move(all));
  return out;
}

std::string change(uint64_t cycles, uint64_t base) {
  if (!base) return "";
  const double by = 100 * (double(cycles) - double(base)) / double(base);
  return fmt::format("{}{:.1f} %", by < 0 ? "−" : "+", std::abs(by));
}

std::string end_of(int status) {
  return WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                           : fmt::format("signal {}", WTERMSIG(status));
}

uint64_t cycles_of(const CountedRun& run, const std::string& kernel) {
  const auto it = std::ranges::find(run.kernels, kernel, &std::pair<std::string, uint64_t>::first);
  return it == run.kernels.end() ? 0 : it->second;
}

}  // namespace

std::string what_if(const std::vector<std::string>& command, const Settings& settings, uint32_t jobs) {
  choose_names(settings);
  // What a run writes is written by the last one, which is not one of these.
  Settings of_all = settings;
  for (const char* file :
       {"GEN5_REPORT", "GEN5_AGAINST", "GEN5_TRACE", "GEN5_PROFILE", "GEN5_PROFILE_JSON", "GEN5_SARIF"})
    of_all[file] = "";
  CountedRuns runs(command, of_all, jobs);
  const std::vector<FreeVariant> wanted = free_variants();
  std::vector<CountedRun> done(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) done[i].settings = {{"GEN5_FREE", wanted[i].value}};
  runs.take(done);

  const CountedRun& base = done[0];
  Json kernels = Json::array();
  for (const auto& [name, cycles] : base.kernels) {
    fmt::print("{}{}: {} cycles\n", kernels.empty() ? "" : "\n", kernel_label(name), thousands(cycles));
    Json free = Json::object();
    for (size_t i = 1; i < wanted.size(); ++i) {
      const uint64_t then = cycles_of(done[i], name);
      fmt::print("  if {:<14} were free: {:>14} cycles  ({})\n", wanted[i].words, thousands(then),
                 change(then, cycles));
      free[wanted[i].words] = then;
    }
    if (kernels.size() < kKernels)
      kernels.push_back({{"kernel", readable_name(name)}, {"cycles", cycles}, {"free", std::move(free)}});
  }
  for (size_t i = 1; i < wanted.size(); ++i)
    if (done[i].status != base.status)
      fmt::print("\nThe program ended with {} when {} were free, and with {} as it is: its control depends on time.\n",
                 end_of(done[i].status), wanted[i].words, end_of(base.status));
  fmt::print("\nFree means:\n");
  for (const FreeKind& k : free_kinds()) fmt::print("  {}: {}.\n", k.words, k.meaning);
  fmt::print("Only the clock changes: results and checks stay what they are. {} runs of the program.\n", runs.count());
  std::fflush(stdout);
  return kernels.dump();
}

}  // namespace tinygpu::cli
