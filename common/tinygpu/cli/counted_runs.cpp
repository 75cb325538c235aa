#include "common/tinygpu/cli/counted_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>

namespace tinygpu::cli {

void give_up(const std::string& why) {
  fmt::print(stderr, "gen5: {}\n", why);
  throw CLI::RuntimeError(1);
}

uint64_t CountedRun::cycles() const {
  return std::accumulate(kernels.begin(), kernels.end(), uint64_t(0),
                         [](uint64_t sum, const auto& k) { return sum + k.second; });
}

CountedRuns::CountedRuns(std::vector<std::string> command, Settings of_all, uint32_t jobs)
    : command_(std::move(command)), of_all_(std::move(of_all)), jobs_(jobs), folder_("gen5-runs-") {
  if (folder_.path().empty()) give_up(fmt::format("no folder can be made in /tmp: {}", std::strerror(errno)));
  of_all_["GEN5_COUNTERS"] = "1";
  of_all_["GEN5_THREADS"] = jobs > 1 ? "1" : "0";
  prepare(command_, {});
}

CountedRuns::~CountedRuns() {
  for (const Running& r : running_) {
    kill(r.process, SIGKILL);
    waitpid(r.process, nullptr, 0);
  }
}

void CountedRuns::take(std::span<CountedRun> runs) {
  for (CountedRun& r : runs) {
    while (running_.size() >= jobs_) await_one();
    start(r);
  }
  while (!running_.empty()) await_one();
}

void CountedRuns::start(CountedRun& run) {
  run.output = folder_.path() / fmt::format("output {}", started_++);
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process < 0) give_up(fmt::format("no process can be started: {}", std::strerror(errno)));
  if (process == 0) {
    signals_.restore();
    const int out = open(run.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) _exit(126);
    for (const auto& [name, value] : of_all_) set_environment(name, value);
    for (const auto& [name, value] : run.settings) set_environment(name, value);
    _exit(become(command_));
  }
  running_.push_back({process, &run});
}

void CountedRuns::await_one() {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(-1, &status, WNOHANG)) == 0)
    if (const int s = signals_.await_child()) throw CLI::RuntimeError(128 + s);
  const auto found = std::ranges::find(running_, ended, &Running::process);
  if (found == running_.end()) return;
  CountedRun& run = *found->run;
  running_.erase(found);
  run.status = status;
  read(run);
}

/// What --counters prints.
void CountedRuns::read(CountedRun& run) const {
  constexpr std::string_view kKernel = "tinygpu counters: ", kCycles = "  cycles ";
  std::ifstream in(run.output);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kKernel)) run.kernels.emplace_back(line.substr(kKernel.size()), 0);
    if (!run.kernels.empty() && line.starts_with(kCycles))
      run.kernels.back().second = std::strtoull(line.c_str() + kCycles.size(), nullptr, 10);
    if (!line.empty()) last = line;
  }
  if (run.kernels.empty())
    give_up(fmt::format("{} launched no kernel, so there are no cycles to count. Its last words: {}", command_[0],
                        last.empty() ? "none" : last));
}

}  // namespace tinygpu::cli
