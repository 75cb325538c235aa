// tinygpu's side of a suite of warp cases with hashes: each group of cases against the golden file.
#pragma once
#include <gtest/gtest.h>

#include <set>

#include "tests/conformance/hashed_golden.h"
#include "tests/support/run_ptx.h"

namespace conformance::warp {

inline std::vector<std::string> groups_of(const std::vector<Case>& cases) {
  std::set<std::string> names;
  for (const Case& c : cases) names.insert(c.group);
  return {names.begin(), names.end()};
}

/// Runs the group's cases as on an H200 and compares their hashes. Neighbours share a machine.
inline void expect_golden(const std::vector<Case>& cases, const HashedGolden& golden, const std::string& group) {
  constexpr size_t kTogether = 64;
  int ran = 0, wrong = 0;
  for (size_t first = 0; first < cases.size();) {
    size_t last = first;
    while (last < cases.size() && last - first < kTogether && cases[last].group == group) ++last;
    if (last == first) {
      ++first;
      continue;
    }
    tinygpu::test::RunPtx machine(module_text(cases, first, last, "sm_90a"), tinygpu::test::hopper_machine());
    for (; first < last; ++first, ++ran) {
      const Case& c = cases[first];
      const uint64_t in = machine.upload(operands_of(c)), out = machine.buffer<uint32_t>(result_words(c));
      try {
        machine.launch(kernel_name(first), tinygpu::Dim3{kCtas, 1, 1}, tinygpu::Dim3{uint32_t(c.threads), 1, 1}, in,
                       out);
      } catch (const tinygpu::KernelFault& f) {
        ADD_FAILURE() << c.name << "\n  " << f.diagnosis.message;
        ++wrong;
        continue;
      }
      if (hashes_of(c, machine.download<uint32_t>(out, result_words(c))) == golden.cases[first]) continue;
      if (++wrong <= 20) ADD_FAILURE() << first << " " << c.name << " differs";
    }
  }
  EXPECT_GT(ran, 0);
  EXPECT_EQ(wrong, 0) << "of " << ran << " cases";
}

}  // namespace conformance::warp
