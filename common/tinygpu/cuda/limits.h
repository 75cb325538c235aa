// The limits of the context. cudaLimit and CUlimit have the same numbers.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <map>

#include "common/tinygpu/api/machine.h"

namespace tinygpu::cuda {

class Limits {
 public:
  explicit Limits(api::Machine& machine) : machine_(machine) { reset(); }
  void reset();
  /// UNSUPPORTED_LIMIT for a number that is none.
  CUresult get(int which, size_t& value) const;
  CUresult set(int which, size_t value);

 private:
  api::Machine& machine_;
  std::map<int, size_t> values_;
};

}  // namespace tinygpu::cuda
