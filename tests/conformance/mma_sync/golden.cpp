#include "tests/conformance/mma_sync/golden.h"

#include <zstd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace conformance::warp {
namespace {

/// Names, texts and operand kinds of all cases, so that a golden file cannot be read for others.
std::string fingerprint() {
  uint64_t h = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t v) { h = (h ^ v) * 0x100000001b3; };
  for (const Case& c : all_cases()) {
    for (char ch : c.name + c.text) mix(uint8_t(ch));
    for (Fill f : c.inputs) mix(uint64_t(f));
    mix(uint64_t(c.threads));
  }
  std::ostringstream s;
  s << all_cases().size() << " cases, " << std::hex << h;
  return s.str();
}

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
  header["cases"] = fingerprint();
  std::string text;
  for (const auto& [key, value] : header) text += key + ": " + value + "\n";
  text += "\n";
  for (const std::string& r : results) text += r;
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 22);
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
  std::ofstream(path, std::ios::binary).write(packed.data(), std::streamsize(size));
}

Golden read_golden(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  const std::string packed{std::istreambuf_iterator<char>(in), {}};
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
  if (g.header["cases"] != fingerprint())
    throw std::runtime_error(path + " was made from other cases (" + g.header["cases"] +
                             "); make it again with --write");
  for (const Case& c : all_cases()) {
    Golden::Results r;
    r.words.resize(words_per_cta(c));
    r.hashes.resize(kCtas);
    std::memcpy(r.words.data(), text.data() + at, r.words.size() * 4);
    at += r.words.size() * 4;
    std::memcpy(r.hashes.data(), text.data() + at, kCtas * 4);
    at += kCtas * 4;
    g.cases.push_back(std::move(r));
  }
  return g;
}

}  // namespace conformance::warp
