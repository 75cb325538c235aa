// The scalar conformance cases: reading cases.txt, the operand tuples of a case, and the PTX that runs it. Shared by
// the runner that asks a GPU (run_on_gpu.cpp) and by the test that asks tinygpu, so both execute the same text on the
// same words.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace conformance {

struct Operand {
  std::string name;  // class, e.g. "f32", "shift", "to_int_f32"
  int bits = 0;      // register width; 0: predicate
};

struct Case {
  std::string line;  // as in the file; its hash seeds the random operands
  std::string text;  // $0 … destinations, then sources
  std::vector<Operand> dst, src;
  /// Words per tuple in memory: 64-bit each.
  size_t inputs() const { return src.size(); }
  size_t outputs() const { return dst.size(); }
};

/// Tuples run per case, and how many of them are kept as words in the golden file; the rest is kept as hashes.
constexpr size_t kTuples = 16384;
constexpr size_t kKept = 512;
constexpr size_t kHashed = 1024;  // tuples per hash

/// One line `text | destinations | sources`. Throws std::runtime_error if it cannot be read.
Case parse_case(const std::string& line);
/// Lines of cases.txt. Throws std::runtime_error on one it cannot read.
std::vector<Case> read_cases(const std::string& path);

/// kTuples × inputs() words: the first half of the kept tuples combine edge values, the rest mixes edge values, random
/// bits and operands of nearly the same magnitude. Bits above the operand's register width are zero.
std::vector<uint64_t> operands_of(const Case& c);

/// Name of the case's kernel in the module: "case_N".
std::string kernel_name(size_t index);
/// One module with a kernel per case: kernel(inputs, outputs), one tuple a thread, blocks of 256.
std::string module_text(const std::vector<Case>& cases, const std::string& target);

/// FNV-1a over words.
uint64_t hash(const uint64_t* words, size_t count);

}  // namespace conformance
