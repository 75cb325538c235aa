#include "tests/conformance/hashed_golden.h"

#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/conformance/golden_file.h"

namespace conformance::warp {

std::string fingerprint(const std::vector<Case>& cases) {
  uint64_t h = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t v) { h = (h ^ v) * 0x100000001b3; };
  for (const Case& c : cases) {
    for (char ch : c.name + c.text) mix(uint8_t(ch));
    for (Fill f : c.inputs) mix(uint64_t(f));
    mix(uint64_t(c.threads));
  }
  std::ostringstream s;
  s << cases.size() << " cases, " << std::hex << h;
  return s.str();
}

std::string hashes_of(const Case& c, const std::vector<uint32_t>& words) {
  const size_t part = kCtas / kHashes * size_t(c.threads) * size_t(c.outputs);
  std::string bytes;
  for (int i = 0; i < kHashes; ++i) {
    const uint32_t h = hash(&words[size_t(i) * part], part);
    bytes.append(reinterpret_cast<const char*>(&h), sizeof h);
  }
  return bytes;
}

void write_hashed(const std::string& path, const std::vector<Case>& cases, const std::vector<std::string>& hashes,
                  std::map<std::string, std::string> header) {
  header["cases"] = fingerprint(cases);
  GoldenFile file{std::move(header), {}};
  for (const std::string& h : hashes) file.results += h;
  write_golden_file(path, file);
}

HashedGolden read_hashed(const std::string& path, const std::vector<Case>& cases) {
  const GoldenFile file = read_golden_file(path, fingerprint(cases));
  constexpr size_t kBytes = kHashes * sizeof(uint32_t);
  if (file.results.size() != cases.size() * kBytes) throw std::runtime_error(path + " is damaged");
  HashedGolden g{file.header, {}};
  for (size_t i = 0; i < cases.size(); ++i) g.cases.push_back(file.results.substr(i * kBytes, kBytes));
  return g;
}

}  // namespace conformance::warp
