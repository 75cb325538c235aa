// Random wgmma programs on tinygpu, under every order of completion: what the reference computes, and what an H200 did.
// GEN5_WGMMA_PROGRAMS=N runs N of them, half of them with fp8, instead of the first few of each.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/conformance/wgmma_programs/program.h"
#include "tests/support/run_ptx.h"

namespace conformance::wgmma_programs {
namespace {

using tinygpu::CompletionOrder;

struct Golden {
  std::string platform;
  std::map<uint64_t, uint64_t> results;
};
const Golden& golden() {
  static const Golden g = [] {
    Golden out;
    std::ifstream in(WGMMA_PROGRAMS_FOLDER "/h200.golden");
    std::getline(in, out.platform);
    uint64_t seed, h;
    while (in >> std::dec >> seed >> std::hex >> h) out.results[seed] = h;
    return out;
  }();
  return g;
}

std::vector<uint64_t> seeds() {
  const char* n = std::getenv("GEN5_WGMMA_PROGRAMS");
  const uint64_t each = (n ? std::strtoull(n, nullptr, 10) : 48) / 2;
  std::vector<uint64_t> out;
  for (uint64_t first : {uint64_t(0), kFirstWithFp8})
    for (uint64_t i = 0; i < each; ++i) out.push_back(first + i);
  return out;
}

TEST(WgmmaPrograms, AgreeWithTheReferenceAndTheH200UnderEveryOrder) {
  using Mode = CompletionOrder::Mode;
  for (const uint64_t seed : seeds()) {
    const Program p = make_program(seed);
    const std::vector<uint32_t> want = expected(p);
    if (const auto h = golden().results.find(seed); h != golden().results.end()) {
      EXPECT_EQ(hash(want), h->second) << "the reference differs from the H200, program " << seed;
    }
    const CompletionOrder orders[] = {{Mode::timed, 0}, {Mode::late, 0}, {Mode::seeded, 1}, {Mode::seeded, seed + 2}};
    for (const CompletionOrder& order : orders) {
      tinygpu::test::RunPtx machine(ptx_of(p), tinygpu::test::hopper_machine());
      machine.gpu.options.order = order;
      const uint64_t data = machine.upload(p.data), out = machine.buffer<uint32_t>(want.size());
      try {
        machine.launch("k", tinygpu::Dim3{1}, tinygpu::Dim3{p.threads()}, data, out);
      } catch (const tinygpu::KernelFault& f) {
        ADD_FAILURE() << "program " << seed << ": " << f.diagnosis.message;
        continue;
      }
      const auto got = machine.download<uint32_t>(out, want.size());
      for (const auto& d : machine.reports) ADD_FAILURE() << "program " << seed << ": " << d.code << ": " << d.message;
      if (got == want) continue;
      size_t i = 0;
      while (got[i] == want[i]) ++i;
      ADD_FAILURE() << "program " << seed << ", order " << int(order.mode) << "/" << order.seed << ": word " << i
                    << " of " << want.size() << " is " << std::hex << got[i] << ", not " << want[i];
    }
  }
}

TEST(WgmmaPrograms, ReuseBeforeTheWaitBreaksTheRules) {
  Program p = make_program(3);
  // Its operands' slot is filled again while the first operation is in flight.
  auto& ops = p.warpgroups[0].ops;
  size_t first = 0;
  while (ops[first].what != Op::What::mma) ++first;
  Op fill = ops[0];
  fill.tile.slot = ops[first].b.slot;
  ops.insert(ops.begin() + std::ptrdiff_t(first) + 1, fill);
  EXPECT_THROW(expected(p), std::logic_error);
}

TEST(WgmmaProgramsGolden, SaysWhereItComesFromAndIsLargeEnough) {
  EXPECT_NE(golden().platform.find("H200"), std::string::npos);
  EXPECT_EQ(golden().results.size(), 500u);
}

}  // namespace
}  // namespace conformance::wgmma_programs
