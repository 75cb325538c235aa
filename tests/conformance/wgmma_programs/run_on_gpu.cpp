// Runs the random wgmma programs on the GPU of this machine: conformance_wgmma_programs --check h200.golden
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "tests/conformance/on_gpu.h"
#include "tests/conformance/wgmma_programs/program.h"

namespace conformance::wgmma_programs {
namespace {

constexpr size_t kPrograms = 500;

std::string run(size_t seed) {
  const Program p = make_program(seed);
  size_t words = 0;
  for (size_t w = 0; w < p.warpgroups.size(); ++w) words += p.result_words(w);
  const PtxModule module(ptx_of(p));
  gen5::harness::DeviceBuffer<uint8_t> data(p.data);
  gen5::harness::DeviceBuffer<uint32_t> out(words);
  out.fill(0);
  module.launch("k", 1, p.threads(), {data.get(), out.get()});
  return bytes_of(std::vector<uint64_t>{hash(out.download())});
}

/// A line about the GPU, then seeds and hashes.
std::vector<std::string> read(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> out;
  uint64_t seed, h;
  while (in >> std::dec >> seed >> std::hex >> h) out.push_back(bytes_of(std::vector<uint64_t>{h}));
  return out;
}

void write(const std::string& path, const std::vector<std::string>& results) {
  const Platform p = platform();
  std::ofstream out(path);
  out << p.device << ", CUDA driver " << p.driver << ", " << p.date << "\n";
  for (size_t i = 0; i < results.size(); ++i) {
    uint64_t h;
    std::memcpy(&h, results[i].data(), 8);
    out << std::dec << i << ' ' << std::hex << h << '\n';
  }
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace
}  // namespace conformance::wgmma_programs

int main(int argc, char** argv) {
  namespace w = conformance::wgmma_programs;
  return conformance::gpu_suite_main(
      {"wgmma_programs", w::kPrograms, [](size_t i) { return "program " + std::to_string(i); }, w::run, w::read,
       w::write},
      argc, argv);
}
