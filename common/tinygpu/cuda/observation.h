// What the user asked to be written about a run: traces and profiles.
#pragma once
#include <fstream>
#include <memory>
#include <vector>

#include "common/tinygpu/cuda/options.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::observe {
class Profile;
class Trace;
}  // namespace tinygpu::observe

namespace tinygpu::cuda {

/// The observers of a process, as its options ask for them.
class Observation {
 public:
  /// Throws OptionError if a file cannot be written.
  explicit Observation(const ObservationOptions& options);
  ~Observation();
  std::vector<Observer*> observers() const;
  /// Completes the trace and writes the profile. Once, at the end of the process.
  void finish();

 private:
  const ObservationOptions options_;
  std::ofstream trace_file_, profile_file_;
  std::unique_ptr<observe::Trace> trace_;
  std::unique_ptr<observe::Profile> profile_;
};

}  // namespace tinygpu::cuda
