// Conformance cases of the warp's instructions: mma.sync in every shape that sm_90a has, ldmatrix, stmatrix, movmatrix,
// shuffles, votes, match, redux, elect, barrier reductions, atomics and cp.async. Shared by the runner that asks a GPU
// (run_on_gpu.cpp) and by the test that asks tinygpu, so both execute the same text on the same words.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace conformance::warp {

/// What an input word of a thread holds.
enum class Fill : uint8_t {
  bits,  // any 32 bits
  f16x2,
  bf16x2,
  f32,
  e4m3x4,
  e5m2x4,
  f64,    // two words
  bytes,  // s8 or u8 extremes and random ones
  small,  // 0 to 7
  row,    // the 16-byte row of one of 128, no two threads of a warp the same: its offset
};

struct Case {
  std::string name;          // spelling and operand class; its hash seeds the operands
  std::string group;         // "mma", "matrix", "shuffle", "vote", "redux", "atomic", "barrier", "copy"
  std::string text;          // inputs in %a0 …, results to %d0 …
  std::vector<Fill> inputs;  // per 32-bit word of a thread
  int outputs = 0;           // 32-bit words per thread
  int operand_class = 0;     // see operands_of
  int threads = 32;          // of a CTA
};

constexpr int kCtas = 24;  // per case
constexpr int kOperandClasses = 12;

/// Every case, in a fixed order.
const std::vector<Case>& all_cases();

/// kCtas × threads × inputs words, thread after thread.
std::vector<uint32_t> operands_of(const Case& c);

/// Words of the results.
inline size_t result_words(const Case& c) { return size_t(kCtas) * size_t(c.threads) * size_t(c.outputs); }

/// Name of the case's kernel: "case_N".
std::string kernel_name(size_t index);
/// One module of the kernels of `cases[i]`, i in [first, last): kernel(inputs, outputs).
std::string module_text(const std::vector<Case>& cases, size_t first, size_t last, const std::string& target);

/// FNV-1a over words, folded to 32 bits.
uint32_t hash(const uint32_t* words, size_t count);

}  // namespace conformance::warp
