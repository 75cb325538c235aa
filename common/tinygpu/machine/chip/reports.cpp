#include "common/tinygpu/machine/chip/reports.h"

#include <fmt/format.h>

#include <cstdio>

#include "common/tinygpu/diagnosis/findings.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu {
namespace {

// So many faults of a kind are shown in a launch; of the others, how many they are.
constexpr size_t kShownOfAKind = 3;

void show(const RunOptions& options, const Diagnosis& d) {
  if (options.on_diagnosis)
    options.on_diagnosis(d);
  else
    std::fputs(diagnosis::render(d).c_str(), stderr);
}

/// A code as a warning and as an error are two kinds: what known kernels rely on must not hide what no kernel may do.
std::string kind_of(const Diagnosis& d) { return d.severity == Severity::error ? d.code + " error" : d.code; }

}  // namespace

void Reports::keep(Diagnosis d, const void* site) {
  const std::string kind = kind_of(d);
  Fault fault{kind, d.where.cuda_line ? nullptr : site, diagnosis::key_of(d.where), {}};
  for (const LabelledPlace& p : d.others) fault.others.push_back(diagnosis::key_of(p.where));
  const auto [known, added] = faults_.try_emplace(std::move(fault), kNotShown);
  if (!added) {
    if (known->second == kNotShown) return;
    Diagnosis& first = kept_[known->second];
    const uint64_t count = first.count + d.count;
    if (d.where.cycle >= 0 && d.where.cycle < first.where.cycle) first = std::move(d);
    first.count = count;
    return;
  }
  if (d.severity == Severity::note) {
    const std::lock_guard lock(noted_.mutex);
    if (!noted_.notes.insert({kernel_, d.code}).second) return;
  }
  if (++kinds_[kind] > kShownOfAKind) return;
  known->second = kept_.size();
  kept_.push_back(std::move(d));
}

void Reports::show_kept() {
  for (; shown_ < kept_.size(); ++shown_) show(options_, kept_[shown_]);
}

void Reports::add(Diagnosis d, const void* site) {
  const std::lock_guard lock(mutex_);
  keep(std::move(d), site);
}

void Reports::add_now(Diagnosis d, const void* site) {
  const std::lock_guard lock(mutex_);
  keep(std::move(d), site);
  show_kept();
}

void Reports::show_all() {
  show_kept();
  for (const auto& [kind, count] : kinds_) {
    if (count <= kShownOfAKind) continue;
    Diagnosis d;
    d.code = kind.substr(0, kind.find(' '));
    d.severity = Severity::note;
    d.message = fmt::format("… and {} more of this kind, at other instructions", count - kShownOfAKind);
    d.where.kernel = kernel_;
    show(options_, d);
  }
}

}  // namespace tinygpu
