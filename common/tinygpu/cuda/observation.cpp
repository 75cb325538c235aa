#include "common/tinygpu/cuda/observation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/tinygpu/api/report_facts.h"
#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/cuda/unwritable.h"
#include "common/tinygpu/debug/agent.h"
#include "common/tinygpu/image/host_memory.h"
#include "common/tinygpu/observe/mma_ends.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/report/compare.h"
#include "common/tinygpu/observe/report/report.h"
#include "common/tinygpu/observe/report/saved_report.h"
#include "common/tinygpu/observe/trace.h"

namespace tinygpu::cuda {
namespace {

constexpr const char* kMmaEnds = "GEN5_MMA_ENDS";

void open(std::ofstream& file, const char* variable, const std::string& path) {
  file.open(path);
  if (!file) throw api::OptionError(fmt::format("{}={}: this file cannot be written", variable, path));
}

/// What a full disk refuses is told.
void close(std::ofstream& file, const char* variable, const std::string& path) {
  if (!file.is_open()) return;
  file.close();
  if (!file) say_unwritable(fmt::format("{}={}", variable, path));
}

/// The report that this run is compared with.
std::shared_ptr<const nlohmann::ordered_json> saved_report(const std::string& path) {
  try {
    return std::make_shared<const nlohmann::ordered_json>(observe::read_saved_report(path));
  } catch (const observe::ReportError& e) {
    throw api::OptionError(fmt::format("GEN5_AGAINST={}", e.what()));
  }
}

/// What gen5 run --what-if has found out for this program, in its own variable.
std::vector<observe::WhatIf> what_if() {
  std::vector<observe::WhatIf> out;
  const auto all = nlohmann::ordered_json::parse(variable("GEN5_WHAT_IF"), nullptr, false);
  if (!all.is_array()) return out;
  for (const auto& kernel : all) {
    observe::WhatIf& w = out.emplace_back();
    w.kernel = kernel.value("kernel", "");
    w.cycles = kernel.value("cycles", uint64_t(0));
    const auto free = kernel.value("free", nlohmann::ordered_json::object());
    for (const auto& [what, cycles] : free.items()) w.free.push_back({what, cycles.get<uint64_t>()});
  }
  return out;
}

}  // namespace

Observation::Observation(const api::Options& all, std::function<void()> copied) : options_(all) {
  const api::ObservationOptions& options = options_.observation;
  observe::TimelineLimits limits;
  if (options.trace_sms) limits.sms = options.trace_sms;
  if (options.trace_kernels) limits.kernels = options.trace_kernels;
  if (!options.trace.empty()) {
    open(trace_file_, "GEN5_TRACE", options.trace);
    trace_ = std::make_unique<observe::Trace>(trace_file_, limits);
  }
  if (!options.profile_json.empty()) open(profile_file_, "GEN5_PROFILE_JSON", options.profile_json);
  // Before the report is opened: it may be the same file.
  if (!options.against.empty()) against_ = saved_report(options.against);
  if (!options.report.empty()) open(report_file_, "GEN5_REPORT", options.report);
  if (report_file_.is_open() || against_) report_ = std::make_unique<observe::Report>(limits);
  // Set by gen5 debug for the program that it starts.
  if (const std::string_view socket = variable("GEN5_DEBUG_SOCKET"); !socket.empty())
    debugger_ = debug::attach(std::string(socket), variable("GEN5_DEBUG_ACCESSES") == "1", std::move(copied));
  // Set by gen5 search for the programs that it times.
  if (const std::string_view path = variable(kMmaEnds); !path.empty()) {
    open(mma_ends_file_, kMmaEnds, std::string(path));
    mma_ends_ = std::make_unique<observe::MmaEnds>(mma_ends_file_);
  }
  if (options.profile || profile_file_.is_open() || report_) profile_ = std::make_unique<observe::Profile>();
}

Observation::~Observation() = default;

std::vector<Observer*> Observation::observers() const {
  std::vector<Observer*> all;
  if (trace_) all.push_back(trace_.get());
  if (profile_) all.push_back(profile_.get());
  if (report_)
    for (Observer* o : report_->observers()) all.push_back(o);
  if (debugger_) all.push_back(debugger_.get());
  if (mma_ends_) all.push_back(mma_ends_.get());
  return all;
}

void Observation::add(const Diagnosis& d) {
  if (report_) report_->add(d);
  if (debugger_) debugger_->told(d);
}

void Observation::name_launches(const std::string& name) {
  if (profile_) profile_->name_launches(name);
  if (trace_) trace_->name_launches(name);
}

void Observation::add_program_timeline(std::string_view text) {
  if (report_) report_->add_program_timeline(text);
}

void Observation::finish() {
  trace_.reset();
  close(trace_file_, "GEN5_TRACE", options_.observation.trace);
  if (debugger_) debugger_->finish();
  mma_ends_.reset();
  close(mma_ends_file_, kMmaEnds, std::string(variable(kMmaEnds)));
  if (!profile_) return;
  if (options_.observation.profile)
    for (const auto& k : profile_->kernels()) print_error(k.render() + "\n");
  if (profile_file_.is_open()) {
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    for (const auto& k : profile_->kernels()) document.push_back(k.json());
    profile_file_ << document.dump(1) << "\n";
    close(profile_file_, "GEN5_PROFILE_JSON", options_.observation.profile_json);
  }
  if (report_) finish_report();
  profile_.reset();
}

void Observation::finish_report() {
  observe::RunFacts facts = api::report_facts(options_);
  facts.command = command_line();
  facts.what_if = what_if();
  facts.against_path = options_.observation.against;
  facts.against = against_;
  if (against_) try {
      const auto data = report_->data(profile_->kernels(), facts, image::read_source);
      print_error(observe::render(observe::compare(*against_, facts.against_path, data,
                                                   report_file_.is_open() ? options_.observation.report : "this run")));
    } catch (const observe::ReportError& e) {
      print_error(fmt::format("gen5: {}\n", e.what()));
      facts.against.reset();
    }
  if (report_file_.is_open()) report_->write(report_file_, profile_->kernels(), facts, image::read_source);
  close(report_file_, "GEN5_REPORT", options_.observation.report);
  report_.reset();
}

}  // namespace tinygpu::cuda
