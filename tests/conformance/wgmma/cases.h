// Conformance cases of wgmma.mma_async and wgmma.mma_async.sp: types, N, majors, swizzles, strides, start offsets, A in
// registers, operands random and adversarial. Shared by the runner that asks a GPU (run_on_gpu.cpp) and by the test
// that asks tinygpu.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace conformance::wgmma {

constexpr uint32_t kImage = 40960;  // bytes of shared memory that descriptors point into
constexpr uint32_t kHashes = 16;    // per case: equal runs of the result's words
constexpr uint32_t kCasesPerKernel = 7;

/// One kernel: what is fixed in the instruction's text.
struct Kernel {
  std::string d, a, b;  // "f32", "bf16", "bf16"
  uint32_t n = 8;
  bool a_in_registers = false, saturate = false;
  int scale_a = 1, scale_b = 1;
  bool transpose_a = false, transpose_b = false;
  bool sparse = false;
  uint32_t selector = 0;
  bool any_metadata = false;  // also codes without a meaning
  std::string spelling() const;
  uint32_t registers() const { return d == "f16" ? n / 4 : n / 2; }   // of D, per thread
  uint32_t inputs() const { return registers() + (sparse ? 5 : 4); }  // words per thread
  uint32_t depth() const;                                             // K
};
const std::vector<Kernel>& kernels();

/// What a launch of kernel `index / kCasesPerKernel` is given.
struct Inputs {
  std::vector<uint8_t> image;       // kImage bytes
  std::vector<uint32_t> registers;  // 128 threads x (D registers, 4 of A, metadata of a sparse kernel)
  std::array<uint64_t, 3> words{};  // A's and B's descriptors with starts relative to the image, scale-d
  std::string what;                 // operand class, swizzles, strides
};
size_t case_count();
Inputs inputs_of(size_t index);
std::string describe(size_t index);

std::string kernel_name(size_t kernel);
/// PTX of kernels [first, last): k(image, registers, words, out).
std::string module_text(size_t first, size_t last);
/// Hashes of a result: 128 threads x registers() words.
std::array<uint32_t, kHashes> hashes(const std::vector<uint32_t>& words);

}  // namespace conformance::wgmma
