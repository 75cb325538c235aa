// What a run has not put to the test, and what breaks no rule and yet cannot be meant.
#include "common/tinygpu/check/coverage.h"

#include <barrier>
#include <thread>

#include "tests/check/kernel.h"

namespace tinygpu::test::coverage_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Seen {
  std::vector<std::string> notes;   // "code: instruction"
  std::vector<std::string> shapes;  // of the kernel
};

Seen seen(const std::string& body, uint32_t clusters = 1, bool tensor = false, uint32_t threads = 64) {
  Kernel k;
  k.threads = threads;
  k.body = body;
  k.clusters = clusters;
  k.tensor = tensor;
  checks::Coverage coverage;
  k.observers = {&coverage};
  Seen out;
  for (const Diagnosis& d : k.outcome(checks::Level::quick))
    if (d.code == "copy-unread" || d.code == "accumulator-unread" || d.code == "clc-always-refused" ||
        d.code == "barrier-shared")
      out.notes.push_back(race(d.code, d.where.ptx_text, ""));
  for (const Diagnosis& d : coverage.shapes()) {
    if (d.code == "delayable-lines") continue;  // tests/cuda: tries_once
    EXPECT_EQ(d.code, "check-coverage");
    EXPECT_EQ(d.severity, Severity::note);
    out.shapes.push_back(d.message);
  }
  return out;
}

const std::string kCopy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 1024, [%b];";
std::string load() { return "  @%p8 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 1024;\n  @%p8 " + kCopy + "\n"; }

TEST(Coverage, ACopyThatNothingReads) {
  EXPECT_THAT(seen(load() + wait("%p12") + "  ld.shared.u32 %r1, [%s+4];\n").notes, IsEmpty());
  EXPECT_THAT(seen(load() + wait("%p12") + "  ld.shared.u32 %r1, [%s+4096];\n").notes,
              ElementsAre(HasSubstr("copy-unread: cp.async.bulk")));
}

TEST(Coverage, AnAccumulatorThatNothingLoads) {
  const std::string product =
      "  @%p8 tcgen05.mma.cta_group::1.kind::f16 [%base], %desc, %desc, %idesc, %p13;\n"
      "  @%p8 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b];\n" +
      wait("%p12") + "  tcgen05.fence::after_thread_sync;\n";
  EXPECT_THAT(seen(product, 1, true).notes, ElementsAre(HasSubstr("accumulator-unread: tcgen05.mma")));
  const std::string ld = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%mine];\n  tcgen05.wait::ld.sync.aligned;\n";
  EXPECT_THAT(seen(product + ld, 1, true).notes, IsEmpty());
  EXPECT_THAT(seen(product + "  add.u32 %mine, %mine, 64;\n" + ld, 1, true).notes,
              ElementsAre(HasSubstr("accumulator-unread")))
      << "other columns";
}

TEST(Coverage, WhatAGridLeavesOut) {
  EXPECT_THAT(seen("").shapes, ElementsAre(HasSubstr("every grid is one CTA")));
  EXPECT_THAT(seen("", 4).shapes, ElementsAre(HasSubstr("fits on the chip at once")));
  EXPECT_THAT(seen("", 3000).shapes, IsEmpty());
}

TEST(Coverage, StagesThatAreFilledOnce) {
  const std::string once = load() + wait("%p12") + "  ld.shared.u32 %r1, [%s+4];\n";
  EXPECT_THAT(seen(once).shapes, Contains(HasSubstr("no stage is filled twice")));
  const std::string again = once + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" + load() + wait("%p12", 0, 1);
  EXPECT_THAT(seen(again).shapes, Not(Contains(HasSubstr("no stage is filled twice"))));
}

TEST(Coverage, ABarrierOfTwoGroups) {
  // Warps 0 and 1 meet, then 1 and 2.
  const auto body = [](int barrier) {
    return fmt::format(R"(
  @%p10 bar.sync 1, 64;
  @%p11 bar.sync 1, 64;
  setp.eq.u32 %p1, %w, 2;
  @%p1 nanosleep.u32 3000;
  @%p1 bar.sync {0}, 64;
  @%p11 bar.sync {0}, 64;
)",
                       barrier);
  };
  EXPECT_THAT(seen(body(1), 1, false, 96).notes, ElementsAre(HasSubstr("barrier-shared: bar.sync 1, 64")));
  EXPECT_THAT(seen(body(2), 1, false, 96).notes, IsEmpty());
}

TEST(Coverage, RequestsForWorkThatAreAllRefused) {
  const std::string ask =
      "  @%p8 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 16;\n"
      "  @%p8 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%s], [%b];\n" +
      wait("%p12");
  EXPECT_THAT(seen(ask, 4).notes, Contains(HasSubstr("clc-always-refused")));
  EXPECT_THAT(seen(ask, 3000).notes, Not(Contains(HasSubstr("clc-always-refused"))));
}

/// At the start of a launch it tells a Coverage of operations as CTAs behind the first cluster do: from many host
/// threads at once, each with instructions of its own.
class OperationsOfManyThreads final : public Observer {
 public:
  explicit OperationsOfManyThreads(checks::Coverage& told) : Observer(0), told_(told) {}
  void on_launch(const Launch& launch) override {
    constexpr size_t kThreads = 4, kRounds = 2000;
    const Function& kernel = *launch.config.kernel;
    std::barrier round(kThreads, [&]() noexcept { told_.on_launch(launch); });  // it knows of no instruction then
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        AsyncOperation operation;
        operation.who = {.launch = const_cast<Launch*>(&launch), .function = &kernel, .cta = {.id = {1, 0, 0}}};
        for (size_t r = 0; r < kRounds; ++r) {
          round.arrive_and_wait();
          for (size_t i = t; i < kernel.ops.size(); i += kThreads) {
            operation.who.op = &kernel.ops[i];
            told_.on_issue(operation);
          }
        }
      });
  }

 private:
  checks::Coverage& told_;
};

// Without a lock around the set of these instructions two first nodes break it: the process dies within some rounds.
TEST(Coverage, LinesThatManyHostThreadsTellAtOnce) {
  std::string body;
  for (int i = 0; i < 40; ++i) body += "  add.u32 %r1, %r1, 1;\n";
  RunPtx run(".visible .entry k() {\n  .reg .b32 %r<2>;\n  mov.u32 %r1, 0;\n" + body + "  ret;\n}\n");
  checks::Coverage coverage;
  OperationsOfManyThreads threads(coverage);
  run.gpu.options.observers = {&threads};
  run.launch("k", {1}, {32});
  const std::vector<Diagnosis> all = coverage.shapes();
  ASSERT_EQ(all.back().code, "delayable-lines");
  EXPECT_EQ(all.back().others.size(), 42u);
}

}  // namespace
}  // namespace tinygpu::test::coverage_test
