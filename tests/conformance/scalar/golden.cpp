#include "tests/conformance/scalar/golden.h"

#include <cstring>
#include <sstream>

#include "tests/conformance/golden_file.h"

namespace conformance {
namespace {

/// Bytes of equal significance next to each other: what repeats then lies together for the compressor.
std::string transposed(const std::string& words, bool back) {
  std::string out(words.size(), '\0');
  const size_t n = words.size() / 8;
  for (size_t i = 0; i < n; ++i)
    for (size_t b = 0; b < 8; ++b) {
      const size_t by_word = i * 8 + b, by_plane = b * n + i;
      back ? out[by_word] = words[by_plane] : out[by_plane] = words[by_word];
    }
  return out;
}

}  // namespace

std::string fingerprint(const std::vector<Case>& cases) {
  uint64_t h = 0;
  for (const Case& c : cases)
    for (char ch : c.line) {
      const uint64_t w[] = {h, uint8_t(ch)};
      h = hash(w, 2);
    }
  std::ostringstream s;
  s << cases.size() << " cases, " << std::hex << h;
  return s.str();
}

std::string Golden::Results::bytes() const {
  std::string out(reinterpret_cast<const char*>(words.data()), words.size() * 8);
  return out.append(reinterpret_cast<const char*>(hashes.data()), hashes.size() * 8);
}

Golden::Results kept_of(const Case& c, const std::vector<uint64_t>& words) {
  Golden::Results r;
  r.words.assign(words.begin(), words.begin() + std::ptrdiff_t(kKept * c.outputs()));
  for (size_t t = 0; t < kTuples; t += kHashed)
    r.hashes.push_back(hash(&words[t * c.outputs()], kHashed * c.outputs()));
  return r;
}

void write_golden(const std::string& path, const std::vector<Case>& cases, const std::vector<std::string>& results,
                  const std::map<std::string, std::string>& header) {
  GoldenFile file{header, {}};
  file.header["cases"] = fingerprint(cases);
  for (const std::string& r : results) file.results += transposed(r, false);
  write_golden_file(path, file);
}

Golden read_golden(const std::string& path, const std::vector<Case>& cases) {
  const GoldenFile file = read_golden_file(path, fingerprint(cases));
  Golden g;
  g.header = file.header;
  size_t at = 0;
  for (const Case& c : cases) {
    const size_t words = kKept * c.outputs(), hashes = kTuples / kHashed, bytes = (words + hashes) * 8;
    const std::string raw = transposed(file.results.substr(at, bytes), true);
    at += bytes;
    Golden::Results& r = g.by_line[c.line];
    r.words.resize(words);
    r.hashes.resize(hashes);
    std::memcpy(r.words.data(), raw.data(), words * 8);
    std::memcpy(r.hashes.data(), raw.data() + words * 8, hashes * 8);
  }
  return g;
}

}  // namespace conformance
