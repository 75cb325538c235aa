#include "tests/conformance/scalar/golden.h"

#include <zstd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace conformance {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

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
  std::string text;
  for (const auto& [key, value] : header) text += key + ": " + value + "\n";
  text += "cases: " + fingerprint(cases) + "\n\n";
  for (const std::string& r : results) text += transposed(r, false);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 22);
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
  std::ofstream(path, std::ios::binary).write(packed.data(), std::streamsize(size));
}

Golden read_golden(const std::string& path, const std::vector<Case>& cases) {
  const std::string packed = read_file(path);
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    throw std::runtime_error(path + " is no zstd file");
  std::string text(size, '\0');
  if (ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size()) != size)
    throw std::runtime_error(path + " is damaged");
  Golden g;
  size_t at = 0;
  for (;;) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) throw std::runtime_error(path + " has no header");
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) break;
    const size_t colon = line.find(": ");
    g.header[line.substr(0, colon)] = line.substr(colon + 2);
  }
  if (g.header["cases"] != fingerprint(cases))
    throw std::runtime_error(path + " was made from other cases (" + g.header["cases"] +
                             "); make it again with --write");
  for (const Case& c : cases) {
    const size_t words = kKept * c.outputs(), hashes = kTuples / kHashed, bytes = (words + hashes) * 8;
    const std::string raw = transposed(text.substr(at, bytes), true);
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
