#include "common/tinygpu/cli/check_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "common/tinygpu/cli/program.h"
#include "common/tinygpu/diagnosis/sarif.h"

namespace tinygpu::cli {

namespace fs = std::filesystem;

std::string Run::end() const {
  return WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                           : fmt::format("signal {}", WTERMSIG(status));
}

void CheckRuns::start(Run& run) {
  run.begin = std::chrono::steady_clock::now();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    fmt::print(stderr, "gen5: no process can be started: {}\n", std::strerror(errno));
    throw CLI::RuntimeError(1);
  }
  if (child == 0) {
    signals_.restore();
    if (!show_output_) {
      const int out = open(run.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) _exit(126);
    }
    const bool seeded = run.plan.order.starts_with("seed ");
    set_environment("GEN5_ORDER", seeded ? "seeded" : run.plan.order);
    if (seeded)
      set_environment("GEN5_SEED", run.plan.order.substr(5));
    else
      unsetenv("GEN5_SEED");
    if (run.plan.late_only.empty())
      unsetenv("GEN5_LATE_ONLY");
    else
      set_environment("GEN5_LATE_ONLY", run.plan.late_only);
    set_environment("GEN5_CHECK", "races");
    set_environment("GEN5_EXIT_CODE", "0");  // the program's own are looked at, and errors counted
    set_environment("GEN5_SARIF", (run.logs / "%p.sarif").string());
    for (const auto& [name, value] : run.plan.environment) set_environment(name, value);
    alarm(run.plan.seconds);  // which outlives exec
    _exit(become(run.plan.command));
  }
  run.process = child;
}

void CheckRuns::await_one() {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(-1, &status, WNOHANG)) == 0)
    if (const int s = signals_.await_child()) throw Interrupted{s};
  if (ended < 0) throw std::runtime_error(fmt::format("no child can be waited for: {}", std::strerror(errno)));
  for (Run& run : runs_)
    if (run.process == ended) {
      run.process = 0;
      run.status = status;
      run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - run.begin).count();
    }
}

void CheckRuns::stop(size_t done) {
  for (Run& run : runs_)
    if (run.process > 0) {
      kill(run.process, SIGKILL);
      while (waitpid(run.process, &run.status, 0) < 0 && errno == EINTR) {
      }
      run.process = 0;
    }
  if (done < runs_.size()) runs_.resize(done);
}

void CheckRuns::gather(Run& run, diagnosis::Findings& findings) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run.logs)) files.insert(entry.path());
  for (const fs::path& file : files) {
    std::ifstream in(file);
    const auto log = nlohmann::ordered_json::parse(in, nullptr, false);
    if (log.is_discarded()) continue;  // its process was killed while it wrote
    const diagnosis::SarifLog read = diagnosis::read_sarif(log);
    run.launches += read.launches;
    for (const diagnosis::Finding& f : read.findings) {
      findings.add(f.diagnosis, run.plan.name(), f.launch);
      run.errors += f.diagnosis.severity == Severity::error;
      run.warnings += f.diagnosis.severity == Severity::warning;
    }
  }
}

Run& CheckRuns::run(const std::vector<RunPlan>& plans, size_t index, uint32_t jobs, diagnosis::Findings& findings) {
  runs_.reserve(plans.size());
  while (runs_.size() < plans.size() && runs_.size() < index + jobs) {
    Run& run = runs_.emplace_back();
    run.plan = plans[runs_.size() - 1];
    run.output = folder_ / fmt::format("output {}", runs_.size());
    run.logs = folder_ / fmt::format("logs {}", runs_.size());
    fs::create_directory(run.logs);
    start(run);
  }
  Run& run = runs_[index];
  while (run.process) await_one();
  gather(run, findings);
  return run;
}

}  // namespace tinygpu::cli
