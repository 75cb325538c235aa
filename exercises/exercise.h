// What an exercise's file needs beside its kernel: device memory, inputs, a comparison, and its registration.
//
//   void judge() {
//     exercise::DeviceBuffer<uint32_t> out(128);
//     kernel<<<1, 128>>>(out.get());
//     exercise::finish();
//     exercise::expect("out", out.download(), want);
//   }
//   EXERCISE(judge)
//
// The program that a file is linked into (exercise.cpp has its main) runs judge() once and exits with 0 if it returned.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "common/harness/cuda_check.h"

namespace exercise {

using gen5::harness::DeviceBuffer;
using gen5::harness::matrix_map;
using Words = std::vector<uint32_t>;
using Halves = std::vector<uint16_t>;

/// Waits for the kernel. Throws CudaError if its launch was refused or it ended in an error.
void finish();

/// Throws unless both hold the same words. The message names the first that differs, name[row][column] where `columns`
/// says how many a row has, else name[i]; then where the differing words lie, and where the word that was found
/// belongs.
void expect(const char* name, const Words& got, const Words& want, uint32_t columns = 0);
void expect(const char* name, const Halves& got, const Halves& want, uint32_t columns = 0);
/// The same for words that are f32: the message shows them as numbers, too.
void expect_floats(const char* name, const Words& got, const Words& want, uint32_t columns = 0);
/// Throws with the place `name[i]` and both numbers: a comparison of the caller's own found them too far apart.
[[noreturn]] void differ(const char* name, double got, double want, uint32_t i);
/// Throws with this sentence unless `holds`.
void expect(bool holds, const char* sentence);

/// 0, 1·step, 2·step … modulo 2^32: words of which no two nearby are alike.
Words counted(size_t count, uint32_t step = 2654435761u);
/// bf16 words in [−1, 1).
Halves bf16(size_t count, uint64_t seed);
/// f32 bits of A·Bᵀ as the tensor core adds it (A m × k, B n × k, bf16, k contiguous).
Words product(const Halves& a, const Halves& b, uint32_t m, uint32_t n, uint32_t k);

struct Registration {
  Registration(const char* name, void (*judge)());
};

}  // namespace exercise

/// The one line that an exercise's file ends with.
#ifndef GEN5_EXERCISE
#define GEN5_EXERCISE "exercise"
#endif
#define EXERCISE(judge) \
  static const exercise::Registration registration { GEN5_EXERCISE, judge }
