// Error codes. The driver's and the runtime's have the same number wherever both name the same thing, so the core
// speaks CUresult; the few codes that only the runtime has are given here as numbers of the same type.
#pragma once
#include <cuda.h>

#include <string>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu::cuda {

/// Codes of cudaError_t without a namesake in CUresult.
constexpr CUresult kInvalidPitch = CUresult(12);
constexpr CUresult kInvalidSymbol = CUresult(13);
constexpr CUresult kInvalidMemcpyDirection = CUresult(21);
constexpr CUresult kInvalidDeviceFunction = CUresult(98);

/// What hardware reports for a fault.
CUresult error_of(const Diagnosis& d);

/// One code of either API; a name is empty where that API has none.
struct ErrorCode {
  int number;
  const char *driver, *runtime, *text;
};
/// nullptr for a number that is no code.
const ErrorCode* error_code(int number);

}  // namespace tinygpu::cuda
