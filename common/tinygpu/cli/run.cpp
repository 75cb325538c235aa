#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/program_check.h"
#include "common/tinygpu/cuda/host_memory.h"

namespace tinygpu::cli {

namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::string machine, order, tmem_checks;
  std::optional<uint64_t> seed;
  std::optional<int> threads;
  std::optional<uint64_t> max_cycles;
  bool counters = false, profile = false;
  std::string trace, profile_json, report;
  std::optional<uint32_t> trace_sms, trace_kernels;
  std::vector<std::string> command;
};

/// The file that execvp would start.
fs::path resolve(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return program;
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

[[noreturn]] void run(const RunOptions& o) {
  const fs::path libraries = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib";
  if (!fs::exists(libraries / "libcudart.so.13")) {
    fmt::print(stderr, "gen5: no libcudart.so.13 in {}\n", libraries.string());
    throw CLI::RuntimeError(1);
  }
  const fs::path program = resolve(o.command[0]);
  std::string why;
  constexpr uint64_t kLargestProgram = uint64_t(1) << 36;
  const auto bytes = cuda::read_regular_file(program, kLargestProgram, why);
  if (!bytes) {
    fmt::print(stderr, "gen5: cannot start {}: {}\n", o.command[0], why);
    throw CLI::RuntimeError(127);
  }
  const cuda::Bytes file(*bytes);
  if (const std::string reason = why_not(file); !reason.empty()) {
    fmt::print(stderr, "gen5: {} cannot run on tinygpu: {}\n", o.command[0], reason);
    throw CLI::RuntimeError(1);
  }
  const char* before = std::getenv("LD_LIBRARY_PATH");
  set("LD_LIBRARY_PATH", libraries.string() + (before && *before ? std::string(":") + before : ""));
  const auto elf = cuda::Elf::read(file);
  constexpr int64_t kRpath = 15;
  if (elf && !elf->dynamic_strings(kRpath).empty())  // DT_RPATH comes before LD_LIBRARY_PATH
    set("LD_PRELOAD", (libraries / "libcudart.so.13").string() + ":" + (libraries / "libcuda.so.1").string());
  set("GEN5_DEVICE", "tinygpu");
  if (!o.machine.empty()) set("GEN5_MACHINE", o.machine);
  if (!o.order.empty()) set("GEN5_ORDER", o.order);
  if (o.seed) set("GEN5_SEED", std::to_string(*o.seed));
  if (o.threads) set("GEN5_THREADS", std::to_string(*o.threads));
  if (!o.tmem_checks.empty()) set("GEN5_TMEM_CHECKS", o.tmem_checks);
  if (o.max_cycles) set("GEN5_MAX_CYCLES", std::to_string(*o.max_cycles));
  if (o.counters) set("GEN5_COUNTERS", "1");
  if (!o.trace.empty()) set("GEN5_TRACE", o.trace);
  if (o.trace_sms) set("GEN5_TRACE_SMS", std::to_string(*o.trace_sms));
  if (o.trace_kernels) set("GEN5_TRACE_KERNELS", std::to_string(*o.trace_kernels));
  if (o.profile) set("GEN5_PROFILE", "1");
  if (!o.profile_json.empty()) set("GEN5_PROFILE_JSON", o.profile_json);
  if (!o.report.empty()) set("GEN5_REPORT", o.report);
  std::vector<char*> argv;
  for (const std::string& a : o.command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fmt::print(stderr, "gen5: cannot start {}: {}\n", o.command[0], std::strerror(errno));
  throw CLI::RuntimeError(127);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand(
      "run",
      "gen5 run [OPTIONS] PROGRAM ARGS…: run a CUDA 13 program (built with -cudart shared, with PTX) on tinygpu");
  sub->add_option("--machine", options->machine, "Machine profile: a name (b200, h200) or a path");
  sub->add_option("--order", options->order, "When asynchronous effects land: timed, late, seeded")
      ->check(CLI::IsMember({"timed", "late", "seeded"}));
  sub->add_option("--seed", options->seed, "A random legal order of completion, chosen by this seed");
  sub->add_option("--threads", options->threads, "Host threads; results do not depend on them")
      ->check(CLI::NonNegativeNumber);
  sub->add_option(
         "--tmem-checks", options->tmem_checks,
         "What the PTX ISA forbids in Tensor Memory and hardware lets pass: warn (default), or strict: an error")
      ->check(CLI::IsMember({"warn", "strict"}));
  sub->add_option("--max-cycles", options->max_cycles,
                  "Stop a kernel that runs for more cycles, and say where its warps are");
  sub->add_flag("--counters", options->counters,
                "Print launches, cycles, instructions, matrix instructions and TMA bytes per kernel at the end");
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
  // Everything from the program's name on belongs to the program, whatever it looks like.
  sub->prefix_command();
  sub->callback([options, sub] {
    options->command = sub->remaining();
    if (options->command.empty()) throw CLI::RequiredError("PROGRAM");
    run(*options);
  });
}

}  // namespace tinygpu::cli
