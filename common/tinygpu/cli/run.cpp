#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/tinygpu/api/options.h"
#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/program.h"
#include "common/tinygpu/cli/what_if.h"
#include "common/tinygpu/observe/report/compare.h"
#include "common/tinygpu/observe/report/saved_report.h"

namespace tinygpu::cli {
namespace {

struct RunOptions {
  Settings settings;
  std::vector<std::string> diff;
  bool what_if = false;
  uint32_t jobs = std::max(1u, std::thread::hardware_concurrency());
};

/// Two reports, in the terminal.
void compare_reports(const std::string& before, const std::string& after) {
  const auto old_data = observe::read_saved_report(before), new_data = observe::read_saved_report(after);
  fmt::print("{}", observe::render(observe::compare(old_data, before, new_data, after)));
}

/// Something that only the run itself writes or prints.
bool wants_the_run(const Settings& settings) {
  return std::ranges::any_of(settings, [](const auto& s) {
    for (const char* name : {"GEN5_REPORT", "GEN5_AGAINST", "GEN5_TRACE", "GEN5_PROFILE", "GEN5_PROFILE_JSON",
                             "GEN5_COUNTERS", "GEN5_SARIF"})
      if (s.first == name) return true;
    return false;
  });
}

[[noreturn]] void run_program(RunOptions& run, const std::vector<std::string>& command) {
  if (const auto against = run.settings.find("GEN5_AGAINST"); against != run.settings.end())
    observe::read_saved_report(against->second);  // what is wrong with it is said before the program runs
  if (run.what_if) {
    run.settings["GEN5_WHAT_IF"] = what_if(command, run.settings, run.jobs);
    if (!wants_the_run(run.settings)) throw CLI::Success();
  }
  if (!std::getenv("GEN5_EXIT_CODE")) run.settings.try_emplace("GEN5_EXIT_CODE", "1");
  prepare(command, run.settings);
  throw CLI::RuntimeError(become(command));
}

}  // namespace

void add_run(CLI::App& app) {
  auto r = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("run",
                                     "Run a CUDA 13 program (with PTX in it) on tinygpu; with --diff A B and no "
                                     "program: compare the runs of two reports");
  add_options(*sub, r->settings, Flags::of_run);
  CLI::Option* what_if = sub->add_flag(
      "--what-if", r->what_if,
      "Print what each kernel would take if loads, MMAs, waits or bank conflicts were free: runs the "
      "program six times. Then run it once more if another option wants that; --report shows the answers");
  sub->add_option("--jobs", r->jobs, "With --what-if: runs at once (default: the host's cores)")
      ->check(CLI::Range(1, 1024))
      ->needs(what_if);
  sub->get_option("--free")->excludes(what_if);
  sub->add_option("--diff", r->diff,
                  "Compare the runs of two reports: times, limits, units, waits, lines. No program runs")
      ->type_name("A B")
      ->expected(2);
  std::string footer =
      "In brackets: the environment variable of the option, for a program that is started without "
      "gen5 run.";
  for (const api::Option& o : api::option_table())
    if (!o.flag) footer += fmt::format("\n{}={}: {}", o.variable, o.values ? o.values : "1", o.help);
  sub->footer(footer);
  take_program(*sub);
  sub->callback([r, sub] {
    try {
      if (r->diff.empty()) return run_program(*r, program_of(*sub));
      if (const auto more = sub->remaining(); !more.empty()) throw CLI::ExtrasError("run", more);
      compare_reports(r->diff[0], r->diff[1]);
    } catch (const observe::ReportError& e) {
      fmt::print(stderr, "gen5: {}\n", e.what());
      throw CLI::RuntimeError(1);
    }
  });
}

}  // namespace tinygpu::cli
