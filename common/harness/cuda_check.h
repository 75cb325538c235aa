// CUDA errors as exceptions, device memory as values, kernels' time.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gen5::harness {

/// A CUDA call that failed: "cudaMalloc(&p, n): out of memory (main.cu:12)".
class CudaError : public std::runtime_error {
 public:
  CudaError(std::string text, cudaError_t error) : std::runtime_error(std::move(text)), code(error) {}
  cudaError_t code;
};

void check(cudaError_t error, const char* expression, const char* file, int line);
void check(CUresult error, const char* expression, const char* file, int line);

/// Throws CudaError unless `call` succeeds. After a launch: GEN5_CUDA(cudaGetLastError()).
#define GEN5_CUDA(call) ::gen5::harness::check((call), #call, __FILE__, __LINE__)

/// `count` elements of device memory, freed at the end of the scope.
template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : count_(count) { GEN5_CUDA(cudaMalloc(&data_, bytes() ? bytes() : 1)); }
  explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) { upload(host); }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  T* get() const { return static_cast<T*>(data_); }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  void upload(const std::vector<T>& host) {
    if (host.size() != count_) throw std::invalid_argument("upload: sizes differ");
    GEN5_CUDA(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice));
  }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    GEN5_CUDA(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return host;
  }
  /// Every byte becomes `byte`.
  void fill(int byte) { GEN5_CUDA(cudaMemset(data_, byte, bytes())); }

 private:
  void* data_ = nullptr;
  size_t count_ = 0;
};

/// What a stretch of device work took.
struct Elapsed {
  double microseconds = 0;  // by the device's clock: simulated on tinygpu, at the clock that power leaves
  double host_seconds = 0;
  double cycles = 0;  // of an SM; of a GPU: the microseconds at its highest clock
};

/// Times what is put on the default stream between start() and stop(), by CUDA events.
class Timer {
 public:
  Timer();
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  void start();
  /// Waits for the work and throws its error.
  Elapsed stop();

 private:
  cudaEvent_t start_{}, stop_{};
  double host_start_ = 0;
  uint64_t cycles_start_ = 0;
};

/// The driver's function `name` as CUDA 12.0 has it, from the driver that belongs to the runtime in use: linked by
/// name, libcuda.so.1 may be another one where LD_LIBRARY_PATH names NVIDIA's. Throws when the driver has none.
void* driver_function(const char* name);

/// A row-major matrix of `rows` × `columns` elements, `pitch` elements apart, as TMA sees it: boxes of `box_rows` ×
/// `box_columns`, zeros outside. Throws with cuTensorMapEncodeTiled's reason.
CUtensorMap matrix_map(CUtensorMapDataType type, uint32_t element_bytes, void* data, uint64_t rows, uint64_t columns,
                       uint64_t pitch, uint32_t box_rows, uint32_t box_columns, CUtensorMapSwizzle swizzle);

}  // namespace gen5::harness
