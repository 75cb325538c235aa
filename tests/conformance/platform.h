// The GPU that answered, for programs without the harness.
#pragma once
#include <cuda_runtime.h>

#include <ctime>
#include <string>

namespace conformance {

/// "NVIDIA H200, CUDA driver 13.0, 2026-11-21".
inline std::string platform_line() {
  cudaDeviceProp properties{};
  int driver = 0;
  cudaGetDeviceProperties(&properties, 0);
  cudaDriverGetVersion(&driver);
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return std::string(properties.name) + ", CUDA driver " + std::to_string(driver / 1000) + "." +
         std::to_string(driver / 10 % 100) + ", " + date;
}

}  // namespace conformance
