#include "common/tinygpu/cuda/observation.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/trace.h"

namespace tinygpu::cuda {
namespace {

void open(std::ofstream& file, const char* variable, const std::string& path) {
  file.open(path);
  if (!file) throw OptionError(fmt::format("{}={}: this file cannot be written", variable, path));
}

}  // namespace

Observation::Observation(const ObservationOptions& options) : options_(options) {
  if (!options.trace.empty()) {
    open(trace_file_, "GEN5_TRACE", options.trace);
    observe::TimelineLimits limits;
    if (options.trace_sms) limits.sms = options.trace_sms;
    if (options.trace_kernels) limits.kernels = options.trace_kernels;
    trace_ = std::make_unique<observe::Trace>(trace_file_, limits);
  }
  if (!options.profile_json.empty()) open(profile_file_, "GEN5_PROFILE_JSON", options.profile_json);
  if (options.profile || profile_file_.is_open()) profile_ = std::make_unique<observe::Profile>();
}

Observation::~Observation() = default;

std::vector<Observer*> Observation::observers() const {
  std::vector<Observer*> all;
  if (trace_) all.push_back(trace_.get());
  if (profile_) all.push_back(profile_.get());
  return all;
}

void Observation::finish() {
  trace_.reset();
  trace_file_.close();
  if (!profile_) return;
  if (options_.profile)
    for (const auto& k : profile_->kernels()) fmt::print(stderr, "{}\n", k.render());
  if (profile_file_.is_open()) {
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    for (const auto& k : profile_->kernels()) document.push_back(k.json());
    profile_file_ << document.dump(1) << "\n";
    profile_file_.close();
  }
  profile_.reset();
}

}  // namespace tinygpu::cuda
