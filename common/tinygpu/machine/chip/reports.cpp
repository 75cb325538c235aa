#include "common/tinygpu/machine/chip/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu {
namespace {

// So many instructions that break the same rule are shown in a launch; of the others, how many they are.
constexpr std::ptrdiff_t kShownOfAKind = 3;

void show(const RunOptions& options, const Diagnosis& d) {
  if (options.on_diagnosis)
    options.on_diagnosis(d);
  else
    std::fputs(d.render().c_str(), stderr);
}

}  // namespace

void Reports::add(const Diagnosis& d, const void* site) {
  std::lock_guard lock(mutex_);
  if (!reported_.insert({d.code, site}).second) return;
  if (d.severity == Severity::note && !noted_.insert({kernel_, d.code}).second) return;
  const auto of_kind = [&](const auto& r) { return r.first == d.code; };
  if (std::count_if(reported_.begin(), reported_.end(), of_kind) <= kShownOfAKind) show(options_, d);
}

void Reports::show_rest() const {
  for (auto first = reported_.begin(), next = first; first != reported_.end(); first = next) {
    next = std::find_if(first, reported_.end(), [&](const auto& r) { return r.first != first->first; });
    const auto count = std::distance(first, next);
    if (count <= kShownOfAKind) continue;
    Diagnosis d;
    d.code = first->first;
    d.severity = Severity::note;
    d.message = fmt::format("… and {} more of this kind, at other instructions", count - kShownOfAKind);
    d.where.kernel = kernel_;
    show(options_, d);
  }
}

}  // namespace tinygpu
