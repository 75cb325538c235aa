// What a project's file needs beside its kernels: what it is given, and its registration. The file ends with
//
//   void launch(const project::Gemm& g) { … kernel<<<…>>>(…); }
//   PROJECT(launch)
//
// launch() starts one kernel or several on the default stream; project.cpp makes the operands, waits, and compares.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/harness/cuda_check.h"

namespace project {

/// D = A · Bᵀ. A: m × k, B: n × k, bf16, k contiguous; D: m × n, f32. n and k are multiples of 8, m is any.
struct Gemm {
  uint32_t m, n, k;
  uint16_t *a, *b;
  float* d;
};

/// Y = max(X · Upᵀ, 0) · Downᵀ. X: tokens × kModel, Up: hidden × kModel, Down: kModel × hidden, bf16; the hidden
/// numbers are rounded to bf16 between the products; Y: tokens × kModel, f32. hidden is a multiple of 64, tokens is
/// any.
struct Mlp {
  static constexpr uint32_t kModel = 256;
  uint32_t tokens, hidden;
  uint16_t *x, *up, *down;
  float* y;
};

/// One new token for each of `sequences`: 8 query heads share a head of keys and values.
///   O = softmax(Q · Kᵀ / √128) · V
/// Q, O: sequences × heads × 8 × 128, bf16 and f32; K, V: sequences × heads × most × 128, bf16. Sequence s has
/// lengths[s] keys, at least 1; what lies behind them is not a number.
struct Decode {
  static constexpr uint32_t kDim = 128, kGroup = 8;
  uint32_t sequences, heads, most;
  const uint32_t* lengths;  // on the device
  uint16_t *q, *k, *v;
  float* o;
};

struct Registration {
  Registration(const char* name, void (*launch)(const Gemm&));
  Registration(const char* name, void (*launch)(const Mlp&));
  Registration(const char* name, void (*launch)(const Decode&));
};

/// Runs the projects of this program by its command line, if it has any: the exit code, or −1.
int run(int argc, char** argv);

}  // namespace project

/// The one line that a project's file ends with.
#ifndef GEN5_EXERCISE
#define GEN5_EXERCISE "project"
#endif
#define PROJECT(launch) static const project::Registration registration(GEN5_EXERCISE, launch)
