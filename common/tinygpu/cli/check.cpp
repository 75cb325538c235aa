#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/tinygpu/base/temporary_folder.h"
#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/end_signals.h"
#include "common/tinygpu/cli/program.h"
#include "common/tinygpu/diagnosis/findings.h"
#include "common/tinygpu/diagnosis/grouping.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/diagnosis/sarif.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cli {

namespace {

namespace fs = std::filesystem;

struct CheckOptions {
  Settings settings;
  uint32_t seeds = 5, jobs = 1;
  bool keep_going = false, show_output = false, werror = false, notes = false;
  std::string sarif;
  std::vector<std::string> command;
};

/// One run of the program under one order of completion.
struct Run {
  std::string order;
  pid_t process = 0;  // while it runs
  std::chrono::steady_clock::time_point begin;
  int status = 0;  // as waitpid has it
  double seconds = 0;
  uint64_t launches = 0;
  size_t errors = 0, warnings = 0;
  fs::path output, logs;

  bool exited(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
  std::string end() const {
    return WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                             : fmt::format("signal {}", WTERMSIG(status));
  }
};

std::string plural(size_t n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

/// Starts the program. Its output goes into `run.output`, or to ours.
void start(const CheckOptions& o, Run& run, EndSignals& signals) {
  run.begin = std::chrono::steady_clock::now();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    fmt::print(stderr, "gen5: no process can be started: {}\n", std::strerror(errno));
    throw CLI::RuntimeError(1);
  }
  if (child == 0) {
    signals.restore();
    if (!o.show_output) {
      const int out = open(run.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) _exit(126);
    }
    const bool seeded = run.order.starts_with("seed ");
    set_environment("GEN5_ORDER", seeded ? "seeded" : run.order);
    if (seeded)
      set_environment("GEN5_SEED", run.order.substr(5));
    else
      unsetenv("GEN5_SEED");
    set_environment("GEN5_CHECK", "races");
    set_environment("GEN5_EXIT_CODE", "0");  // the program's own are looked at, and errors counted
    set_environment("GEN5_SARIF", (run.logs / "%p.sarif").string());
    _exit(become(o.command));
  }
  run.process = child;
}

/// Somebody wants `gen5 check` to end.
struct Interrupted {
  int signal;
};

/// Waits until one of those that run ends.
void await_one(std::vector<Run>& runs, EndSignals& signals) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(-1, &status, WNOHANG)) == 0)
    if (const int s = signals.await_child()) throw Interrupted{s};
  if (ended < 0) throw std::runtime_error(fmt::format("no child can be waited for: {}", std::strerror(errno)));
  for (Run& run : runs)
    if (run.process == ended) {
      run.process = 0;
      run.status = status;
      run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - run.begin).count();
    }
}

/// Ends those that still run; nobody wants to know any more.
void stop(std::vector<Run>& runs) {
  for (Run& run : runs)
    if (run.process > 0) {
      kill(run.process, SIGKILL);
      while (waitpid(run.process, &run.status, 0) < 0 && errno == EINTR) {
      }
      run.process = 0;
    }
}

/// However check() ends.
struct Stop {
  std::vector<Run>& runs;
  ~Stop() { stop(runs); }
};

/// What the run's processes have left behind.
void gather(Run& run, diagnosis::Findings& findings) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run.logs)) files.insert(entry.path());
  for (const fs::path& file : files) {
    std::ifstream in(file);
    const auto log = nlohmann::ordered_json::parse(in, nullptr, false);
    if (log.is_discarded()) continue;  // its process was killed while it wrote
    const diagnosis::SarifLog read = diagnosis::read_sarif(log);
    run.launches += read.launches;
    for (const diagnosis::Finding& f : read.findings) {
      findings.add(f.diagnosis, run.order);
      run.errors += f.diagnosis.severity == Severity::error;
      run.warnings += f.diagnosis.severity == Severity::warning;
    }
  }
}

void print_end_of(const fs::path& output) {
  constexpr size_t kLines = 20;
  std::ifstream in(output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const size_t first = lines.size() - std::min(lines.size(), kLines);
  fmt::print("    the end of its output:\n");
  for (size_t i = first; i < lines.size(); ++i) fmt::print("    | {}\n", lines[i]);
}

void print(const diagnosis::Findings& findings, const std::string& folder, size_t runs, bool notes) {
  using diagnosis::Group;
  diagnosis::SourceFiles files(image::read_source);
  std::set<std::string> told;
  const auto print_one = [&](const diagnosis::Finding& f) {
    diagnosis::RenderOptions options;
    options.color = diagnosis::in_color(STDOUT_FILENO);
    options.folder = folder;
    options.files = &files;
    options.more = told.empty();
    options.general = told.insert(f.diagnosis.code).second;
    options.runs = f.orders.size() == runs ? "all" : fmt::format("{}", fmt::join(f.orders, ", "));
    fmt::print("{}\n", diagnosis::render(f.diagnosis, options));
  };
  const auto print_all = [&](Group group, const char* heading) {
    bool first = true;
    for (const diagnosis::Finding& f : findings.all()) {
      if (diagnosis::group_of(f.diagnosis) != group) continue;
      if (std::exchange(first, false) && *heading) fmt::print("{}\n\n", heading);
      print_one(f);
    }
  };
  print_all(Group::own, "");
  print_all(Group::generated, "In code that a compiler generated, or that a package brings:");
  if (notes) return print_all(Group::kept, "Promised by no manual, and kept by hardware:");
  const auto kept =
      std::ranges::count(findings.all(), Group::kept, [](const auto& f) { return diagnosis::group_of(f.diagnosis); });
  if (kept)
    fmt::print("{} of what no manual promises and hardware is known to keep: --notes shows more.\n\n",
               plural(size_t(kept), "note"));
}

int check(const CheckOptions& o) {
  prepare(o.command, o.settings);
  const std::string folder = fs::current_path().string();
  EndSignals signals;
  const TemporaryFolder temporary("gen5-check-");
  if (temporary.path().empty()) {
    const int error = errno;
    const char* where = std::getenv("TMPDIR");
    fmt::print(stderr, "gen5: no folder can be made in {}: {}\n", where ? where : "/tmp", std::strerror(error));
    throw CLI::RuntimeError(1);
  }
  std::vector<std::string> orders = {"timed", "late"};
  for (uint32_t seed = 1; seed <= o.seeds; ++seed) orders.push_back(fmt::format("seed {}", seed));

  diagnosis::Findings findings;
  std::vector<Run> runs;
  runs.reserve(orders.size());
  const Stop at_the_end{runs};
  std::vector<std::string> failures;
  uint64_t launches = 0;
  for (size_t next = 0; next < orders.size(); ++next) {  // told of in this order, however many run at once
    while (runs.size() < orders.size() && runs.size() < next + o.jobs) {
      Run& run = runs.emplace_back();
      run.order = orders[runs.size() - 1];
      run.output = temporary.path() / fmt::format("output {}", run.order);
      run.logs = temporary.path() / run.order;
      fs::create_directory(run.logs);
      start(o, run, signals);
    }
    Run& run = runs[next];
    while (run.process) await_one(runs, signals);
    gather(run, findings);
    launches += run.launches;
    fmt::print("  {:<8} {:<12} {:>7.1f} s  {}, {}\n", run.order, run.end(), run.seconds, plural(run.errors, "error"),
               plural(run.warnings, "warning"));
    std::fflush(stdout);
    if (!run.exited(0)) {
      failures.push_back(fmt::format("{}: {}", run.order, run.end()));
      if (!o.show_output && !run.errors) print_end_of(run.output);
    }
    if ((run.errors || !run.exited(0)) && !o.keep_going) {
      stop(runs);
      runs.resize(next + 1);
      break;
    }
  }
  fmt::print("\n");
  print(findings, folder, runs.size(), o.notes);

  const size_t errors = findings.count(Severity::error), warnings = findings.count(Severity::warning);
  const bool depends = std::ranges::any_of(runs, [&](const Run& r) { return r.status != runs[0].status; });
  fmt::print("gen5 check: {} of {}: {}, {}{}", plural(runs.size(), "run"), o.command[0], plural(errors, "error"),
             plural(warnings, "warning"),
             failures.empty() ? "" : fmt::format("; {} failed", plural(failures.size(), "run")));
  fmt::print("\n");
  if (depends) fmt::print("The exit code depends on the order of completion.\n");
  if (runs.size() < orders.size())
    fmt::print("{} left out after the first that failed; --keep-going does them all.\n",
               plural(orders.size() - runs.size(), "run"));
  if (!launches) {
    failures.push_back("no kernel was launched");
    fmt::print("No kernel was launched: nothing has been checked.\n");
  }
  fmt::print(
      "What the program computes is compared by the program alone: gen5 check looks at exit codes and "
      "diagnoses.\n");
  if (!o.sarif.empty()) {
    std::ofstream out(o.sarif);
    out << diagnosis::sarif_of(findings.all(), {.command = fmt::format("{}", fmt::join(o.command, " ")),
                                                .folder = folder,
                                                .complete = failures.empty(),
                                                .launches = launches,
                                                .orders = orders,
                                                .failures = failures})
               .dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
        << "\n";
    if (!out.flush()) {
      fmt::print(stderr, "gen5: {} cannot be written\n", o.sarif);
      return 1;
    }
  }
  return errors || !failures.empty() || (o.werror && warnings);
}

}  // namespace

void add_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* sub = app.add_subcommand(
      "check",
      "gen5 check [OPTIONS] PROGRAM ARGS…: run a program under several orders of completion with all checks; exit code "
      "1 if there is an error, or a run that does not exit with 0. Output is not compared: let the program check it");
  add_options(*sub, options->settings, true);
  sub->add_option("--seeds", options->seeds, "Random orders beside timed and late (default: 5)")
      ->check(CLI::Range(0, 100000));
  sub->add_option("--jobs", options->jobs, "Runs at once (default: 1); --threads 1 then leaves a core to each")
      ->check(CLI::Range(1, 1024));
  sub->add_flag("--keep-going", options->keep_going, "Do the other runs, too, after one that failed");
  sub->add_flag("--werror", options->werror, "Warnings count as errors in the exit code");
  sub->add_flag("--notes", options->notes, "Show notes of what no manual promises and hardware is known to keep, too");
  sub->add_flag("--show-output", options->show_output, "Let the program print; else the end of what a failed run said");
  sub->add_option("--sarif", options->sarif, "Write what was found into this file, as SARIF 2.1.0");
  sub->prefix_command();
  sub->callback([options, sub] {
    options->command = sub->remaining();
    if (options->command.empty()) throw CLI::RequiredError("PROGRAM");
    try {
      if (const int code = check(*options)) throw CLI::RuntimeError(code);
    } catch (const Interrupted& i) {  // all is tidied up: whoever waits for this process sees what ended it
      std::raise(i.signal);
    }
  });
}

}  // namespace tinygpu::cli
