#include "common/tinygpu/observe/report/source.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace tinygpu::observe {
namespace {

constexpr int kAround = 2;
constexpr size_t kLines = 600;

}  // namespace

nlohmann::ordered_json source_of(const KernelProfile& kernel, diagnosis::SourceFiles& files) {
  std::map<std::string, std::set<int>> wanted;
  std::vector<const LineCost*> order;
  for (const auto& [place, cost] : kernel.lines)
    if (!cost.file.empty()) order.push_back(&cost);
  std::stable_sort(order.begin(), order.end(), [](const LineCost* a, const LineCost* b) {
    return a->issued + a->waited() > b->issued + b->waited();
  });
  size_t count = 0;
  for (const LineCost* c : order)
    for (int n = c->line - kAround; n <= c->line + kAround && count < kLines; ++n)
      count += wanted[c->file].insert(n).second;
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (auto& [file, numbers] : wanted) {
    // A mark where a line or two are left out takes as much room as they.
    for (auto n = numbers.begin(); n != numbers.end() && std::next(n) != numbers.end(); ++n)
      if (const int next = *std::next(n); next - *n <= kAround + 1) numbers.insert(*n + 1);
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const int n : numbers)
      if (const auto text = files.line(file, n)) lines.push_back({n, std::string(*text)});
    if (!lines.empty()) out.push_back({{"file", file}, {"lines", std::move(lines)}});
  }
  return out;
}

}  // namespace tinygpu::observe
