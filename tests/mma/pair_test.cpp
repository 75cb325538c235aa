// tcgen05.mma.cta_group::2 from PTX against the second reference: both shapes, every N, major, swizzle, A source, flag
// and issuing CTA; what becomes of a pair that is not synchronised; what the machine says to bad input.
#include <gtest/gtest.h>

#include <map>

#include "tests/mma/pair_case.h"
#include "tests/mma/random_operand.h"

namespace gen5::test::pair_test {
namespace {

using tinygpu::CompletionOrder;
using tinygpu::test::RunPtx;

PairCase generate(Random& random, uint32_t index) {
  PairCase c;
  c.form.pair = true;
  c.form.pick_kind(random);
  c.form.ashift = c.form.a_in_tmem && random.chance(4);
  if (!c.form.ashift && random.chance(6)) c.form.collector = random.chance(2) ? "fill" : "discard";
  c.m = random.chance(2) ? 128 : 256;
  c.n = 16 * (1 + index % 16);  // every N in turn
  c.issuer = random.below(2);
  const uint32_t width = c.m == 256 ? c.n : c.n / 2;
  c.d_column = width < 256 ? random.below(256 - width) : 0;
  c.pick_signs(random);
  if (c.form.tf32) {
    c.a_type = c.b_type = Type::tf32;
  } else {
    c.half = random.chance(4);
    c.a_type = c.b_type = !c.half && random.chance(2) ? Type::bf16 : Type::f16;
  }
  c.a = random_placement(random, c.form.tf32 ? 4 : 2, 32, !c.form.a_in_tmem, c.m / 2, 0);
  c.b = random_placement(random, c.form.tf32 ? 4 : 2, 32, true, c.n / 2, 40 * 1024);
  const uint32_t flavour = random.below(8), c_flavour = random.below(8);
  for (auto* image : {&c.image, &c.odd_image}) pick_image(random, *image);
  if (c.form.masked)
    for (auto* mask : {&c.mask, &c.odd_mask})
      for (auto& w : *mask) w = random.chance(3) ? random() : 0;
  for (auto* tmem : {&c.tmem, &c.odd_tmem}) c.pick_cells(random, c_flavour, *tmem);
  c.pick_operands(random, flavour);
  c.place();
  return c;
}

class PairSweep : public testing::TestWithParam<uint32_t> {};

TEST_P(PairSweep, MatchesTheSecondReference) {
  constexpr uint32_t kCases = 128;
  Random random(2000 + GetParam());
  std::map<Form, std::vector<PairCase>> by_form;
  size_t wrong_cases = 0, ran = 0;
  const auto flush = [&](std::vector<PairCase>& cases) {
    if (cases.empty()) return;
    RunPtx gpu(kernel_text(cases[0].form));
    const auto got = run_pairs(gpu, cases);
    for (size_t i = 0; i < cases.size(); ++i, ++ran) {
      const auto expected = cases[i].expected();
      for (uint32_t cta = 0; cta < 2; ++cta) {
        size_t different = 0, first = 0;
        for (size_t w = 0; w < expected[cta].size(); ++w)
          if (got[i][cta][w] != expected[cta][w] && different++ == 0) first = w;
        if (different && ++wrong_cases <= 5)
          ADD_FAILURE() << different << " cells of CTA " << cta << " differ in " << cases[i].describe()
                        << ", issued by " << cases[i].issuer << ": first at lane " << first % kLanes << " column "
                        << first / kLanes << std::hex << ", expected " << expected[cta][first] << ", got "
                        << got[i][cta][first];
      }
    }
    cases.clear();
  };
  for (uint32_t i = 0; i < kCases; ++i) {
    PairCase c = generate(random, i);
    auto& cases = by_form[c.form];
    cases.push_back(std::move(c));
    if (cases.size() == 8) flush(cases);
  }
  for (auto& [form, cases] : by_form) flush(cases);
  EXPECT_EQ(wrong_cases, 0u);
  EXPECT_EQ(ran, kCases);
}

INSTANTIATE_TEST_SUITE_P(Tcgen05MmaPair, PairSweep, testing::Range(0u, 8u));

/// M x 16 x 16 f16, all ones, K-major without swizzle, issued by the even CTA.
PairCase ones(uint32_t m = 256) {
  PairCase c;
  c.form.pair = true;
  c.m = m;
  c.n = 16;
  c.place_plainly();
  for (auto* image : {&c.image, &c.odd_image}) image->resize(kImageBytes);
  for (auto* tmem : {&c.tmem, &c.odd_tmem}) tmem->assign(kLanes * kColumns, 0x42);
  c.a_bits.assign(c.m * 16, 0x3c00);
  c.b_bits.assign(16 * 16, 0x3c00);
  c.place();
  return c;
}

const std::string kMma = "tcgen05.mma.cta_group::2.kind::f16 [%d], %adesc, %bdesc, %idesc, %en;";
const std::string kCommit =
    "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %both;";
const std::string kWait = "mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;";

const tinygpu::Diagnosis* find(const RunPtx& gpu, const std::string& code) {
  for (const auto& d : gpu.reports)
    if (d.code == code) return &d;
  return nullptr;
}

/// Both CTAs meet between issue and wait.
std::string meeting_after_issue(const std::string& then) {
  return "wait:\n  barrier.cluster.arrive; barrier.cluster.wait;\n  mov.u32 %tmp, %cluster_ctarank;\n  " + then + "\n";
}

// The odd CTA does not wait for the MMA that the even one has issued: it reads what was there before and is told.
TEST(Pair, ThePeersAccumulatorsLandWithTheMma) {
  const PairCase c = ones();
  const std::string even_only =
      "setp.ne.u32 %p, %tmp, 0; @%p bra unwaited;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;\n  @!%done bra again;\nunwaited:";
  RunPtx gpu(replaced(replaced(kernel_text(c.form), kWait, "setp.eq.u32 %done, 0, 0;"), "wait:\n",
                      meeting_after_issue(even_only)));
  gpu.gpu.options.order = {CompletionOrder::Mode::late, 0};
  const auto got = run_pairs(gpu, {c})[0];
  EXPECT_EQ(got[0], c.expected()[0]);
  EXPECT_EQ(got[1][0], 0x42u);
  const auto* late = find(gpu, "tmem-not-complete");
  ASSERT_TRUE(late);
  EXPECT_EQ(late->where.cta[0], 1u);
  ASSERT_EQ(late->others.size(), 1u);
  EXPECT_EQ(late->others[0].where.operation, "tcgen05.mma");
  EXPECT_EQ(late->others[0].where.cta[0], 0);
}

// The odd CTA adds an MMA of its own to the same accumulator after the even one's has arrived.
TEST(Pair, BothCtasMayIssueInTurn) {
  const PairCase c = ones();
  const std::string second =
      "once: mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;\n  @!%done bra once;\n"
      "  tcgen05.fence::after_thread_sync;\n"
      "  setp.ne.u32 %p, %t, 0; @%p bra again; setp.eq.u32 %p, %tmp, 0; @%p bra again;\n"
      "  ld.global.u64 %adesc, [%rec+24]; ld.global.u64 %bdesc, [%rec+32]; ld.global.u32 %idesc, [%rec+40];\n"
      "  ld.global.u32 %d, [%rec+80]; add.u32 %d, %d, %base; setp.eq.u32 %en, 0, 0;\n  " +
      kMma + "\n  " + kCommit + "\nagain:\n  " + replaced(kWait, "[%bar], 0;", "[%bar], 1;") + "\n  @!%done bra again;";
  const std::string text = replaced(kernel_text(c.form), kWait, "setp.eq.u32 %done, 0, 0;");
  RunPtx gpu(replaced(text, "wait:\n", meeting_after_issue(second)));
  const auto got = run_pairs(gpu, {c})[0];
  for (uint32_t cta = 0; cta < 2; ++cta) {
    EXPECT_EQ(got[cta][0], std::bit_cast<uint32_t>(32.0f));
    EXPECT_EQ(got[cta][15 * kLanes + 127], std::bit_cast<uint32_t>(32.0f));
  }
}

// The operands of both CTAs are read when the engine executes.
TEST(Pair, OperandsAreReadWhenTheEngineExecutes) {
  const PairCase c = ones();
  RunPtx gpu(replaced(kernel_text(c.form), kCommit,
                      kCommit + " mapa.shared::cluster.u32 %tmp, %img, 1; st.shared::cluster.b32 [%tmp], 0x40004000;"));
  const auto got = run_pairs(gpu, {c})[0];
  EXPECT_EQ(got[0][0], std::bit_cast<uint32_t>(16.0f));
  EXPECT_EQ(got[1][0], std::bit_cast<uint32_t>(18.0f));  // the first two elements of the odd CTA's row 0 became 2
}

// A commit without multicast arrives at one barrier only: the odd CTA waits for ever.
TEST(Pair, CommitToOneCtaLeavesTheOtherWaiting) {
  const PairCase c = ones();
  RunPtx gpu(replaced(kernel_text(c.form), kCommit,
                      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%bar];"));
  try {
    run_pairs(gpu, {c});
    FAIL() << "ran to its end";
  } catch (const tinygpu::KernelFault& f) {
    EXPECT_EQ(f.diagnosis.code, "deadlock");
    EXPECT_EQ(f.diagnosis.where.cta[0], 1) << tinygpu::diagnosis::render(f.diagnosis);
  }
}

// The peer of the issuing CTA leaves while the MMA is under way: the last warning is about the MMA, not about the
// columns that the early exit leaks.
TEST(Pair, PeerThatExitsEarly) {
  for (uint32_t issuer : {0u, 1u}) {
    PairCase c = ones();
    c.issuer = issuer;
    const std::string leave = "ld.global.u32 %col, [%rec+84]; setp.ne.u32 %p, %tmp, %col; @%p bra out;";
    RunPtx gpu(replaced(kernel_text(c.form), "wait:\n", meeting_after_issue(leave)));
    gpu.gpu.options.order = {CompletionOrder::Mode::late, 0};
    gpu.gpu.options.strict_tmem = false;
    EXPECT_THROW(run_pairs(gpu, {c}), tinygpu::KernelFault);  // no arrival comes to what the issuing CTA waits on
    EXPECT_TRUE(find(gpu, "tensor-core-busy-at-exit")) << "issued by " << issuer;
  }
}

std::string fault_of(const PairCase& c, const std::string& text) {
  RunPtx gpu(text);
  return fault_in([&] { run_pairs(gpu, {c}); });
}
std::string fault_of(const PairCase& c) { return fault_of(c, kernel_text(c.form)); }

TEST(PairDiagnosis, Shapes) {
  PairCase c = ones();
  c.m = 64;
  EXPECT_EQ(fault_of(c),
            "instruction-descriptor: In instruction descriptor 0x04040010, M >> 4 (bits 28:24) holds 4 (M = "
            "64); legal: 128, 256 with .cta_group::2.");
  for (uint32_t n : {8u, 24u, 264u}) {
    c = ones();
    c.n = n;
    const std::string said = fault_of(c);
    EXPECT_NE(said.find("legal: 16 to 256 in steps of 16 for kind::f16 with .cta_group::2"), std::string::npos) << said;
  }
}

TEST(PairDiagnosis, PlacesNameTheCta) {
  PairCase c = ones();
  c.lane = 16;
  EXPECT_EQ(fault_of(c),
            "mma-lane-alignment: The address of the accumulator names lane 16; with M = 256 in a pair it must be 0.");
  c = ones();
  c.d_column = 505;
  EXPECT_EQ(fault_of(c).substr(0, 72), "tmem-out-of-bounds: the accumulator in CTA rank 0 touches columns 505 to");
  c = ones();
  c.a.stride = 0x30000;
  EXPECT_NE(fault_of(c).find("A of tcgen05.mma (128 rows from shared offset 0x800 of CTA rank 0"), std::string::npos);
}

// Layout B needs half the columns: columns 504 to 511 are enough for N = 16 with M = 128, not with M = 256.
TEST(PairDiagnosis, LayoutBTakesHalfTheColumns) {
  PairCase c = ones(128);
  c.d_column = 504;
  EXPECT_EQ(fault_of(c), "ran to its end");
  c = ones(256);
  c.d_column = 504;
  EXPECT_EQ(fault_of(c).substr(0, 19), "tmem-out-of-bounds:");
}

TEST(PairDiagnosis, CollectorUseOfChangedDataInTheOddCta) {
  const PairCase c = ones();
  const std::string fill = "tcgen05.mma.cta_group::2.kind::f16.collector::a::fill [%d], %adesc, %bdesc, %idesc, 0;";
  const std::string use = "tcgen05.mma.cta_group::2.kind::f16.collector::a::lastuse [%d], %adesc, %bdesc, %idesc, 1;";
  RunPtx same(replaced(kernel_text(c.form), kMma, fill + use));
  run_pairs(same, {c});
  EXPECT_FALSE(find(same, "collector-stale"));
  RunPtx changed(replaced(kernel_text(c.form), kMma,
                          fill +
                              "nanosleep.u32 2000; mapa.shared::cluster.u32 %tmp, %img, 1;"
                              "st.shared::cluster.b32 [%tmp], 0x40004000;" +
                              use));
  run_pairs(changed, {c});
  EXPECT_TRUE(find(changed, "collector-stale"));
}

}  // namespace
}  // namespace gen5::test::pair_test
