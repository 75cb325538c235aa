// Loads and stores of shared memory whose lanes lie differently each time the instruction runs: what the machine
// remembers of the last time must not show.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test::lane_patterns_test {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kBytes = 4096;  // of shared memory
using Lanes = std::function<uint32_t(uint32_t)>;

/// Elements that lanes take, round after round; some come back.
std::vector<Lanes> rounds() {
  const Lanes dense = [](uint32_t i) { return i; }, same = [](uint32_t) { return 17u; };
  const Lanes stride2 = [](uint32_t i) { return 2 * i; }, shuffled = [](uint32_t i) { return i * 13 % 32 + 40; };
  return {dense,
          [](uint32_t i) { return i + 5; },
          same,
          dense,
          [](uint32_t i) { return 31 - i; },
          stride2,
          [](uint32_t i) { return 3 * i + 1; },
          [](uint32_t i) { return i / 2; },
          shuffled,
          [](uint32_t i) { return i == 31 ? 90u : i; },
          same,
          stride2,
          shuffled,
          dense};
}
std::vector<uint32_t> table() {
  std::vector<uint32_t> t;
  for (const Lanes& f : rounds())
    for (uint32_t i = 0; i < 32; ++i) t.push_back(f(i));
  return t;
}

/// A way to name shared memory: the address of element %r2 of %r3 bytes behind smem, in the register `address`.
struct Naming {
  const char *space, *address, *code;
};
constexpr Naming kNamings[] = {
    {".shared", "%r5", "mad.lo.u32 %r5, %r2, %r3, %r4;"},
    {".shared", "%rd5", "mad.lo.u32 %r5, %r2, %r3, %r4; cvt.u64.u32 %rd5, %r5;"},
    {"", "%rd5", "mad.lo.u32 %r5, %r2, %r3, %r4; cvt.u64.u32 %rd5, %r5; cvta.shared.u64 %rd5, %rd5;"},
};
struct Form {
  const char* type;
  uint32_t bytes;
  const char* registers;  // what is loaded, or stored
  const char* to_words;   // from registers to %r8 .. %r11
  const char* from_word;  // registers from %r8, each other element by one more
};
const Form kForms[] = {
    {".u8", 1, "%r8", "", ""},
    {".u16", 2, "%r8", "", ""},
    {".u32", 4, "%r8", "", ""},
    {".v2.u16", 4, "{%h0, %h1}", "mov.b32 %r8, {%h0, %h1};", "mov.b32 {%h0, %h1}, %r8;"},
    {".u64", 8, "%rd6", "mov.b64 {%r8, %r9}, %rd6;", "add.u32 %r9, %r8, 1; mov.b64 %rd6, {%r8, %r9};"},
    {".v2.u32", 8, "{%r8, %r9}", "", "add.u32 %r9, %r8, 1;"},
    {".v4.u32", 16, "{%r8, %r9, %r10, %r11}", "", "add.u32 %r9, %r8, 1; add.u32 %r10, %r8, 2; add.u32 %r11, %r8, 3;"},
    {".v2.u64", 16, "{%rd6, %rd7}", "mov.b64 {%r8, %r9}, %rd6; mov.b64 {%r10, %r11}, %rd7;",
     "add.u32 %r9, %r8, 1; add.u32 %r10, %r8, 2; add.u32 %r11, %r8, 3; mov.b64 %rd6, {%r8, %r9}; mov.b64 %rd7, "
     "{%r10, %r11};"},
};

/// A loop over rounds(); `body` finds the round in %r6, the lane's element in %r2, its address by `naming`.
std::string loop(const Naming& naming, uint32_t bytes, const std::string& before, const std::string& body) {
  return kernel(fmt::format(R"(
  mov.u32 %r3, {};
  mov.u32 %r4, smem;
  mov.u32 %r6, 0;
  mov.b32 %r8, 0; mov.b32 %r9, 0; mov.b32 %r10, 0; mov.b32 %r11, 0;
{}
LOOP:
  mad.lo.u32 %r1, %r6, 32, %t;
  mul.wide.u32 %rd1, %r1, 4;
  add.s64 %rd1, %in, %rd1;
  ld.global.u32 %r2, [%rd1];
  {}
{}
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, {};
  @%p1 bra LOOP;
)",
                            bytes, before, naming.code, body, rounds().size()),
                kBytes);
}

TEST(LanePatterns, LoadsFindTheirBytes) {
  for (const Naming& naming : kNamings)
    for (const Form& f : kForms) {
      // Word w of shared memory is w * 0x01030507.
      const std::string fill = R"(
  mov.u32 %r20, %t;
FILL:
  mul.lo.u32 %r21, %r20, 0x01030507;
  mad.lo.u32 %r22, %r20, 4, %r4;
  st.shared.u32 [%r22], %r21;
  add.u32 %r20, %r20, 32;
  setp.lt.u32 %p2, %r20, 1024;
  @%p2 bra FILL;
  bar.sync 0;)";
      const std::string body = fmt::format(R"(
  ld{}{} {}, [{}];
  {}
  mul.wide.u32 %rd1, %r1, 16;
  add.s64 %rd1, %out, %rd1;
  st.global.v4.u32 [%rd1], {{%r8, %r9, %r10, %r11}};)",
                                           naming.space, f.type, f.registers, naming.address, f.to_words);
      RunPtx run(loop(naming, f.bytes, fill, body));
      const auto in = table();
      const auto out = run_kernel(run, 32, in.size() * 4, in);
      for (size_t i = 0; i < in.size(); ++i) {
        std::vector<uint8_t> expected(16);
        for (uint32_t b = 0; b < f.bytes; ++b) {
          const uint32_t at = in[i] * f.bytes + b;
          expected[b] = uint8_t((at / 4 * 0x01030507u) >> (at % 4 * 8));
        }
        EXPECT_EQ(std::memcmp(expected.data(), &out[4 * i], 16), 0)
            << naming.space << naming.address << f.type << " round " << i / 32 << " lane " << i % 32;
      }
    }
}

TEST(LanePatterns, StoresReachTheirBytesAndTheLowestLaneWins) {
  for (const Naming& naming : kNamings)
    for (const Form& f : kForms) {
      const std::string body = fmt::format(R"(
  mad.lo.u32 %r8, %r6, 1000, %t;
  mul.lo.u32 %r8, %r8, 4;
  {}
  st{}{} [{}], {};)",
                                           f.from_word, naming.space, f.type, naming.address, f.registers);
      const std::string clear = R"(
  mov.u32 %r20, %t;
FILL:
  mad.lo.u32 %r22, %r20, 4, %r4;
  st.shared.u32 [%r22], 0;
  add.u32 %r20, %r20, 32;
  setp.lt.u32 %p2, %r20, 1024;
  @%p2 bra FILL;
  bar.sync 0;)";
      std::string text = loop(naming, f.bytes, clear, body);
      const std::string dump = R"(
  bar.sync 0;
  mov.u32 %r20, %t;
DUMP:
  mad.lo.u32 %r22, %r20, 4, %r4;
  ld.shared.u32 %r21, [%r22];
  mul.wide.u32 %rd1, %r20, 4;
  add.s64 %rd1, %out, %rd1;
  st.global.u32 [%rd1], %r21;
  add.u32 %r20, %r20, 32;
  setp.lt.u32 %p2, %r20, 1024;
  @%p2 bra DUMP;
)";
      text.insert(text.rfind("  ret;"), dump);
      RunPtx run(text);
      const auto in = table();
      const auto out = run_kernel(run, 32, kBytes / 4, in);
      std::vector<uint8_t> expected(kBytes);
      for (uint32_t round = 0; round < in.size() / 32; ++round)
        for (uint32_t lane = 32; lane-- > 0;) {
          uint32_t words[4];
          for (uint32_t w = 0; w < 4; ++w) words[w] = (round * 1000 + lane) * 4 + w;
          std::memcpy(&expected[size_t(in[round * 32 + lane]) * f.bytes], words, f.bytes);
        }
      EXPECT_EQ(std::memcmp(expected.data(), out.data(), kBytes), 0) << naming.space << naming.address << f.type;
    }
}

/// Cycles from before a load to its value, in each round of strides over 4-byte words.
std::vector<uint32_t> load_cycles(const std::vector<uint32_t>& strides) {
  RunPtx run(kernel(fmt::format(R"(
  mov.u32 %r4, smem;
  mov.u32 %r6, 0;
LOOP:
  mul.wide.u32 %rd1, %r6, 4;
  add.s64 %rd1, %in, %rd1;
  ld.global.u32 %r2, [%rd1];
  mul.lo.u32 %r2, %r2, %t;
  mad.lo.u32 %r5, %r2, 4, %r4;
  bar.sync 0;
  mov.u64 %rd2, %clock64;
  ld.shared.u32 %r8, [%r5];
  add.u32 %r9, %r8, 1;
  mov.u64 %rd3, %clock64;
  sub.u64 %rd3, %rd3, %rd2;
  cvt.u32.u64 %r10, %rd3;
  add.s64 %rd4, %out, %rd1;
  sub.s64 %rd4, %rd4, %in;
  st.global.u32 [%rd4], %r10;
  st.global.u32 [%rd4+256], %r9;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, {};
  @%p1 bra LOOP;
)",
                                strides.size()),
                    4 * 32 * 32));
  auto out = run_kernel(run, 32, 64 + strides.size(), strides);
  out.resize(strides.size());
  return out;
}

TEST(LanePatterns, AnAccessCostsWhatItCostsTheFirstTime) {
  const std::vector<uint32_t> strides = {1, 2, 1, 32, 0, 4, 3, 32, 1, 8, 2, 0, 16, 4, 32};
  const auto all = load_cycles(strides);
  const uint32_t one_pass = load_cycles({1})[0];
  for (size_t i = 0; i < strides.size(); ++i) {
    EXPECT_EQ(all[i], load_cycles({strides[i]})[0]) << "stride " << strides[i] << " in round " << i;
    // Lanes a stride apart meet gcd(stride, 32) to a bank; all at one word, none.
    const uint32_t meet = strides[i] ? std::gcd(strides[i], 32u) : 1;
    if (meet > 1)
      EXPECT_GE(all[i], one_pass + meet - 1);
    else
      EXPECT_EQ(all[i], one_pass);
  }
}

/// The fault of a dense load that was right before it was moved by `bytes`.
Diagnosis moved(const std::string& bytes, const std::string& naming = "%r5") {
  RunPtx run(kernel(R"(
  mov.u32 %r4, smem;
  mad.lo.u32 %r5, %t, 4, %r4;
  mov.u32 %r6, 0;
LOOP:
  cvt.u64.u32 %rd5, %r5;
  ld.shared.u32 %r8, [)" +
                        naming +
                        R"(];
  add.u32 %r5, %r5, )" + bytes +
                        R"(;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 2;
  @%p1 bra LOOP;
  st.global.u32 [%dst], %r8;
)",
                    256));
  const uint64_t out = run.buffer<uint32_t>(32);
  return run.fault_of("k", {1}, {32}, out, out);
}

TEST(LanePatterns, KnownLanesAreCheckedAgainWhereverTheyLie) {
  for (const char* naming : {"%r5", "%rd5"}) {
    EXPECT_EQ(moved("2", naming).code, "misaligned-address");
    const Diagnosis end = moved("132", naming);  // 256 bytes: the last lane is the first one outside
    EXPECT_EQ(end.code, "illegal-address");
    EXPECT_THAT(end.message, HasSubstr("load of 4 bytes at shared memory offset 0x500, which has 0x500 bytes"));
    const Diagnosis below = moved("-4", naming);
    EXPECT_EQ(below.code, "illegal-address");
    EXPECT_THAT(below.message, HasSubstr("offset 0x3fc"));
  }
}

TEST(LanePatterns, KnownLanesThatComeToLieOnABarrierAreReported) {
  RunPtx run(kernel(R"(
  mov.u32 %r4, smem;
  mad.lo.u32 %r5, %t, 4, %r4;
  setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared.b64 [%r4+512], 1;
  bar.sync 0;
  mov.u32 %r6, 0;
LOOP:
  ld.shared.u32 %r8, [%r5];
  add.u32 %r5, %r5, 388;                 // the last lane: 124 + 388 = 512
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 2;
  @%p1 bra LOOP;
  st.global.u32 [%dst], %r8;
)"));
  run_kernel(run, 32, 32);
  ASSERT_EQ(run.reports.size(), 1u);
  EXPECT_EQ(run.reports[0].code, "mbarrier-memory-reused");
  EXPECT_EQ(run.reports[0].where.thread, 31);
}

}  // namespace
}  // namespace tinygpu::test::lane_patterns_test
