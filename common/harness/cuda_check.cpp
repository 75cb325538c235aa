#include "common/harness/cuda_check.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "common/harness/device.h"

namespace gen5::harness {
namespace {

/// tinygpu's count of SM cycles (its cuda/session.h); null on other hardware.
uint64_t (*counted_cycles())() {
  static const auto f = reinterpret_cast<uint64_t (*)()>(dlsym(RTLD_DEFAULT, "tinygpu_session_cycles"));
  return current_device().tinygpu ? f : nullptr;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// "chapters/05_mma/main.cu:17". A compiler cache may have put the way up from the build folder before it.
std::string place(const char* file, int line) {
  std::filesystem::path path;
  for (const auto& part : std::filesystem::path(file).lexically_normal())
    if (part != "..") path /= part;
  return fmt::format("{}:{}", path.string(), line);
}

}  // namespace

void check(cudaError_t error, const char* expression, const char* file, int line) {
  if (error == cudaSuccess) return;
  throw CudaError(fmt::format("{}: {} ({})", expression, cudaGetErrorString(error), place(file, line)), error);
}

void check(CUresult error, const char* expression, const char* file, int line) {
  if (error == CUDA_SUCCESS) return;
  const char* text = nullptr;
  reinterpret_cast<decltype(&cuGetErrorString)>(driver_function("cuGetErrorString"))(error, &text);
  throw CudaError(fmt::format("{}: {} ({})", expression, text ? text : "unknown error", place(file, line)),
                  cudaErrorUnknown);
}

Timer::Timer() {
  GEN5_CUDA(cudaEventCreate(&start_));
  GEN5_CUDA(cudaEventCreate(&stop_));
}

Timer::~Timer() {
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
}

void Timer::start() {
  // It asks the driver for the device's properties, which takes half a millisecond: not behind the event.
  const auto cycles = counted_cycles();
  host_start_ = now();
  GEN5_CUDA(cudaEventRecord(start_));
  if (cycles) cycles_start_ = cycles();
}

Elapsed Timer::stop() {
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaEventRecord(stop_));
  GEN5_CUDA(cudaEventSynchronize(stop_));
  GEN5_CUDA(cudaDeviceSynchronize());
  float ms = 0;
  GEN5_CUDA(cudaEventElapsedTime(&ms, start_, stop_));
  const auto cycles = counted_cycles();
  return {double(ms) * 1e3, now() - host_start_,
          cycles ? double(cycles() - cycles_start_) : current_device().cycles(double(ms) * 1e3)};
}

void* driver_function(const char* name) {
  void* p = nullptr;
  cudaDriverEntryPointQueryResult found{};
  GEN5_CUDA(cudaGetDriverEntryPointByVersion(name, &p, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    throw CudaError(std::string("the driver has no ") + name, cudaErrorSymbolNotFound);
  return p;
}

CUtensorMap matrix_map(CUtensorMapDataType type, uint32_t element_bytes, void* data, uint64_t rows, uint64_t columns,
                       uint64_t pitch, uint32_t box_rows, uint32_t box_columns, CUtensorMapSwizzle swizzle) {
  static const auto encode =
      reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(driver_function("cuTensorMapEncodeTiled"));
  CUtensorMap map{};
  const cuuint64_t size[2] = {columns, rows};
  const cuuint64_t stride[1] = {pitch * element_bytes};
  const cuuint32_t box[2] = {box_columns, box_rows};
  const cuuint32_t step[2] = {1, 1};
  GEN5_CUDA(encode(&map, type, 2, data, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

}  // namespace gen5::harness
