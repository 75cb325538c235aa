#include "common/tinygpu/diagnosis/findings.h"

#include <fmt/format.h>

#include <algorithm>

namespace tinygpu::diagnosis {

std::string key_of(const Where& w) {
  if (!w.cuda_line) return fmt::format("\n{}\n{}", w.kernel, w.ptx_line);
  std::string key = fmt::format("\n{}\n{}\n{}:{}:{}", w.kernel, w.ptx_text.substr(0, w.ptx_text.find(' ')), w.cuda_file,
                                w.cuda_line, w.cuda_column);
  for (const InlinedPlace& i : w.inlined) key += fmt::format("\n{}:{}", i.file, i.line);
  return key;
}

namespace {

std::string whole_key_of(const Diagnosis& d) {
  std::string key = fmt::format("{}\n{}{}", d.code, int(d.severity), key_of(d.where));
  // Who else waits in a deadlock, or is in flight, differs from run to run: its first place names it.
  if (d.kind != FaultKind::deadlock)
    for (const LabelledPlace& p : d.others) key += key_of(p.where);
  if (d.where.ptx_line <= 0) key += "\n" + d.message;
  return key;
}

}  // namespace

bool Findings::add(const Diagnosis& d, const std::string& order, const std::string& launch) {
  const auto [known, added] = places_.try_emplace(whole_key_of(d), all_.size());
  if (added) {
    all_.push_back({d, {}, {}, launch});
    if (!order.empty()) all_.back().orders.push_back(order);
    return true;
  }
  Finding& f = all_[known->second];
  if (order.empty() || f.orders.front() == order) f.diagnosis.count += d.count;
  if (!order.empty() && std::ranges::find(f.orders, order) == f.orders.end()) f.orders.push_back(order);
  return false;
}

size_t Findings::count(Severity severity) const {
  return size_t(std::ranges::count_if(all_, [&](const Finding& f) { return f.diagnosis.severity == severity; }));
}

}  // namespace tinygpu::diagnosis
