// Runs the random kernels on the GPU of this machine:
//   conformance_random_kernels [--kernels FILE] [--jit-level N] --check h200.golden
// FILE: an archive that `random_kernels pack` made, instead of the one kept here. N: how far the driver's compiler
// optimises, 0 to 4 (README.md tells why that matters).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "tests/conformance/on_gpu.h"
#include "tests/conformance/random_kernels/archive.h"
#include "tests/conformance/random_kernels/generator.h"

namespace conformance::random_kernels {
namespace {

class Runner {
 public:
  Runner(const std::string& archive, std::optional<unsigned> level) : modules_(read_archive(archive)), level_(level) {
    for (const Module& m : modules_)
      for (uint64_t seed = m.first; seed < m.last; ++seed) kernels_.push_back({&m, seed});
  }
  size_t count() const { return kernels_.size(); }
  uint64_t seed(size_t i) const { return kernels_[i].seed; }

  std::string run(size_t i) {
    const Kernel& k = kernels_[i];
    if (loaded_ != k.module) {
      module_.reset();
      module_.emplace(k.module->ptx, level_);
      loaded_ = k.module;
      // Recursion and calls through pointers: their stack is not known to the compiler.
      GEN5_CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
    }
    const Shape shape = shape_of(k.seed);
    gen5::harness::DeviceBuffer<uint32_t> in(input_words()), cells(cell_words());
    gen5::harness::DeviceBuffer<uint32_t> out(size_t(shape.ctas) * shape.threads * kWordsPerThread);
    out.fill(0);
    module_->launch(kernel_name(k.seed), shape.ctas, shape.threads,
                    {in.get(), out.get(), cells.get(), reinterpret_cast<void*>(uintptr_t(kSalt))});
    std::vector<uint32_t> words = out.download();
    for (uint32_t w : cells.download()) words.push_back(w);
    return bytes_of(std::vector<uint64_t>{hash(words.data(), words.size() * 4)});
  }

 private:
  struct Kernel {
    const Module* module;
    uint64_t seed;
  };
  std::vector<Module> modules_;
  std::optional<unsigned> level_;
  std::vector<Kernel> kernels_;
  std::optional<PtxModule> module_;
  const Module* loaded_ = nullptr;
};

}  // namespace
}  // namespace conformance::random_kernels

int main(int argc, char** argv) {
  namespace rk = conformance::random_kernels;
  std::string archive = RANDOM_KERNELS_FOLDER "/kernels.ptx.zst";
  std::optional<unsigned> level;
  const auto own_option = [&](const char* name) -> const char* {  // the suite's main() knows the others
    for (int i = 1; i + 1 < argc; ++i)
      if (std::string(argv[i]) == name) {
        std::rotate(argv + i, argv + i + 2, argv + argc);
        argc -= 2;
        return argv[argc + 1];
      }
    return nullptr;
  };
  if (const char* file = own_option("--kernels")) archive = file;
  if (const char* n = own_option("--jit-level")) level = unsigned(std::strtoul(n, nullptr, 10));
  std::optional<rk::Runner> runner;
  try {
    runner.emplace(archive, level);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "random_kernels: %s\n", e.what());
    return 2;
  }
  const auto read = [&](const std::string& path) {
    const rk::Golden golden = rk::read_golden(path);
    std::vector<std::string> out;
    for (size_t i = 0; i < runner->count(); ++i)
      if (const auto r = golden.results.find(runner->seed(i)); r != golden.results.end())
        out.push_back(conformance::bytes_of(std::vector<uint64_t>{r->second}));
    return out;
  };
  const auto write = [&](const std::string& path, const std::vector<std::string>& results) {
    const conformance::Platform p = conformance::platform();
    rk::Golden golden{p.device + ", CUDA driver " + p.driver + ", " + p.date, {}};
    for (size_t i = 0; i < results.size(); ++i) std::memcpy(&golden.results[runner->seed(i)], results[i].data(), 8);
    rk::write_golden(path, golden);
  };
  return conformance::gpu_suite_main(
      {"random_kernels", runner->count(), [&](size_t i) { return rk::kernel_name(runner->seed(i)); },
       [&](size_t i) { return runner->run(i); }, read, write},
      argc, argv);
}
