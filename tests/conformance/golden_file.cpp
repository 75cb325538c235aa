#include "tests/conformance/golden_file.h"

#include <stdexcept>

#include "tests/support/zstd_file.h"

namespace conformance {

GoldenFile read_golden_file(const std::string& path, const std::string& cases) {
  const std::string text = gen5::test::read_packed(path);
  GoldenFile file;
  for (size_t at = 0;;) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) throw std::runtime_error(path + " has no header");
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      file.results = text.substr(at);
      break;
    }
    const size_t colon = line.find(": ");
    file.header[line.substr(0, colon)] = line.substr(colon + 2);
  }
  if (file.header["cases"] != cases)
    throw std::runtime_error(path + " was made from other cases (" + file.header["cases"] +
                             "); make it again with --write");
  return file;
}

void write_golden_file(const std::string& path, const GoldenFile& file) {
  std::string text;
  for (const auto& [key, value] : file.header) text += key + ": " + value + "\n";
  gen5::test::write_packed(path, text + "\n" + file.results);
}

}  // namespace conformance
