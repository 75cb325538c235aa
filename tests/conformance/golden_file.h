// What a GPU computed, as it is kept: lines `key: value` about the GPU and the cases, a blank line, then results;
// packed.
#pragma once
#include <map>
#include <string>

namespace conformance {

struct GoldenFile {
  std::map<std::string, std::string> header;  // device, driver, date, assembler, cases
  std::string results;
};

/// Throws std::runtime_error if the file is damaged, or if its header's `cases` are others.
GoldenFile read_golden_file(const std::string& path, const std::string& cases);
void write_golden_file(const std::string& path, const GoldenFile& file);

}  // namespace conformance
