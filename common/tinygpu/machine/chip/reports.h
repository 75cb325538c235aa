// The diagnoses of a launch: one for each fault, with a count, and of a kind only a few.
#pragma once
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu {

struct RunOptions;

/// Kernel and code of the notes that have been shown; of grids that run on several host threads.
struct Noted {
  std::mutex mutex;
  std::set<std::pair<std::string, std::string>> notes;
};

class Reports {
 public:
  /// `noted`: kernel and code of the notes that other launches have shown.
  Reports(const RunOptions& options, std::string kernel, Noted& noted)
      : options_(options), kernel_(std::move(kernel)), noted_(noted) {}
  /// Keeps `d` for the end of the launch. The same code at the same instruction `site`, with the same further
  /// instructions, is the same fault: it is counted, and its earliest case is kept; instructions that are one line of
  /// the source are the same (diagnosis/findings.h). A note is shown once for each kernel. From any host thread.
  void add(Diagnosis d, const void* site);
  /// The same, for what may go on forever: all that is known so far is shown at once.
  void add_now(Diagnosis d, const void* site);
  /// The launch is over: shows what was kept, and says of each kind how many others there are.
  void show_all();

 private:
  struct Fault {
    std::string code;
    const void* site;  // null: `place` says more
    std::string place;
    std::vector<std::string> others;
    auto operator<=>(const Fault&) const = default;
  };
  static constexpr size_t kNotShown = ~size_t{0};
  void keep(Diagnosis d, const void* site);
  void show_kept();

  const RunOptions& options_;
  const std::string kernel_;
  Noted& noted_;
  std::mutex mutex_;
  std::map<Fault, size_t> faults_;  // their places in kept_
  std::vector<Diagnosis> kept_;
  size_t shown_ = 0;  // of kept_
  std::map<std::string, size_t> kinds_;
};

}  // namespace tinygpu
