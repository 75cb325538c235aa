#include "tests/conformance/random_kernels/archive.h"

#include <fstream>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "tests/support/zstd_file.h"

namespace conformance::random_kernels {
namespace {

const std::string kMark = "// gen5 random kernels ";

}  // namespace

std::vector<Module> read_archive(const std::string& path) {
  const std::string text = gen5::test::read_packed(path);
  if (!text.starts_with(kMark)) throw std::runtime_error(path + " is damaged");
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
  gen5::test::write_packed(path, text.str());
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
