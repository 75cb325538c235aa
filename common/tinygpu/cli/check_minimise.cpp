#include "common/tinygpu/cli/check_minimise.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace tinygpu::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Codes = std::set<std::string>;

Codes errors_of(const diagnosis::Findings& findings, const std::string& run) {
  Codes out;
  for (const diagnosis::Finding& f : findings.all())
    if (f.diagnosis.severity == Severity::error && std::ranges::find(f.orders, run) != f.orders.end())
      out.insert(f.diagnosis.code);
  return out;
}

class Search {
 public:
  Search(const Run& failed, Codes errors, const std::filesystem::path& folder, double seconds, size_t most,
         EndSignals& signals)
      : failed_(failed),
        errors_(std::move(errors)),
        folder_(folder),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        left_(most),
        signals_(signals) {}

  bool over() const { return !left_ || Clock::now() > end_; }
  /// The program fails in the same way when these lines alone are late.
  bool fails(const std::vector<Where>& lines) {
    --left_;
    const auto folder = folder_ / fmt::format("minimise {}", left_);
    std::filesystem::create_directories(folder);
    CheckRuns runs(folder, false, signals_);
    diagnosis::Findings findings;
    // One that spins until effects land late takes long, and says nothing.
    RunPlan plan = plan_of(lines);
    plan.seconds =
        1 + unsigned(std::chrono::duration<double>(std::max(end_ - Clock::now(), Clock::duration{})).count());
    const Run& run = runs.run({plan}, 0, 1, findings);
    if (errors_.empty()) return run.status == failed_.status;
    const Codes now = errors_of(findings, run.plan.name());
    return std::ranges::any_of(now, [&](const std::string& code) { return errors_.contains(code); });
  }
  RunPlan plan_of(const std::vector<Where>& lines) const {
    RunPlan plan = failed_.plan;
    plan.order = "late";
    plan.late_only.clear();
    for (const Where& line : lines) plan.late_only += (plan.late_only.empty() ? "" : ",") + late_name_of(line);
    return plan;
  }

 private:
  const Run& failed_;
  const Codes errors_;
  const std::filesystem::path& folder_;
  const Clock::time_point end_;
  size_t left_;
  EndSignals& signals_;
};

}  // namespace

std::string late_name_of(const Where& w) {
  return w.cuda_file.empty() ? fmt::format("ptx:{}", w.ptx_line) : fmt::format("{}:{}", w.cuda_file, w.cuda_line);
}

std::optional<Minimised> minimise(const Run& failed, const diagnosis::Findings& findings,
                                  const std::filesystem::path& folder, double seconds, size_t most,
                                  EndSignals& signals) {
  std::vector<Where> all;
  std::set<std::string> names;
  for (const diagnosis::Finding& f : findings.all())
    if (f.diagnosis.code == kDelayableLines)
      for (const LabelledPlace& p : f.diagnosis.others)
        if (names.insert(late_name_of(p.where)).second) all.push_back(p.where);
  if (all.empty()) return {};
  Search search(failed, errors_of(findings, failed.plan.name()), folder, seconds, most, signals);
  for (const Where& line : all) {
    if (search.over()) return {};
    if (search.fails({line})) return Minimised{search.plan_of({line}), {line}, all.size(), true};
  }
  if (all.size() == 1 || search.over() || !search.fails(all)) return {};
  std::vector<Where> lines = all;
  bool least = true;
  for (size_t i = 0; i < lines.size();) {
    if (search.over()) {
      least = false;
      break;
    }
    std::vector<Where> fewer = lines;
    fewer.erase(fewer.begin() + int64_t(i));
    if (!fewer.empty() && search.fails(fewer))
      lines = std::move(fewer);
    else
      ++i;
  }
  return Minimised{search.plan_of(lines), lines, all.size(), least};
}

}  // namespace tinygpu::cli
