// Each thread's wait for a phase has to come before the next phase may end: rings whose stage is given back by all who
// wait, by one for all after a meeting, and by one alone.
#include "tests/check/kernel.h"

namespace tinygpu::test::late_wait_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Thread 0 fills a stage three times (full: %b, of 1 arrival), warps 1 and 2 wait for it. `give`: how they give it
/// back; the producer waits for `empties`, mbarriers by offset.
Kernel ring(const std::string& waits, const std::string& give, const std::vector<int>& empties, int rounds = 3) {
  Kernel k;
  k.threads = 96;
  k.body =
      "  setp.ne.u32 %p1, %w, 0;\n  setp.eq.u32 %p2, %w, 2;\n  and.pred %p3, %p11, %p9;\n  and.pred %p4, %p2, %p9;\n  "
      "and.pred %p5, %p1, %p9;\n";
  for (int r = 0; r < rounds; ++r) {
    for (const int empty : empties)
      if (r) k.body += wait("%p8", empty, (r - 1) % 2);
    k.body += "  @%p8 mbarrier.arrive.shared.b64 _, [%b];\n" + wait(waits, 0, r % 2) + give;
  }
  return k;
}

const std::string kMeet = "  bar.warp.sync -1;\n";
const std::string kFirst = "  @%p3 mbarrier.arrive.shared.b64 _, [%b+8];\n",
                  kSecond = "  @%p4 mbarrier.arrive.shared.b64 _, [%b+16];\n";

std::vector<std::string> codes(const Kernel& k) {
  std::vector<std::string> all;
  for (const std::string& f : found_in_all_orders(k)) all.push_back(f.substr(0, f.find(':')));
  return all;
}

TEST(LateWait, AStageThatOneOfTwoWarpsGivesBack) {
  const Kernel k = ring("%p1", kMeet + kFirst, {8});
  int told = 0;
  EXPECT_THAT(codes(k), ElementsAre("mbarrier-late-wait", "mbarrier-late-wait"));
  for (const Diagnosis& d : k.diagnoses()) {
    if (d.code != "mbarrier-late-wait" || d.label != "waits for phase 0") continue;
    ++told;
    EXPECT_EQ(d.severity, Severity::warning);
    EXPECT_THAT(d.message, StartsWith("a thread may be so late here that phases 0 and 1 of"));
    ASSERT_EQ(d.others.size(), 1u);
    EXPECT_THAT(d.others[0].where.ptx_text, ::testing::HasSubstr("mbarrier.arrive.shared.b64 _, [%b]"));
  }
  EXPECT_EQ(told, 1);
}

TEST(LateWait, AStageThatBothGiveBack) {
  EXPECT_THAT(codes(ring("%p1", kMeet + kFirst + kSecond, {8, 16})), IsEmpty());
}

TEST(LateWait, OneArrivesForAllWhoHaveMet) {
  EXPECT_THAT(codes(ring("%p1", "  @%p1 bar.sync 1, 64;\n" + kFirst, {8})), IsEmpty());
  // The next phase comes behind a barrier of all threads: nobody has to give anything back.
  EXPECT_THAT(codes(ring("%p1", "  bar.sync 2;\n", {})), IsEmpty());
}

TEST(LateWait, OneLaneOfAWarpArrives) {
  EXPECT_THAT(codes(ring("%p5", kMeet + kFirst + kSecond, {8, 16})), IsEmpty());
  // 31 lanes wait, and nothing says that they have come so far when the other one arrives. Lanes are not late by a
  // phase.
  EXPECT_THAT(codes(ring("%p1", kFirst + kSecond, {8, 16})), IsEmpty());
}

TEST(LateWait, WithoutASecondPhaseNobodyIsLate) { EXPECT_THAT(codes(ring("%p1", kMeet + kFirst, {8}, 1)), IsEmpty()); }

// wgmma is executed by four warps together: when it has ended in one of them, the others have come so far, too.
TEST(LateWait, OneWarpOfAWarpgroupThatMultiplies) {
  const auto ring = [](const std::string& multiply) {
    Kernel k;
    k.hopper = true;
    k.threads = 160;
    k.body =
        "  .reg .f32 %f<4>; .reg .b64 %desc;\n  mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 "
        "%f3, %f0;\n  shr.u32 %r0, %s, 4; cvt.u64.u32 %desc, %r0; or.b64 %desc, %desc, 0x0000001000080000;\n"
        "  setp.lt.u32 %p1, %w, 4; setp.eq.u32 %p2, %t, 128;\n";
    for (int r = 0; r < 3; ++r) {
      if (r) k.body += wait("%p2", 8, (r - 1) % 2);
      k.body += "  @%p2 mbarrier.arrive.shared.b64 _, [%b];\n" + wait("%p1", 0, r % 2) +
                fmt::format("  @!%p1 bra M{};\n{}M{}:\n", r, multiply, r) + kMeet +
                "  @%p8 mbarrier.arrive.shared.b64 _, [%b+8];\n";
    }
    return codes(k);
  };
  const std::string multiply =
      "  wgmma.fence.sync.aligned;\n"
      "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %desc, %desc, %p12, 1, 1, 0, 0;\n"
      "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  EXPECT_THAT(ring(multiply), IsEmpty());
  EXPECT_THAT(ring(""), ElementsAre("mbarrier-late-wait", "mbarrier-late-wait"));
}

}  // namespace
}  // namespace tinygpu::test::late_wait_test
