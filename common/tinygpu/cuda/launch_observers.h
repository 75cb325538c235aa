// The observers of a process's launches: checks, the files that its options ask for, and those of a session.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/tinygpu/api/machine.h"
#include "common/tinygpu/cuda/observation.h"

namespace tinygpu::cuda {

class LaunchObservers {
 public:
  /// `copied`: see Observation.
  LaunchObservers(const api::Options& options, std::function<void()> copied)
      : options_(options), copied_(std::move(copied)) {}
  /// For the next launch. Options of observation are read at the first one, so that a program may set their variables
  /// itself; the process ends with a sentence where it cannot have them. `child`: of a fork(); it writes no files.
  void attach(api::Machine& machine, bool child);
  /// Further observers of the launches to come; they replace those of the last call.
  void set_session(std::vector<Observer*> observers) { session_ = std::move(observers); }
  /// The checks of the launches to come; nothing: what the environment says.
  void check_by(std::optional<api::Checks> checks) { checks_ = checks; }
  /// A diagnosis of a kernel, for the report.
  void add(const Diagnosis& d);
  /// Profiles and reports call the launches to come so.
  void name_launches(std::string name);
  /// A timeline of the program's own, for the report. Throws std::invalid_argument.
  void add_program_timeline(std::string_view text);
  /// Files are written. At the end of the process.
  void finish();
  /// In the child of a fork(): what files still hold back is the parent's to write.
  void forked() { (void)observation_.release(); }

 private:
  const api::Options& options_;
  const std::function<void()> copied_;
  std::unique_ptr<Observation> observation_;
  std::string launches_name_;
  std::optional<api::Checks> checks_, told_;  // told_: to the machine
  std::vector<Observer*> session_;
};

}  // namespace tinygpu::cuda
