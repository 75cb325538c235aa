#include "common/tinygpu/cuda/error.h"

#include <algorithm>
#include <iterator>

namespace tinygpu::cuda {

namespace {

constexpr ErrorCode kCodes[] = {
#define TINYGPU_ERROR(number, driver, runtime, text) {number, driver, runtime, text},
#include "common/tinygpu/cuda/error_codes.inc"
#undef TINYGPU_ERROR
};

}  // namespace

CUresult error_of(const Diagnosis& d) {
  if (d.code == "tmem-leak") return CUDA_ERROR_TENSOR_MEMORY_LEAK;
  switch (d.kind) {
    case FaultKind::illegal_address: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FaultKind::misaligned_address: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FaultKind::illegal_instruction: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case FaultKind::launch_failure: return CUDA_ERROR_LAUNCH_FAILED;
    case FaultKind::device_assert: return CUDA_ERROR_ASSERT;
    case FaultKind::trap: return CUDA_ERROR_LAUNCH_FAILED;
    case FaultKind::invalid_address_space: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    case FaultKind::stack_overflow: return CUDA_ERROR_ILLEGAL_ADDRESS;  // as an H200 does on endless recursion
    case FaultKind::deadlock: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case FaultKind::not_modelled: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_UNKNOWN;
}

const ErrorCode* error_code(int number) {
  const auto* end = std::end(kCodes);
  const auto* it =
      std::lower_bound(std::begin(kCodes), end, number, [](const ErrorCode& c, int n) { return c.number < n; });
  return it != end && it->number == number ? it : nullptr;
}

}  // namespace tinygpu::cuda
