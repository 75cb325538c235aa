// Random CUDA C++ kernels for sm_90a: free of races, with one defined result, by construction. Each shows what one seed
// makes of divergence, calls, recursion, jump tables, warp collectives, shared memory, atomics and exact arithmetic.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace conformance::random_kernels {

inline constexpr uint32_t kPerModule = 10;      // seeds 10 m to 10 m + 9 make module m
inline constexpr uint32_t kInputWords = 4096;   // what a kernel reads
inline constexpr uint32_t kWordsPerThread = 8;  // what each thread writes
inline constexpr uint32_t kCells = 64;          // words that all threads change by atomic operations

struct Shape {
  uint32_t ctas, threads;
};
Shape shape_of(uint64_t seed);
std::string kernel_name(uint64_t seed);

/// CUDA C++ of one kernel: extern "C" __global__ void name(const u32* in, u32* out, u32* cells, u32 salt), and what it
/// calls.
std::string kernel_source(uint64_t seed);
/// Kernels [first, last) with their includes, for nvcc -arch=sm_90a -fmad=false.
std::string module_source(uint64_t first, uint64_t last);

/// What `in` and `cells` hold before a launch, and `salt`.
std::vector<uint32_t> input_words();
std::vector<uint32_t> cell_words();
inline constexpr uint32_t kSalt = 0x5a17;

/// FNV-1a over bytes: of a kernel's words, of a module's source.
uint64_t hash(const void* data, size_t size);

}  // namespace conformance::random_kernels
