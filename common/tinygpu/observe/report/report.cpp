#include "common/tinygpu/observe/report/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/observe/report/compare.h"
#include "common/tinygpu/observe/report/page.h"
#include "common/tinygpu/observe/report/program_timeline.h"
#include "common/tinygpu/observe/report/saved_report.h"
#include "common/tinygpu/observe/report/swizzle.h"
#include "common/tinygpu/observe/report/tables.h"
#include "common/tinygpu/observe/report/timeline_json.h"

namespace tinygpu::observe {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDiagnoses = 200, kBoxes = 12, kKernels = 64, kProgramTimelines = 16;
// About 30 bytes of the page each.
constexpr uint64_t kSpansOfALaunch = 60'000, kSpans = 200'000;

Json dim(const Dim3& d) { return {d.x, d.y, d.z}; }

Json launch_json(const LaunchRecord& l) {
  Json j = {{"grid", dim(l.grid)},
            {"block", dim(l.block)},
            {"cluster", dim(l.cluster)},
            {"registers", l.registers},
            {"static_shared", l.static_shared},
            {"dynamic_shared", l.dynamic_shared}};
  if (l.finished) j["cycles"] = l.cycles;
  if (!l.fault.empty()) j["fault"] = l.fault;
  if (l.timeline >= 0) j["timeline"] = l.timeline;
  return j;
}

Json kernel_json(const KernelProfile& profile, const KernelRecord* record, diagnosis::SourceFiles& files) {
  Json k = {{"profile", profile.json()}, {"source", source_of(profile, files)}};
  if (!record) return k;
  for (const LaunchRecord& l : record->launches) k["launches"].push_back(launch_json(l));
  k["launches_left_out"] = record->launches_left_out;
  k["operations"] = record->operations;
  k["matrix_kinds"] = record->matrix_kinds;
  k["boxes"] = Json::array();
  for (size_t i = 0; i < std::min(record->boxes.size(), kBoxes); ++i) {
    const BoxUse& b = record->boxes[i];
    Json picture = bank_picture(b.box, b.shared);
    picture.update({{"loads", b.loads}, {"stores", b.stores}, {"at", b.places}});
    k["boxes"].push_back(std::move(picture));
  }
  k["boxes_left_out"] = record->boxes.size() - std::min(record->boxes.size(), kBoxes);
  return k;
}

/// What the page draws of the other run: its timelines, and whose they are.
Json against_json(const Json& data, const std::string& path, const Comparison& compared) {
  Json out = {{"path", path}, {"run", data.at("run")}, {"kernels", Json::array()}, {"partners", Json::array()}};
  out["timelines"] = data.contains("timelines") ? data["timelines"] : Json::array();
  for (const Json& k : data.at("kernels")) {
    const Json& profile = k.at("profile");
    Json kept = {{"kernel", profile.at("kernel")}, {"label", profile.at("label")}};
    if (k.contains("launches")) kept["launches"] = k["launches"];
    out["kernels"].push_back(std::move(kept));
  }
  for (const KernelChange& k : compared.kernels) out["partners"].push_back({k.before_index, k.after_index});
  return out;
}

}  // namespace

/// Keeps the timelines as the page has them.
class Report::Timelines final : public Timeline {
 public:
  Timelines(TimelineLimits limits, Launches& launches) : Timeline(limits), launches_(launches) {}
  const Json& all() const { return all_; }

 private:
  void take(const Launch&, const KernelTimeline& timeline) override {
    const uint64_t most = std::min(kSpansOfALaunch, kSpans - spans_);
    spans_ += std::min<uint64_t>(timeline.spans.size(), most);
    all_.push_back(timeline_json(timeline, most));
    launches_.set_timeline(int64_t(all_.size()) - 1);
  }
  Launches& launches_;
  Json all_ = Json::array();
  uint64_t spans_ = 0;
};

Report::Report(TimelineLimits limits) : timelines_(std::make_unique<Timelines>(limits, launches_)) {}
Report::~Report() = default;

std::vector<Observer*> Report::observers() { return {&launches_, timelines_.get()}; }

void Report::add(const Diagnosis& d) {
  const std::lock_guard lock(mutex_);
  launches_.add(d);
  if (diagnoses_.size() < kDiagnoses)
    diagnoses_.push_back(d);
  else
    ++diagnoses_left_out_;
}

void Report::add_program_timeline(std::string_view text) {
  Json timeline = program_timeline(text);
  const std::lock_guard lock(mutex_);
  if (program_timelines_.size() < kProgramTimelines) program_timelines_.push_back(std::move(timeline));
}

Json Report::data(const std::vector<KernelProfile>& profiles, const RunFacts& run, diagnosis::ReadFile read) const {
  diagnosis::SourceFiles files(std::move(read));
  const size_t shown = std::min(profiles.size(), kKernels);
  Json data = {{"format", kReportFormat},
               {"run",
                {{"command", run.command},
                 {"machine", run.machine},
                 {"gpu", run.gpu},
                 {"sms", run.sms},
                 {"clock_ghz", run.clock_ghz},
                 {"free", run.free}}},
               {"peaks", Json::object()},
               {"kernels", Json::array()},
               {"kernels_left_out", profiles.size() - shown},
               {"timelines", timelines_->all()},
               {"program_timelines", program_timelines_}};
  for (const MachineNumber& n : run.peaks)
    data["peaks"][n.key] = {
        {"value", n.value}, {"unit", n.unit}, {"what", n.what}, {"source", n.source}, {"trust", n.trust}};
  for (size_t i = 0; i < shown; ++i) {
    const auto& all = launches_.kernels();
    const auto k = std::ranges::find(all, profiles[i].name, &KernelRecord::name);
    data["kernels"].push_back(kernel_json(profiles[i], k == all.end() ? nullptr : &*k, files));
  }
  return data;
}

void Report::write(std::ostream& out, const std::vector<KernelProfile>& profiles, const RunFacts& run,
                   diagnosis::ReadFile read) const {
  Json all = data(profiles, run, read);
  const std::vector<KernelProfile> shown(profiles.begin(), profiles.begin() + int64_t(all["kernels"].size()));
  std::string tables = verdicts_section(shown, run.what_if);
  if (run.against) {
    const Comparison compared = compare(*run.against, run.against_path, all, "this run");
    tables += comparison_section(compared);
    all["against"] = against_json(*run.against, run.against_path, compared);
  }
  diagnosis::SourceFiles files(std::move(read));
  write_page(out, run.command.empty() ? "gen5 report" : "gen5 report: " + run.command,
             tables + run_section(run) + kernels_section(shown, launches_.kernels()) +
                 diagnoses_section(diagnoses_, diagnoses_left_out_, files),
             all);
}

}  // namespace tinygpu::observe
