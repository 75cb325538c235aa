#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/program.h"

namespace tinygpu::cli {

namespace {

struct RunOptions {
  MachineOptions machine;
  std::string order, check;
  std::optional<uint64_t> seed;
  bool counters = false, profile = false, timing_only = false, memory = false;
  std::string trace, profile_json, report, sarif, dump_ptx, replace_ptx, ptxas;
  std::optional<uint32_t> trace_sms, trace_kernels, ptxas_seconds;
  std::vector<std::string> command;
};

int run(const RunOptions& o) {
  prepare(o.command, o.machine);
  if (!o.order.empty()) set_environment("GEN5_ORDER", o.order);
  if (!o.check.empty()) set_environment("GEN5_CHECK", o.check);
  if (o.memory) set_environment("GEN5_MEMORY_CHECK", "1");
  if (o.seed) set_environment("GEN5_SEED", std::to_string(*o.seed));
  if (o.timing_only) set_environment("GEN5_TIMING_ONLY", "1");
  if (o.counters) set_environment("GEN5_COUNTERS", "1");
  if (!o.trace.empty()) set_environment("GEN5_TRACE", o.trace);
  if (o.trace_sms) set_environment("GEN5_TRACE_SMS", std::to_string(*o.trace_sms));
  if (o.trace_kernels) set_environment("GEN5_TRACE_KERNELS", std::to_string(*o.trace_kernels));
  if (o.profile) set_environment("GEN5_PROFILE", "1");
  if (!o.profile_json.empty()) set_environment("GEN5_PROFILE_JSON", o.profile_json);
  if (!o.report.empty()) set_environment("GEN5_REPORT", o.report);
  if (!o.sarif.empty()) set_environment("GEN5_SARIF", o.sarif);
  if (!o.dump_ptx.empty()) set_environment("GEN5_DUMP_PTX", o.dump_ptx);
  if (!o.replace_ptx.empty()) set_environment("GEN5_REPLACE_PTX", o.replace_ptx);
  if (!o.ptxas.empty()) set_environment("GEN5_PTXAS", o.ptxas);
  if (o.ptxas_seconds) set_environment("GEN5_PTXAS_SECONDS", std::to_string(*o.ptxas_seconds));
  return become(o.command);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* sub =
      app.add_subcommand("run", "gen5 run [OPTIONS] PROGRAM ARGS…: run a CUDA 13 program (with PTX in it) on tinygpu");
  add_machine_options(*sub, options->machine);
  sub->add_option("--order", options->order, "When asynchronous effects land: timed, late, seeded")
      ->check(CLI::IsMember({"timed", "late", "seeded"}));
  sub->add_option("--seed", options->seed, "A random legal order of completion, chosen by this seed")
      ->check(not_negative);
  sub->add_option(
         "--check", options->check,
         "What is looked for: quick (default), or races: every order that is missing between accesses to shared, "
         "global and Tensor Memory; takes up to five times as long")
      ->check(CLI::IsMember({"quick", "races"}));
  sub->add_flag("--memory", options->memory,
                "Tell of device memory that is read before anybody writes it, and of what is never freed");
  sub->add_flag("--counters", options->counters,
                "Print launches, cycles, instructions, matrix instructions and TMA bytes per kernel at the end");
  sub->add_flag("--timing-only", options->timing_only,
                "Only the clock: matrices are not multiplied and bulk copies move no bytes, so results are worthless");
  sub->add_option("--trace", options->trace, "Write a timeline into this file, for ui.perfetto.dev");
  sub->add_option("--trace-sms", options->trace_sms, "SMs that timelines show (default: 4)")
      ->check(CLI::Range(1, 65535));
  sub->add_option("--trace-kernels", options->trace_kernels, "Launches of which there are timelines (default: 8)")
      ->check(CLI::Range(1, 1000000));
  sub->add_flag("--profile", options->profile,
                "Print where each kernel's time went at the end: by role, by what was waited for, by source line");
  sub->add_option("--profile-json", options->profile_json, "Write the whole profile into this file");
  sub->add_option(
      "--report", options->report,
      "Write a page into this file, for a browser: profile with source, timelines, roofline, banks, diagnoses");
  sub->add_option("--sarif", options->sarif,
                  "Write the diagnoses into this file, as SARIF 2.1.0; %p in its name is the process");
  sub->add_option("--dump-ptx", options->dump_ptx, "Write the PTX that the program loads into this folder");
  sub->add_option(
      "--replace-ptx", options->replace_ptx,
      "Take PTX from the file of the same name in this folder, if there is one: what --dump-ptx wrote, changed");
  sub->add_option(
         "--ptxas", options->ptxas,
         "This ptxas makes machine code of PTX that has none beside it, as a just-in-time compiler's, and loops are "
         "priced by it; without it they are priced by the PTX")
      ->check(CLI::ExistingFile);
  sub->add_option("--ptxas-seconds", options->ptxas_seconds, "How long one run of that ptxas may take (default: 300)")
      ->check(CLI::Range(1, 1000000));
  // Everything from the program's name on belongs to the program, whatever it looks like.
  sub->prefix_command();
  sub->callback([options, sub] {
    options->command = sub->remaining();
    if (options->command.empty()) throw CLI::RequiredError("PROGRAM");
    throw CLI::RuntimeError(run(*options));
  });
}

}  // namespace tinygpu::cli
