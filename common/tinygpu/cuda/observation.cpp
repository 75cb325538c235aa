#include "common/tinygpu/cuda/observation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/tinygpu/cuda/host_memory.h"
#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/cuda/unwritable.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/report/report.h"
#include "common/tinygpu/observe/trace.h"
#include "common/tinygpu/timing/peaks.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::cuda {
namespace {

void open(std::ofstream& file, const char* variable, const std::string& path) {
  file.open(path);
  if (!file) throw OptionError(fmt::format("{}={}: this file cannot be written", variable, path));
}

/// What a full disk refuses is told.
void close(std::ofstream& file, const char* variable, const std::string& path) {
  if (!file.is_open()) return;
  file.close();
  if (!file) say_unwritable(fmt::format("{}={}", variable, path));
}

std::string words(const CompletionOrder& order) {
  switch (order.mode) {
    case CompletionOrder::Mode::timed: return "timed: asynchronous effects land when the machine profile says";
    case CompletionOrder::Mode::late: return "late: asynchronous effects land at the last moment";
    case CompletionOrder::Mode::seeded: return fmt::format("seeded: a random legal order, seed {}", order.seed);
  }
  return {};
}

/// What rooflines are drawn from, each number with the profile's words on it.
std::vector<observe::MachineNumber> peaks_of(const tinygpu::Profile& machine) {
  const Peaks peaks(machine.spec);
  std::vector<std::pair<std::string, double>> wanted = {{"mem.l2.bytes_per_cycle", peaks.l2_bytes},
                                                        {"mem.dram.bytes_per_cycle", peaks.dram_bytes},
                                                        {"peak.f16", peaks.f16},
                                                        {"peak.tf32", peaks.tf32},
                                                        {"peak.f8", peaks.f8}};
  if (peaks.f4) wanted.push_back({"peak.f4", *peaks.f4});
  std::vector<observe::MachineNumber> out;
  for (const auto& [key, value] : wanted)
    for (const ProfileEntry& e : machine.entries)
      if (e.key == key) out.push_back({key, value, e.unit, e.what, e.source, std::string(to_string(e.trust))});
  return out;
}

observe::RunFacts facts_of(const Options& run) {
  observe::RunFacts f;
  f.command = command_line();
  f.order = words(run.order);
  const tinygpu::Profile machine = read_profile(run.machine);
  f.machine = machine.spec.name;
  f.gpu = machine.gpu;
  f.sms = machine.spec.sms;
  f.clock_ghz = machine.spec.clock_ghz;
  f.peaks = peaks_of(machine);
  return f;
}

}  // namespace

Observation::Observation(const ObservationOptions& options, const Options& run)
    : options_(options), run_(run), checks_(options.races ? checks::Level::races : checks::Level::quick) {
  observe::TimelineLimits limits;
  if (options.trace_sms) limits.sms = options.trace_sms;
  if (options.trace_kernels) limits.kernels = options.trace_kernels;
  if (!options.trace.empty()) {
    open(trace_file_, "GEN5_TRACE", options.trace);
    trace_ = std::make_unique<observe::Trace>(trace_file_, limits);
  }
  if (!options.profile_json.empty()) open(profile_file_, "GEN5_PROFILE_JSON", options.profile_json);
  if (!options.report.empty()) {
    open(report_file_, "GEN5_REPORT", options.report);
    report_ = std::make_unique<observe::Report>(limits);
  }
  if (options.profile || profile_file_.is_open() || report_) profile_ = std::make_unique<observe::Profile>();
}

Observation::~Observation() = default;

std::vector<Observer*> Observation::observers() const {
  std::vector<Observer*> all = checks_.observers();
  if (trace_) all.push_back(trace_.get());
  if (profile_) all.push_back(profile_.get());
  if (report_)
    for (Observer* o : report_->observers()) all.push_back(o);
  return all;
}

void Observation::add(const Diagnosis& d) {
  if (report_) report_->add(d);
}

void Observation::finish() {
  trace_.reset();
  close(trace_file_, "GEN5_TRACE", options_.trace);
  if (!profile_) return;
  if (options_.profile)
    for (const auto& k : profile_->kernels()) print_error(k.render() + "\n");
  if (profile_file_.is_open()) {
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    for (const auto& k : profile_->kernels()) document.push_back(k.json());
    profile_file_ << document.dump(1) << "\n";
    close(profile_file_, "GEN5_PROFILE_JSON", options_.profile_json);
  }
  if (report_) {
    report_->write(report_file_, profile_->kernels(), facts_of(run_), read_source);
    close(report_file_, "GEN5_REPORT", options_.report);
    report_.reset();
  }
  profile_.reset();
}

}  // namespace tinygpu::cuda
