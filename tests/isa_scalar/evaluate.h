// Runs one instruction (or a few) on tuples of operands, on tinygpu.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/conformance/scalar/cases.h"
#include "tests/support/run_ptx.h"

namespace isa_test {

/// `line` as in tests/conformance/scalar/cases.txt; `tuples`: the sources of each. Returns the destinations of each.
inline std::vector<std::vector<uint64_t>> evaluate(const std::string& line,
                                                   const std::vector<std::vector<uint64_t>>& tuples) {
  const conformance::Case c = conformance::parse_case(line);
  const size_t padded = (tuples.size() + 255) / 256 * 256;
  std::vector<uint64_t> in(padded * c.inputs());
  for (size_t t = 0; t < tuples.size(); ++t)
    for (size_t k = 0; k < c.inputs(); ++k) in[t * c.inputs() + k] = tuples[t].at(k);
  std::string text = conformance::module_text({c}, "sm_100a");
  text.replace(text.find("9.0"), 3, "9.4");  // cases for an H200 are as old as its driver
  tinygpu::test::RunPtx machine(text);
  const uint64_t inputs = machine.upload(in), outputs = machine.buffer<uint64_t>(padded * c.outputs());
  machine.launch(conformance::kernel_name(0), tinygpu::Dim3{uint32_t(padded / 256), 1, 1}, tinygpu::Dim3{256, 1, 1},
                 inputs, outputs);
  const std::vector<uint64_t> words = machine.download<uint64_t>(outputs, padded * c.outputs());
  std::vector<std::vector<uint64_t>> result(tuples.size());
  for (size_t t = 0; t < tuples.size(); ++t)
    result[t].assign(&words[t * c.outputs()], &words[t * c.outputs()] + c.outputs());
  return result;
}
inline uint64_t evaluate_one(const std::string& line, const std::vector<uint64_t>& operands) {
  return evaluate(line, {operands})[0][0];
}

inline uint64_t f32(float x) { return std::bit_cast<uint32_t>(x); }
inline float as_f32(uint64_t w) { return std::bit_cast<float>(uint32_t(w)); }
inline uint64_t f32x2(float low, float high) { return f32(low) | f32(high) << 32; }

/// Random words, the same in every run.
struct Random {
  uint64_t state = 1;
  uint64_t operator()() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
  /// A float of any sign, exponent between 2^-span and 2^span.
  float number(int span) {
    const uint64_t r = (*this)();
    const uint32_t exponent = uint32_t(127 - span + int((r >> 32) % uint32_t(2 * span + 1)));
    return std::bit_cast<float>(uint32_t(r & 0x807fffff) | exponent << 23);
  }
};

enum class Mode { rn, rz, rm, rp };
inline const char* const kModeNames[] = {"rn", "rz", "rm", "rp"};

/// Rounds an exact value to float. __float128 holds sums and products of the test's operands without error.
inline float round_exactly(__float128 exact, Mode mode) {
  float f = float(exact);  // to nearest
  const __float128 got = f;
  const bool toward_zero = mode == Mode::rz;
  if (mode == Mode::rn || got == exact) return f;
  const bool want_lower = mode == Mode::rm || (toward_zero && exact > 0);
  if (want_lower && got > exact) f = std::nextafterf(f, -HUGE_VALF);
  if (!want_lower && got < exact) f = std::nextafterf(f, HUGE_VALF);
  return f;
}

}  // namespace isa_test
