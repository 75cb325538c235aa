// Who watches the runs of a process: the checks, and what the user asked to be written, traces, profiles, a report.
#pragma once
#include <fstream>
#include <memory>
#include <vector>

#include "common/tinygpu/check/checks.h"
#include "common/tinygpu/cuda/options.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::observe {
class Profile;
class Report;
class Trace;
}  // namespace tinygpu::observe

namespace tinygpu::cuda {

/// The observers of a process: every check, and others as its options ask for them.
class Observation {
 public:
  /// `run`: what the user chose for the run itself. Throws OptionError if a file cannot be written.
  Observation(const ObservationOptions& options, const Options& run);
  ~Observation();
  std::vector<Observer*> observers() const;
  /// A diagnosis is shown. From any thread.
  void add(const Diagnosis& d);
  /// Completes the trace, writes the profile and the report. Once, at the end of the process.
  void finish();

 private:
  const ObservationOptions options_;
  const Options run_;
  std::ofstream trace_file_, profile_file_, report_file_;
  checks::AllChecks checks_;
  std::unique_ptr<observe::Trace> trace_;
  std::unique_ptr<observe::Profile> profile_;
  std::unique_ptr<observe::Report> report_;
};

}  // namespace tinygpu::cuda
