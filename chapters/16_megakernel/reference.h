// What the layers should have left in memory: each operation in float64, from the inputs that the kernels really had.
#pragma once
#include <string>
#include <vector>

#include "chapters/16_megakernel/model.h"
#include "common/harness/verify.h"

namespace megakernel {

/// How far an operation's results lie from the exact ones, over all layers.
struct Checked {
  std::string operation;
  gen5::harness::Bound bound;
};
/// Every number of every operation. What is allowed: a bf16 has 8 bits; the tensor core cuts a step of 16 products by
/// 21 · 2^-25 of Σ|wx|, an addition in f32 by 2^-24; exponentials are good to 2^-21 and what their argument is off.
std::vector<Checked> check_float64(const Sizes& sizes, const Plan& plan, const Weights& weights, const Results& got);

/// The last layer's x by a float64 walk through all layers that rounds nothing: the root of the mean squared
/// difference, as a share of x's. (Rounding to bf16 between operations makes most of it.)
double distance_to_exact(const Sizes& sizes, const Weights& weights, const Results& got);

}  // namespace megakernel
