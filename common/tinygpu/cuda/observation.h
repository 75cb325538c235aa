// The files that a process writes about its launches: traces, profiles, a report.
#pragma once
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "common/tinygpu/api/machine.h"

namespace tinygpu::debug {
class Agent;
}
namespace tinygpu::observe {
class MmaEnds;
class Profile;
class Report;
class Trace;
}  // namespace tinygpu::observe

namespace tinygpu::cuda {

/// Observers as the options ask for them.
class Observation {
 public:
  /// Throws api::OptionError if a file cannot be written. `copied` runs in copies of the process that a debugger makes.
  Observation(const api::Options& options, std::function<void()> copied);
  ~Observation();
  const api::ObservationOptions& options() const { return options_.observation; }
  std::vector<Observer*> observers() const;
  /// A diagnosis is shown. From any thread.
  void add(const Diagnosis& d);
  void name_launches(const std::string& name);
  void add_program_timeline(std::string_view text);
  /// Completes the trace, writes the profile and the report. Once, at the end of the process.
  void finish();

 private:
  /// This run for the page, and for a comparison.
  void finish_report();

  const api::Options options_;
  std::shared_ptr<const nlohmann::ordered_json> against_;  // data of the report that this run is compared with
  std::ofstream trace_file_, profile_file_, report_file_, mma_ends_file_;
  std::unique_ptr<observe::Trace> trace_;
  std::unique_ptr<observe::Profile> profile_;
  std::unique_ptr<observe::MmaEnds> mma_ends_;
  std::unique_ptr<observe::Report> report_;
  std::unique_ptr<debug::Agent> debugger_;
};

}  // namespace tinygpu::cuda
