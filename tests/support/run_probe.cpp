#include "tests/support/run_probe.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace gen5::test {

std::map<std::string, double> run_probe(const std::string& probe, const std::string& machine,
                                        const std::string& filter) {
  const std::string command = fmt::format(
      "GEN5_DEVICE=tinygpu GEN5_MACHINE={} '{}' --benchmark_format=json --benchmark_filter='{}' 2>/dev/null", machine,
      probe, filter);
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + probe);
  std::string text;
  std::array<char, 65536> buffer;
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), n);
  if (const int status = pclose(pipe)) throw std::runtime_error(fmt::format("{} ended with status {}", probe, status));
  std::map<std::string, double> cycles;
  const nlohmann::json document = nlohmann::json::parse(text);
  for (const auto& b : document.at("benchmarks")) {
    std::string name = b.at("name");
    name.resize(std::min(name.size(), name.find("/iterations:")));
    cycles[name] = b.at("cycles");
  }
  return cycles;
}

}  // namespace gen5::test
