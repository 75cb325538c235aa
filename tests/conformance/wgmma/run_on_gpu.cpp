// Runs the wgmma conformance cases on the GPU of this machine: conformance_wgmma --check h200.golden
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "tests/conformance/on_gpu.h"
#include "tests/conformance/wgmma/cases.h"

namespace conformance::wgmma {
namespace {

/// One module at a time: cases of a kernel follow each other.
class Runner {
 public:
  std::string run(size_t i) {
    const size_t n = i / kCasesPerKernel;
    if (!module_ || n != loaded_) {
      module_.emplace(module_text(n, n + 1));
      loaded_ = n;
    }
    const Inputs in = inputs_of(i);
    gen5::harness::DeviceBuffer<uint8_t> image(in.image);
    gen5::harness::DeviceBuffer<uint32_t> registers(in.registers), out(128 * kernels()[n].registers());
    gen5::harness::DeviceBuffer<uint64_t> words({in.words.begin(), in.words.end()});
    module_->launch(kernel_name(n), 1, 128, {image.get(), registers.get(), words.get(), out.get()});
    const auto h = hashes(out.download());
    return bytes_of(std::vector<uint32_t>(h.begin(), h.end()));
  }

 private:
  std::optional<PtxModule> module_;
  size_t loaded_ = 0;
};

/// A line about the GPU, then the hashes.
std::vector<std::string> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> out;
  std::string h(kHashes * 4, '\0');
  while (in.read(h.data(), std::streamsize(h.size()))) out.push_back(h);
  return out;
}

void write(const std::string& path, const std::vector<std::string>& results) {
  const Platform p = platform();
  std::ofstream out(path, std::ios::binary);
  out << p.device << ", CUDA driver " << p.driver << ", " << p.date << "\n";
  for (const std::string& r : results) out << r;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace
}  // namespace conformance::wgmma

int main(int argc, char** argv) {
  namespace w = conformance::wgmma;
  w::Runner runner;
  return conformance::gpu_suite_main(
      {"wgmma", w::case_count(), w::describe, [&](size_t i) { return runner.run(i); }, w::read, w::write}, argc, argv);
}
