// Cases written as PTX text, run on the GPU of this machine (or on tinygpu: the programs do not know). The runs'
// results make a golden file or are compared with one.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/cuda_check.h"

namespace conformance {

/// PTX text, compiled by the driver that belongs to the runtime in use.
class PtxModule {
 public:
  /// `level`: how far the driver's compiler optimises, 0 to 4; nothing: its default, 4. Throws
  /// gen5::harness::CudaError with the compiler's log.
  explicit PtxModule(const std::string& text, std::optional<unsigned> level = std::nullopt);
  ~PtxModule();
  PtxModule(const PtxModule&) = delete;
  PtxModule& operator=(const PtxModule&) = delete;
  /// Runs a kernel whose parameters are device addresses, and waits for its end.
  void launch(const std::string& kernel, unsigned ctas, unsigned threads, std::vector<void*> addresses) const;

 private:
  CUmodule module_ = nullptr;
};

/// Numbered cases and their golden file.
struct GpuSuite {
  std::string name;
  size_t cases = 0;
  std::function<std::string(size_t)> describe;
  /// Runs one case; returns what the golden file keeps of its results, as bytes.
  std::function<std::string(size_t)> run;
  /// What `run` returned for every case when the golden file was made. Throws std::runtime_error.
  std::function<std::vector<std::string>(const std::string& path)> read;
  /// Makes a golden file of all cases' results.
  std::function<void(const std::string& path, const std::vector<std::string>& results)> write;
};

/// The GPU that answered: "NVIDIA H200", "13.0" (CUDA's version of the driver), "2026-11-21".
struct Platform {
  std::string device, driver, date;
};
Platform platform();

/// The bytes of trivially copyable elements, for GpuSuite::run.
template <class T>
std::string bytes_of(const std::vector<T>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)};
}

/// main() of a suite's program: [--write FILE] [--check FILE] [--from CASE --to CASE] [--list]. Returns 1 when a case
/// differs from the golden file or fails, 2 on bad usage or an error.
int gpu_suite_main(const GpuSuite& suite, int argc, char** argv);

}  // namespace conformance
