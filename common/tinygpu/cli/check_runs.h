// Runs of a program under orders of completion: each is a process, whose diagnoses come back as SARIF logs.
#pragma once
#include <sys/types.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/cli/end_signals.h"
#include "common/tinygpu/diagnosis/findings.h"

namespace tinygpu::cli {

/// The note that names the lines whose effects an order of completion moves; for gen5 check, not for its user.
inline constexpr const char* kDelayableLines = "delayable-lines";

/// What a run is started with.
struct RunPlan {
  std::string order;           // "timed", "late", "seed 3"
  std::string late_only = {};  // of order late: the lines that are late, commas between; empty: all are
  std::string sizes = {};      // "M=128 K=64"; empty: none were asked for
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment = {};  // beside that of every run
  unsigned seconds = 0;                                               // after which it is ended, by SIGALRM; 0: never
  std::string name() const { return sizes.empty() ? order : order + ", " + sizes; }
};

/// One run of the program.
struct Run {
  RunPlan plan;
  pid_t process = 0;  // while it runs
  std::chrono::steady_clock::time_point begin;
  int status = 0;  // as waitpid has it
  double seconds = 0;
  uint64_t launches = 0;
  size_t errors = 0, warnings = 0;
  std::filesystem::path output, logs;

  bool exited(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
  std::string end() const;
};

/// A signal wants this process to end.
struct Interrupted {
  int signal;
};

/// Runs one behind the other, or several at once. However it ends, those that still run are ended.
class CheckRuns {
 public:
  /// Output and logs go into `folder`; with `show_output` the output is the terminal's.
  CheckRuns(std::filesystem::path folder, bool show_output, EndSignals& signals)
      : folder_(std::move(folder)), show_output_(show_output), signals_(signals) {}
  ~CheckRuns() { stop(); }
  /// Does `plan` while up to `jobs` − 1 of `next` run too; what it has found is added to `findings`.
  Run& run(const std::vector<RunPlan>& plans, size_t index, uint32_t jobs, diagnosis::Findings& findings);
  /// Ends those that still run, and forgets all behind the first `done`.
  void stop(size_t done = ~size_t{0});
  const std::vector<Run>& all() const { return runs_; }

 private:
  void start(Run& run);
  void await_one();
  static void gather(Run& run, diagnosis::Findings& findings);

  const std::filesystem::path folder_;
  const bool show_output_;
  EndSignals& signals_;
  std::vector<Run> runs_;
};

}  // namespace tinygpu::cli
