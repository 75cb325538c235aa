#include "tests/conformance/mma_sync/golden.h"

#include <cstring>
#include <utility>

#include "tests/conformance/golden_file.h"
#include "tests/conformance/hashed_golden.h"

namespace conformance::warp {
namespace {

size_t words_per_cta(const Case& c) { return size_t(c.threads) * size_t(c.outputs); }

}  // namespace

std::string Golden::Results::bytes() const {
  std::string out(reinterpret_cast<const char*>(words.data()), words.size() * 4);
  return out.append(reinterpret_cast<const char*>(hashes.data()), hashes.size() * 4);
}

Golden::Results kept_of(const Case& c, const std::vector<uint32_t>& words) {
  const size_t part = words_per_cta(c);
  Golden::Results r;
  r.words.assign(words.begin(), words.begin() + std::ptrdiff_t(part));
  for (int i = 0; i < kCtas; ++i) r.hashes.push_back(hash(&words[size_t(i) * part], part));
  return r;
}

void write_golden(const std::string& path, const std::vector<std::string>& results,
                  std::map<std::string, std::string> header) {
  header["cases"] = fingerprint(all_cases());
  GoldenFile file{std::move(header), {}};
  for (const std::string& r : results) file.results += r;
  write_golden_file(path, file);
}

Golden read_golden(const std::string& path) {
  const GoldenFile file = read_golden_file(path, fingerprint(all_cases()));
  Golden g;
  g.header = file.header;
  const char* at = file.results.data();
  for (const Case& c : all_cases()) {
    Golden::Results r;
    r.words.resize(words_per_cta(c));
    r.hashes.resize(kCtas);
    std::memcpy(r.words.data(), at, r.words.size() * 4);
    at += r.words.size() * 4;
    std::memcpy(r.hashes.data(), at, kCtas * 4);
    at += kCtas * 4;
    g.cases.push_back(std::move(r));
  }
  return g;
}

}  // namespace conformance::warp
