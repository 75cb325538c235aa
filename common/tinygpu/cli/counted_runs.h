// Runs of one program with different settings, and the cycles that its kernels took in each: several at once, their
// output kept from the terminal.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/base/temporary_folder.h"
#include "common/tinygpu/cli/end_signals.h"
#include "common/tinygpu/cli/program.h"

namespace tinygpu::cli {

struct CountedRun {
  Settings settings = {};  // beside those of all runs
  int status = 0;          // as waitpid has it
  std::filesystem::path output = {};
  std::vector<std::pair<std::string, uint64_t>> kernels = {};  // by name as the program has it, cycles of all launches
  uint64_t cycles() const;
};

/// However it ends, the runs that have not ended are ended.
class CountedRuns {
 public:
  /// Throws CLI::RuntimeError behind a message, as all of its functions do.
  CountedRuns(std::vector<std::string> command, Settings of_all, uint32_t jobs);
  ~CountedRuns();
  CountedRuns(const CountedRuns&) = delete;
  CountedRuns& operator=(const CountedRuns&) = delete;
  /// Does them all.
  void take(std::span<CountedRun> runs);
  size_t count() const { return started_; }
  /// For files of who runs them.
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  void start(CountedRun& run);
  void await_one();
  void read(CountedRun& run) const;

  const std::vector<std::string> command_;
  Settings of_all_;
  const uint32_t jobs_;
  const TemporaryFolder folder_;
  EndSignals signals_;
  struct Running {
    pid_t process;
    CountedRun* run;  // of who has called take(), which may be gone where that has thrown
  };
  std::vector<Running> running_;
  size_t started_ = 0;
};

/// Says why and throws CLI::RuntimeError.
[[noreturn]] void give_up(const std::string& why);

}  // namespace tinygpu::cli
