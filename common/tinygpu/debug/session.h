// A program under the debugger: where it stands, its past as snapshots, and the ways forward and back.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/debug/progress.h"
#include "common/tinygpu/debug/wire.h"

namespace tinygpu::debug {

/// What a user wants of a program that runs.
enum class Interrupt : uint8_t { none, pause, quit };

struct SessionOptions {
  std::vector<std::string> command;
  size_t snapshots = 24;  // kept at most
  int output = -1;        // where the program's output goes, a file of the session's own; −1: as this process's
  int keep_every = 400;   // milliseconds of running between two snapshots
  /// While the program runs: whenever there is something to be read at this file, what to do. −1: nothing interrupts.
  int interrupt_fd = -1;
  std::function<Interrupt()> interrupted = {};
};

/// Why a run has stopped, and where. `event`: "stopped", "ended", "lost" (the program is gone without a word).
struct Stopped {
  std::string event = {}, why = {}, text = {};
  int id = 0;
  uint64_t position = 0;
  std::optional<uint64_t> recorded = {};  // the last hit of a run that did not stop at hits
  std::string hit = {};                   // and what happened there
  Json focus = {};                        // views.h; null if there is none
  int exit_code = 0;                      // of a program that has ended; 128 + a signal
};

/// The program runs in a process of its own, on one host thread and from the same addresses each time, so a position
/// is the same moment in each run. Snapshots are forks of it that wait. Going back is waking the last one before the
/// moment that is wanted, and running on from there.
class Session {
 public:
  /// Throws std::runtime_error where no socket or process can be had.
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Starts the program, which stops before its first launch. False: it has ended without a launch; exit_code() is its.
  bool start();
  bool alive() const { return live_.open(); }
  /// Where the program finds the debugger; what it leaves for it lies beside.
  const std::string& socket() const { return socket_; }
  int exit_code() const { return exit_code_; }
  uint64_t position() const { return position_; }

  /// Runs to the next stop that `stops` asks for (stops.h).
  Stopped run(Json stops);
  /// To a position, forward or back.
  Stopped go_to(uint64_t position);
  /// The last moment before this one at which `stops` would have stopped a run; nothing: there is none.
  std::optional<Stopped> back_to(const Json& stops);
  /// Answers of views.h.
  Json view(const Json& request);

  /// The program is started again, whatever has become of its file. False: it has ended without a launch.
  bool restart();

  /// From now on runs may have watchpoints: the program is started again, and runs to where it was.
  Stopped watch_accesses();
  bool watches() const { return accesses_; }

  /// Diagnoses that have been given so far, in any run, each once.
  const std::vector<Json>& diagnoses() const { return diagnoses_; }
  struct Kept {
    uint64_t position = 0;
    uint64_t bytes = 0;  // that it shares with no other process
  };
  std::vector<Kept> snapshots() const;

 private:
  struct Snapshot {
    Wire wire;
    uint64_t position = 0;
    pid_t pid = 0;
  };
  void launch();
  void stop_program();
  void end_live();
  /// The next event of the program; snapshots that come meanwhile are taken in.
  std::optional<Json> next_event();
  void take_in(Wire wire);
  void thin_out();
  /// True: the program has been ended.
  bool interrupt();
  /// The exit code of a program that is gone, or about to be. What connects meanwhile runs freely.
  int wait_for_end();
  Stopped run_live(const Json& stops, bool record);
  /// Wakes the last snapshot at or before `position`, or starts the program again.
  bool wake(uint64_t position);
  static int reap(pid_t pid);

  SessionOptions options_;
  std::string folder_, socket_;
  int listener_ = -1;
  Progress* progress_ = nullptr;
  Wire live_;
  pid_t pid_ = 0;       // that was started, or a snapshot that goes on
  pid_t live_pid_ = 0;  // that is connected
  bool accesses_ = false;
  uint64_t position_ = 0;
  uint64_t printed_ = 0;  // what the program prints before this position has been printed
  int exit_code_ = 0;
  bool quit_ = false;
  std::vector<Snapshot> snapshots_;  // by position
  std::vector<Json> diagnoses_;
};

}  // namespace tinygpu::debug
