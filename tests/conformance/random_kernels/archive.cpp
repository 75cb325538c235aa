#include "tests/conformance/random_kernels/archive.h"

#include <zstd.h>

#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace conformance::random_kernels {
namespace {

const std::string kMark = "// gen5 random kernels ";

}  // namespace

std::vector<Module> read_archive(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  const std::string packed{std::istreambuf_iterator<char>(in), {}};
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    throw std::runtime_error(path + " is no zstd file");
  std::string text(size, '\0');
  if (ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size()) != size || !text.starts_with(kMark))
    throw std::runtime_error(path + " is damaged");
  std::vector<Module> out;
  for (size_t at = 0; at != std::string::npos;) {
    const size_t end = text.find('\n', at), next = text.find(kMark, end);
    std::istringstream head(text.substr(at + kMark.size(), end - at - kMark.size()));
    Module m;
    head >> m.first >> m.last >> std::hex >> m.source;
    if (!head) throw std::runtime_error(path + " is damaged");
    m.ptx = text.substr(end + 1, next == std::string::npos ? next : next - end - 1);
    out.push_back(std::move(m));
    at = next;
  }
  return out;
}

void write_archive(const std::string& path, const std::vector<Module>& modules) {
  std::ostringstream text;
  for (const Module& m : modules)
    text << kMark << std::dec << m.first << ' ' << m.last << ' ' << std::hex << m.source << '\n' << m.ptx;
  const std::string s = text.str();
  std::string packed(ZSTD_compressBound(s.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), s.data(), s.size(), 22);
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
  std::ofstream out(path, std::ios::binary);
  if (!out.write(packed.data(), std::streamsize(size)).flush()) throw std::runtime_error("cannot write " + path);
}

Golden read_golden(const std::string& path) {
  std::ifstream in(path);
  Golden g;
  if (!std::getline(in, g.platform)) throw std::runtime_error("cannot read " + path);
  uint64_t seed, hash;
  while (in >> std::dec >> seed >> std::hex >> hash) g.results[seed] = hash;
  return g;
}

void write_golden(const std::string& path, const Golden& golden) {
  std::ofstream out(path);
  out << golden.platform << "\n";
  for (const auto& [seed, hash] : golden.results) out << std::dec << seed << ' ' << std::hex << hash << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace conformance::random_kernels
