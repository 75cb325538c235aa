// compare_probe PROBE [BEGINNING…]: what an H200 measured with a probe, and what the probe measures on tinygpu's h200:
// the rows whose names begin so, or all. Notes quote it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/run_probe.h"

namespace {

int compare(const std::string& probe, const std::vector<std::string>& beginnings) {
  const std::string path = GEN5_SOURCE "/probes/results/h200/" + probe + ".json";
  std::ifstream in(path);
  if (!in) {
    std::cerr << "compare_probe: no results of a probe " << probe << " in " << path << '\n';
    return 1;
  }
  const nlohmann::json stored = nlohmann::json::parse(in);
  std::vector<const nlohmann::json*> rows;
  size_t width = 3;
  for (const auto& row : stored.at("benchmarks")) {
    const std::string name = row.at("name");
    const auto begins = [&](const std::string& b) { return name.starts_with(b); };
    if (!beginnings.empty() && std::ranges::none_of(beginnings, begins)) continue;
    rows.push_back(&row);
    width = std::max(width, name.size());
  }
  if (rows.empty()) {
    std::cerr << "compare_probe: no row of probe " << probe << " begins so\n";
    return 1;
  }
  // The others are not run.
  const std::string filter = beginnings.empty() ? "." : fmt::format("^({})", fmt::join(beginnings, "|"));
  const auto got = gen5::test::run_probe(GEN5_PROBES "/probe_" + probe, "h200", filter);
  const std::string head =
      fmt::format("{:<{}}  {:>9}  {:>9}  {:>9}  {:>9}", "row", width, "H200", "least", "greatest", "tinygpu");
  std::cout << head << '\n' << std::string(head.size(), '-') << '\n';
  for (const auto* row : rows) {
    const std::string name = row->at("name");
    std::cout << fmt::format("{:<{}}  {:>9.2f}  {:>9.2f}  {:>9.2f}  {:>9.2f}\n", name, width, double(row->at("median")),
                             double(row->at("min")), double(row->at("max")), got.at(name));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: compare_probe PROBE [BEGINNING...], as in: compare_probe 01_mbarrier arrive\n";
    return 2;
  }
  return compare(argv[1], {argv + 2, argv + argc});
}
