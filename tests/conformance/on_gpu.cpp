#include "tests/conformance/on_gpu.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <exception>
#include <stdexcept>

namespace conformance {
namespace {

template <class Function>
Function* driver(const char* name) {
  return reinterpret_cast<Function*>(gen5::harness::driver_function(name));
}

int compare(const GpuSuite& suite, const std::string& path, size_t first, const std::vector<std::string>& results) {
  constexpr int kShown = 20;
  const std::vector<std::string> golden = suite.read(path);
  if (golden.size() != suite.cases)
    throw std::runtime_error(fmt::format("{} has {} cases, this program {}", path, golden.size(), suite.cases));
  int differ = 0;
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i] != golden[first + i] && ++differ <= kShown)
      fmt::print("case {} differs: {}\n", first + i, suite.describe(first + i));
  fmt::print("{} of {} cases differ\n", differ, results.size());
  return differ ? 1 : 0;
}

}  // namespace

PtxModule::PtxModule(const std::string& text, std::optional<unsigned> level) {
  // The first call of the runtime makes the context that the driver's functions then find.
  GEN5_CUDA(cudaFree(nullptr));
  std::string log(8192, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size()),
                    reinterpret_cast<void*>(uintptr_t(level.value_or(4)))};
  const CUresult loaded = driver<decltype(cuModuleLoadDataEx)>("cuModuleLoadDataEx")(&module_, text.c_str(),
                                                                                     level ? 3 : 2, options, values);
  if (loaded != CUDA_SUCCESS) throw gen5::harness::CudaError(log.c_str(), cudaErrorInvalidPtx);
}

PtxModule::~PtxModule() { driver<decltype(cuModuleUnload)>("cuModuleUnload")(module_); }

void PtxModule::launch(const std::string& kernel, unsigned ctas, unsigned threads, std::vector<void*> addresses) const {
  static const auto find = driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction");
  static const auto start = driver<decltype(cuLaunchKernel)>("cuLaunchKernel");
  CUfunction function{};
  GEN5_CUDA(find(&function, module_, kernel.c_str()));
  std::vector<void*> parameters;
  for (void*& a : addresses) parameters.push_back(&a);
  GEN5_CUDA(start(function, ctas, 1, 1, threads, 1, 1, 0, nullptr, parameters.data(), nullptr));
  GEN5_CUDA(cudaDeviceSynchronize());
}

Platform platform() {
  cudaDeviceProp properties{};
  GEN5_CUDA(cudaGetDeviceProperties(&properties, 0));
  int version = 0;
  GEN5_CUDA(cudaDriverGetVersion(&version));
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return {properties.name, fmt::format("{}.{}", version / 1000, version / 10 % 100), date};
}

int gpu_suite_main(const GpuSuite& suite, int argc, char** argv) try {
  CLI::App app("The conformance cases of " + suite.name + " on the GPU of this machine");
  std::string write, check;
  size_t first = 0, last = suite.cases;
  bool list = false;
  app.add_option("--write", write, "Make this golden file of all cases");
  app.add_option("--check", check, "Compare with this golden file");
  app.add_option("--from", first, "First case");
  app.add_option("--to", last, "One after the last case");
  app.add_flag("--list", list, "Name the cases and run none");
  CLI11_PARSE(app, argc, argv);
  if (first >= last || last > suite.cases)
    throw std::runtime_error(fmt::format("there are cases 0 to {}", suite.cases - 1));
  if (!write.empty() && last - first != suite.cases) throw std::runtime_error("a golden file is of all cases");
  if (list) {
    for (size_t i = first; i < last; ++i) fmt::print("{} {}\n", i, suite.describe(i));
    return 0;
  }
  const Platform p = platform();
  std::vector<std::string> results;
  for (size_t i = first; i < last; ++i) try {
      results.push_back(suite.run(i));
    } catch (const gen5::harness::CudaError& e) {
      throw std::runtime_error(fmt::format("case {}, {}: {}", i, suite.describe(i), e.what()));
    }
  fmt::print("{}: {} cases on {}, CUDA driver {}, {}\n", suite.name, results.size(), p.device, p.driver, p.date);
  if (!write.empty()) suite.write(write, results);
  return check.empty() ? 0 : compare(suite, check, first, results);
} catch (const std::exception& e) {
  fmt::print(stderr, "{}: {}\n", suite.name, e.what());
  return 2;
}

}  // namespace conformance
