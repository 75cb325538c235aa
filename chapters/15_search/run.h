// Runs kernels of this program.
#pragma once
#include "chapters/15_search/space.h"
#include "common/harness/cuda_check.h"
#include "common/harness/verify.h"

namespace search {

/// Runs the point's kernel on a product of uniform numbers, and compares every bit of D with the fused-sum reference.
/// Throws std::invalid_argument where the program has no such kernel.
gen5::harness::Comparison compare(const tiny::Problem& problem, const tiny::Point& point);

/// Times kernels on one product: on tinygpu the clock alone runs, on a GPU it is the median of several launches.
class Clock {
 public:
  explicit Clock(const tiny::Problem& problem);
  /// Throws std::invalid_argument where the program has no such kernel.
  double cycles(const tiny::Point& point);

 private:
  void launch(const tiny::Point& point);

  tiny::Problem problem_;
  gen5::harness::DeviceBuffer<uint16_t> a_, b_;
  gen5::harness::DeviceBuffer<float> d_;
  bool used_ = false;  // the operands: the first launch finds them in device memory
};

}  // namespace search
