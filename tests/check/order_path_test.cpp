// By what chain of synchronisation one line comes before another, and where the chain breaks.
#include "common/tinygpu/check/order_path.h"
#include "tests/check/kernel.h"

namespace tinygpu::test::order_path_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Chain {
  std::string message;
  std::vector<std::string> steps;  // instruction: what it does
};

std::string bare(const Where& w) {
  std::string s = w.ptx_text;
  if (s.starts_with("@")) s.erase(0, s.find(' ') + 1);
  return s.substr(0, s.find_first_of(" ;"));
}

/// What is said of the lines of `body` that end in //A and //B.
Chain explained(const std::string& body, uint32_t ctas = 1, bool tensor = false) {
  Kernel k;
  k.body = body;
  k.ctas = ctas;
  k.tensor = tensor;
  const std::string text = k.text();
  const auto line_of = [&](const char* mark) {
    const std::string all = ptx_header() + text;
    SourcePlace p;
    p.ptx = true;
    p.line = int(std::count(all.begin(), all.begin() + long(all.find(mark)), '\n')) + 1;
    return p;
  };
  checks::OrderPath path(line_of("//A"), line_of("//B"));
  k.observers = {&path};
  for (const Diagnosis& d : k.outcome(checks::Level::quick)) {
    if (d.code != "order-explained") continue;
    Chain out{d.message, {bare(d.where) + ": " + d.label}};
    for (const LabelledPlace& p : d.others) out.steps.push_back(bare(p.where) + ": " + p.label);
    return out;
  }
  return {"nothing", {}};
}

TEST(OrderPath, ABarrierOfThreads) {
  const Chain c = explained(R"(
  @%p10 st.shared.u32 [%s], 1; //A
  bar.sync 0;
  @%p11 ld.shared.u32 %r1, [%s]; //B
)");
  EXPECT_THAT(c.message, AllOf(HasSubstr("st comes before ld"), HasSubstr("(1 of 1 pairs have one)")));
  EXPECT_THAT(c.steps, ElementsAre("st.shared.u32: first", "bar.sync: arrives",
                                   "bar.sync: goes on when the round is complete", "ld.shared.u32: then"));
}

TEST(OrderPath, ACopyAndItsMbarrier) {
  const Chain c = explained(R"(
  @%p8 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 1024;
  @%p8 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 1024, [%b]; //A
)" + wait("%p11") + "  @%p11 ld.shared.u32 %r1, [%s]; //B\n" +
                            wait("%p10"));
  EXPECT_THAT(c.message, HasSubstr("the cp.async.bulk comes before ld"));
  EXPECT_THAT(c.steps, ElementsAre(HasSubstr(": first"), HasSubstr("lands, and counts its bytes"),
                                   HasSubstr("has seen the phase end"), "ld.shared.u32: then"));
}

TEST(OrderPath, ACopySaysNothingOfWhatItsThreadHasDone) {
  const auto body = [](const char* semantics) {
    return fmt::format(
               "  @%p10 st.shared.u32 [%s+2048], 1; //A\n"
               "  @%p8 mbarrier.arrive.expect_tx.{}.cta.shared::cta.b64 _, [%b], 1024;\n"
               "  @%p8 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 1024, [%b];\n",
               semantics) +
           wait("%p11") + "  @%p11 ld.shared.u32 %r1, [%s+2048]; //B\n" + wait("%p10");
  };
  EXPECT_THAT(explained(body("release")).message, HasSubstr("st comes before ld"));
  EXPECT_THAT(explained(body("relaxed")).message, HasSubstr("nothing orders st before ld"));
}

TEST(OrderPath, OtherMemoryNeedsNoOrder) {
  EXPECT_THAT(
      explained("  @%p10 st.shared.u32 [%s], 1; //A\n  nanosleep.u32 1000;\n  @%p11 ld.shared.u32 %r1, [%s+8]; //B\n")
          .message,
      HasSubstr("access different memory"));
}

TEST(OrderPath, TheChainBreaks) {
  const Chain c = explained("  @%p10 mbarrier.arrive.shared.b64 _, [%b+32];\n  @%p10 st.shared.u32 [%s], 1; //A\n" +
                            wait("%p11", 32) + "  @%p11 nanosleep.u32 1000;\n  @%p11 ld.shared.u32 %r1, [%s]; //B\n");
  EXPECT_THAT(c.message, HasSubstr("nothing orders st before ld: the chain breaks"));
  // The next that warp 0 does is the barrier at the kernel's end, for which warp 1 has not waited.
  EXPECT_THAT(c.steps, ElementsAre("st.shared.u32: this one",
                                   "barrier.cluster.arrive: arrives: the last link of the chain before the other line",
                                   HasSubstr("has seen the phase end: the last wait before the other line"),
                                   "ld.shared.u32: the other line, which could run first"));
}

TEST(OrderPath, AClusterAndItsBarrier) {
  const Chain c = explained(R"(
  xor.b32 %r4, %k, 1;
  mapa.shared::cluster.u32 %r2, %s, %r4;
  @%p10 st.shared.u32 [%s], 1; //A
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  @%p11 ld.shared::cluster.u32 %r1, [%r2]; //B
)",
                            2);
  EXPECT_THAT(c.message, HasSubstr("st comes before ld"));
  EXPECT_THAT(c.steps, ElementsAre("st.shared.u32: first", "barrier.cluster.arrive.aligned: arrives",
                                   HasSubstr("goes on when the round is complete"), HasSubstr("then")));
}

TEST(OrderPath, AProductAndItsCommit) {
  const Chain c = explained(R"(
  @%p8 tcgen05.mma.cta_group::1.kind::f16 [%base], %desc, %desc, %idesc, %p13; //A
  @%p8 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b];
)" + wait("%p12") + R"(
  tcgen05.fence::after_thread_sync;
  @%p11 tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%mine]; //B
  tcgen05.wait::ld.sync.aligned;
)",
                            1, true);
  EXPECT_THAT(c.message, HasSubstr("the tcgen05.mma comes before tcgen05.ld"));
  EXPECT_THAT(c.steps, ElementsAre(HasSubstr(": first"),
                                   HasSubstr("arrives when the operations that it covers have "
                                             "ended"),
                                   HasSubstr("has seen the phase end"), HasSubstr("then")));
}

}  // namespace
}  // namespace tinygpu::test::order_path_test
