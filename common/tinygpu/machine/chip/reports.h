// The diagnoses of a launch: each is told once, and of a kind only a few.
#pragma once
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu {

struct RunOptions;

class Reports {
 public:
  /// `noted`: kernel and code of the notes that other launches have shown.
  Reports(const RunOptions& options, std::string kernel, std::set<std::pair<std::string, std::string>>& noted)
      : options_(options), kernel_(std::move(kernel)), noted_(noted) {}
  /// Shows `d` unless its code has been reported of the instruction `site`, or often enough of others. A note is shown
  /// once for each kernel. From any host thread.
  void add(const Diagnosis& d, const void* site);
  /// The launch is over: says of each kind how many were not shown.
  void show_rest() const;

 private:
  const RunOptions& options_;
  const std::string kernel_;
  std::set<std::pair<std::string, std::string>>& noted_;
  std::mutex mutex_;
  std::set<std::pair<std::string, const void*>> reported_;  // code, instruction
};

}  // namespace tinygpu
