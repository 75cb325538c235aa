// A conformance case of a warp's instructions: PTX text around operands that are drawn by class. The runner that asks a
// GPU and the test that asks tinygpu execute the same text on the same words.
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
  f64,         // two words
  bytes,       // s8 or u8 extremes and random ones
  small,       // 0 to 7
  row,         // the 16-byte row of one of 128, no two threads of a warp the same: its offset
  sparse,      // metadata: of each four bits two places of four, the lower first
  sparse_any,  // metadata: any two places of four
  sparse_f32,  // metadata: one place of two
};

struct Case {
  std::string name;          // spelling and operand class; its hash seeds the operands
  std::string group;         // cases that are tested together
  std::string text;          // inputs in %a0 …, results to %d0 …
  std::vector<Fill> inputs;  // per 32-bit word of a thread
  int outputs = 0;           // 32-bit words per thread
  int operand_class = 0;     // see operands_of
  int threads = 32;          // of a CTA
};

constexpr int kCtas = 24;  // per case
constexpr int kOperandClasses = 12;

/// kCtas × threads × inputs words, thread after thread.
std::vector<uint32_t> operands_of(const Case& c);

/// Words of the results.
inline size_t result_words(const Case& c) { return size_t(kCtas) * size_t(c.threads) * size_t(c.outputs); }

/// Name of the case's kernel: "case_N".
std::string kernel_name(size_t index);
/// One module of the kernels of `cases[i]`, i in [first, last): kernel(inputs, outputs).
std::string module_text(const std::vector<Case>& cases, size_t first, size_t last, const std::string& target);

/// "{%a0,%a1}"
std::string list(const char* reg, int first, int count);
inline std::string number(int n) { return std::to_string(n); }
/// What registers of a matrix type hold.
Fill fill_of(const std::string& type);

/// FNV-1a over words, folded to 32 bits.
uint32_t hash(const uint32_t* words, size_t count);

}  // namespace conformance::warp
