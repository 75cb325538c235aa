// Tables that others have measured and published: tests/published.
#pragma once
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tinygpu::test {

/// The first ten fields of each row of tests/published/b200/FILE, without the row of names; fields that are not there
/// are empty. `source`: the root of the source tree (GEN5_SOURCE_DIR).
inline std::vector<std::array<std::string, 10>> published_rows(const std::string& source, const std::string& file) {
  std::vector<std::array<std::string, 10>> rows;
  std::ifstream in(source + "/tests/published/b200/" + file);
  if (!in) throw std::runtime_error("tests/published/b200/" + file + " is missing");
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    for (auto& field : rows.emplace_back()) std::getline(fields, field, ',');
  }
  return rows;
}

}  // namespace tinygpu::test
