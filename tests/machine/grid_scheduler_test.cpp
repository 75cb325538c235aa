// Grids that run at the same time: who gets which SM when, and what they take from each other.
#include "common/tinygpu/machine/chip/grid_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/machine/grids.h"

namespace tinygpu::test::grid_scheduler_test {
namespace {

const char* kKernels = R"(
// Each CTA notes its SM and its clock, runs for `busy` cycles, and notes its clock again.
.visible .entry stay(.param .u64 stamps, .param .u32 busy) {
  .reg .b64 %out, %begin, %now, %end;
  .reg .b32 %cta, %sm, %for, %t;
  .reg .pred %p;
  mov.u64 %begin, %clock64;
  ld.param.u64 %out, [stamps];
  ld.param.u32 %for, [busy];
  mov.u32 %cta, %ctaid.x;
  mad.wide.u32 %out, %cta, 32, %out;
  mov.u32 %sm, %smid;
  cvt.u64.u32 %end, %for;
  add.u64 %end, %begin, %end;
L:
  mov.u64 %now, %clock64;
  setp.lt.u64 %p, %now, %end;
  @%p bra L;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @%p ret;
  st.global.u64 [%out], %begin;
  st.global.u64 [%out+8], %now;
  st.global.u32 [%out+16], %sm;
}
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 rounds) {
  .reg .b64 %from, %to, %step;
  .reg .b32 %a, %b, %c, %d, %i, %n, %w;
  .reg .pred %p;
  ld.param.u64 %from, [from]; ld.param.u64 %to, [to]; ld.param.u32 %n, [rounds];
  mov.u32 %i, %ctaid.x; mov.u32 %w, %ntid.x; mov.u32 %a, %tid.x;
  mad.lo.u32 %i, %i, %w, %a;
  mad.wide.u32 %from, %i, 16, %from;
  mad.wide.u32 %to, %i, 16, %to;
  mov.u32 %i, %nctaid.x;
  mul.lo.u32 %i, %i, %w;
  mul.wide.u32 %step, %i, 16;
L:
  ld.global.v4.u32 {%a, %b, %c, %d}, [%from];
  st.global.v4.u32 [%to], {%a, %b, %c, %d};
  add.u64 %from, %from, %step;
  add.u64 %to, %to, %step;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra L;
}
.visible .entry wait(.param .u64 flag) {
  .reg .b64 %f;
  .reg .b32 %v;
  .reg .pred %p;
  ld.param.u64 %f, [flag];
L:
  ld.relaxed.gpu.global.u32 %v, [%f];
  setp.eq.u32 %p, %v, 0;
  @%p bra L;
}
.visible .entry tell(.param .u64 flag) {
  .reg .b64 %f;
  ld.param.u64 %f, [flag];
  st.relaxed.gpu.global.u32 [%f], 1;
}
.visible .entry ranks(.param .u64 out) {
  .reg .b64 %out;
  .reg .b32 %cta, %rank;
  ld.param.u64 %out, [out];
  mov.u32 %cta, %ctaid.x;
  mov.u32 %rank, %cluster_ctarank;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mad.wide.u32 %out, %cta, 4, %out;
  st.global.u32 [%out], %rank;
})";

/// `times` products of ones, 128x64x16 in bf16, that add up in Tensor Memory; thread 0 notes when its commit arrives,
/// each thread the first element of its row.
const char* kTensorCore = R"(
.visible .entry product(.param .u64 out, .param .u32 times) {
  .shared .align 128 .b8 a[4096];
  .shared .align 128 .b8 b[2048];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 slot;
  .reg .b64 %out, %a, %b, %now;
  .reg .b32 %t, %at, %bar, %tmem, %n, %i, %ones, %x, %cta;
  .reg .pred %p, %first, %done;
  ld.param.u64 %out, [out];
  ld.param.u32 %n, [times];
  mov.u32 %t, %tid.x;
  mov.u32 %bar, bar;
  mov.u32 %ones, 0x3f803f80;
  setp.lt.u32 %p, %t, 32;
  @!%p bra FILL;
  mov.u32 %at, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], 64;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
FILL:
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  mov.u32 %at, a;
  mad.lo.u32 %at, %t, 32, %at;
  st.shared.v4.b32 [%at], {%ones, %ones, %ones, %ones};
  st.shared.v4.b32 [%at+16], {%ones, %ones, %ones, %ones};
  mov.u32 %at, b;
  mad.lo.u32 %at, %t, 16, %at;
  st.shared.v4.b32 [%at], {%ones, %ones, %ones, %ones};
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.u32 %tmem, [slot];
  @!%first bra WAIT;
  // K-major without swizzle: 8 by 8 elements are 128 bytes in a row, those of the next k lie behind all rows.
  mov.u32 %at, a;
  shr.u32 %at, %at, 4;
  cvt.u64.u32 %a, %at;
  or.b64 %a, %a, 0x0000400800800000;
  mov.u32 %at, b;
  shr.u32 %at, %at, 4;
  cvt.u64.u32 %b, %at;
  or.b64 %b, %b, 0x0000400800400000;
  mov.u32 %i, 0;
MMA:
  setp.ge.u32 %p, %i, %n;
  @%p bra COMMIT;
  setp.ne.u32 %p, %i, 0;
  tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, 0x8100490, %p;
  add.u32 %i, %i, 1;
  bra MMA;
COMMIT:
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;
  @!%done bra WAIT;
  mov.u64 %now, %clock64;
  tcgen05.fence::after_thread_sync;
  setp.eq.u32 %p, %n, 0;
  @%p bra NONE;
  and.b32 %at, %t, 96;
  shl.b32 %at, %at, 16;
  add.u32 %at, %at, %tmem;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x}, [%at];
  tcgen05.wait::ld.sync.aligned;
NONE:
  mov.u32 %cta, %ctaid.x;
  mad.lo.u32 %cta, %cta, 128, %t;
  mad.wide.u32 %out, %cta, 16, %out;
  st.global.u64 [%out], %now;
  st.global.u32 [%out+8], %x;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  setp.lt.u32 %p, %t, 32;
  @%p tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;
})";

struct Product {
  uint64_t arrived;
  float first;
  uint32_t unused;
};

struct Stamp {
  uint64_t begin, end;
  uint32_t sm, unused[3];
};

/// Grids that are added one after the other and then run.
class Grids {
 public:
  explicit Grids(MachineSpec spec = plain_machine(), int threads = 0)
      : run(std::string(kKernels) + kMultiply + kTensorCore, std::move(spec)), scheduler(run.gpu), watched_(run) {
    run.gpu.options.threads = threads;
  }
  /// CTAs of `threads` threads that run for so long.
  size_t stay(uint32_t ctas, uint32_t threads, uint32_t busy, uint32_t shared = 0, int priority = 0,
              uint64_t start = 0) {
    stamps_.push_back({run.buffer<Stamp>(ctas), ctas});
    run.dynamic_shared = shared;
    return add(run.config("stay", {ctas}, {threads}, stamps_.back().first, busy), priority, start);
  }
  template <class... P>
  size_t other(const std::string& kernel, uint32_t ctas, uint32_t threads, P... params) {
    stamps_.push_back({});
    run.dynamic_shared = 0;
    return add(run.config(kernel, {ctas}, {threads}, params...), 0, 0);
  }
  void all() {
    while (!scheduler.empty()) {
      const GridScheduler::Event e = scheduler.run();
      cycles.at(size_t(std::ranges::find(launches_, e.launch) - launches_.begin())) = e.stats.cycles;
    }
  }
  std::vector<Stamp> stamps(size_t grid) { return run.download<Stamp>(stamps_[grid].first, stamps_[grid].second); }
  uint64_t first(size_t grid) { return std::ranges::min(stamps(grid), {}, &Stamp::begin).begin; }
  uint64_t last_begin(size_t grid) { return std::ranges::max(stamps(grid), {}, &Stamp::begin).begin; }
  uint64_t first_end(size_t grid) { return std::ranges::min(stamps(grid), {}, &Stamp::end).end; }
  uint64_t last_end(size_t grid) { return std::ranges::max(stamps(grid), {}, &Stamp::end).end; }
  std::set<uint32_t> sms(size_t grid) {
    std::set<uint32_t> on;
    for (const Stamp& s : stamps(grid)) on.insert(s.sm);
    return on;
  }

  RunPtx run;
  GridScheduler scheduler;
  std::vector<uint64_t> cycles;

 private:
  size_t add(const LaunchConfig& config, int priority, uint64_t start) {
    launches_.push_back(&scheduler.add(config, start, priority));
    cycles.push_back(0);
    return launches_.size() - 1;
  }
  RunPtx::Watched watched_;
  std::vector<std::pair<uint64_t, uint32_t>> stamps_;
  std::vector<const Launch*> launches_;
};

constexpr uint32_t kWhole = 200 * 1024;  // one such CTA fills an SM

TEST(GridScheduler, AGridByItselfTakesWhatALaunchTakes) {
  RunPtx alone(kKernels);
  const uint64_t a = alone.buffer<Stamp>(40);
  const uint64_t cycles = alone.launch("stay", {40}, {256}, a, 3000u).cycles;
  Grids g;
  g.stay(40, 256, 3000);
  g.all();
  EXPECT_EQ(g.cycles[0], cycles);
}

TEST(GridScheduler, TwoHalvesOfTheChipTakeTheTimeOfOne) {
  for (const uint32_t shared : {0u, kWhole}) {
    Grids one;
    one.stay(4, 128, 20000, shared);
    one.all();
    Grids two;
    const size_t a = two.stay(4, 128, 20000, shared), b = two.stay(4, 128, 20000, shared);
    two.all();
    EXPECT_EQ(two.cycles[a], one.cycles[0]);
    EXPECT_NEAR(double(two.cycles[b]), double(one.cycles[0] + two.run.gpu.timing.launch.grid_interval), 50);
    std::set<uint32_t> both = two.sms(a);
    both.merge(two.sms(b));
    EXPECT_EQ(both.size(), 8u) << "the second comes to the SMs without a CTA";
  }
}

TEST(GridScheduler, TheSecondBeginsWhenTheFirstIsHandedOut) {
  Grids g;
  const size_t a = g.stay(24, 1024, 20000, kWhole), b = g.stay(8, 1024, 20000, kWhole);
  g.all();
  EXPECT_GE(g.first(b), g.first_end(a) + 2 * 20000u) << "the third wave of the first";
  EXPECT_LT(g.first(b), g.first_end(a) + 2 * 20000u + 10000);
}

TEST(GridScheduler, ALastWaveLeavesRoom) {
  Grids g;
  const size_t a = g.stay(12, 1024, 20000, kWhole), b = g.stay(8, 1024, 20000, kWhole);
  g.all();
  EXPECT_GT(g.first(b), g.first_end(a));
  EXPECT_LT(g.first(b), g.last_begin(a) + 3000) << "half of the chip is free beside the second wave";
  EXPECT_GT(g.last_begin(b), g.last_end(a));
}

TEST(GridScheduler, OneThatWouldFitWaitsForThoseAheadOfIt) {
  Grids g;
  const size_t a = g.stay(24, 256, 20000, kWhole), b = g.stay(8, 128, 1000);
  g.all();
  EXPECT_GT(g.first(b), g.last_begin(a));
  EXPECT_LT(g.first(b), g.first_end(a) + 3 * 20000u) << "then it is there beside them";
}

TEST(GridScheduler, TheSecondsCtasSpread) {
  Grids g;
  g.stay(24, 256, 20000, kWhole);
  const size_t b = g.stay(8, 128, 10000);
  g.all();
  EXPECT_EQ(g.sms(b).size(), 8u) << "where there are fewest, however long there has been room";
}

TEST(GridScheduler, APriorityGoesFirst) {
  Grids g;
  const size_t low = g.stay(24, 1024, 20000, kWhole), high = g.stay(8, 1024, 20000, kWhole, -5);
  g.all();
  EXPECT_LT(g.last_begin(high), g.first(low));
}

TEST(GridScheduler, APriorityThatComesLaterTakesTheNextPlaces) {
  Grids g;
  const size_t low = g.stay(32, 1024, 20000, kWhole), high = g.stay(8, 1024, 20000, kWhole, -5, 5000);
  g.all();
  EXPECT_GT(g.first(high), g.first_end(low)) << "no CTA is driven out";
  EXPECT_LT(g.last_begin(high), g.first_end(low) + 3000);
}

TEST(GridScheduler, WhoComesLaterTakesNoPlaceBeforehand) {
  Grids g;
  const size_t low = g.stay(16, 1024, 20000, kWhole), high = g.stay(8, 1024, 20000, kWhole, -5, 100'000);
  g.all();
  EXPECT_LT(g.last_end(low), 60'000u);
  EXPECT_GT(g.first(high), 100'000u);
}

TEST(GridScheduler, SharedMemoryIsNotTakenFromL1WhileSomebodyIsThere) {
  const auto beside = [](uint32_t first, uint32_t second) {
    Grids g;
    const size_t a = g.stay(8, 128, 20000, first), b = g.stay(8, 128, 20000, second);
    g.all();
    return g.first(b) < g.first_end(a);
  };
  EXPECT_FALSE(beside(0, 100 * 1024));
  EXPECT_TRUE(beside(100 * 1024, 100 * 1024));
  EXPECT_TRUE(beside(100 * 1024, 0));
  // 1 KiB each: two CTAs fit, so 8 KiB; 16 would be given 16.
  Grids g;
  const size_t a = g.stay(8, 1024, 20000), b = g.stay(8, 128, 20000);
  g.all();
  EXPECT_GT(g.first(b), g.first_end(a));
}

TEST(GridScheduler, RegistersThreadsAndPlacesCountTogether) {
  Grids g;
  // 2 × 768 threads of 2048, then room for one of 512.
  const size_t a = g.stay(16, 768, 20000), b = g.stay(16, 512, 20000);
  g.all();
  std::vector<uint32_t> early(8);
  for (const Stamp& s : g.stamps(b)) early[s.sm] += s.begin < g.first_end(a);
  EXPECT_EQ(early, std::vector<uint32_t>(8, 1));
}

TEST(GridScheduler, AtMost128GridsHaveCtas) {
  Grids g;
  for (int i = 0; i < 130; ++i) g.stay(1, 32, 200'000);
  g.all();
  EXPECT_LT(g.first(127), g.first_end(0));
  EXPECT_GT(g.first(128), g.first_end(0));
  EXPECT_GT(g.first(129), g.first_end(0));
}

TEST(GridScheduler, TheyShareIssuePortsAndUnits) {
  const auto cycles = [](bool together) {
    Grids g;
    for (int i = 0; i < 1 + together; ++i) g.other("multiply", 8, 512, 2000u);
    g.all();
    return *std::ranges::max_element(g.cycles);
  };
  EXPECT_NEAR(double(cycles(true)) / double(cycles(false)), 2, 0.1);
}

TEST(GridScheduler, TheyShareMemory) {
  const auto cycles = [](bool together) {
    Grids g(with({{"mem.l2.write_bytes_per_cycle", 32}}));
    constexpr uint32_t kRounds = 20, kBytes = 4 * 512 * 16 * kRounds;
    for (int i = 0; i < 1 + together; ++i)
      g.other("copy", 4, 512, g.run.buffer<uint8_t>(kBytes), g.run.buffer<uint8_t>(kBytes), kRounds);
    g.all();
    return *std::ranges::max_element(g.cycles);
  };
  EXPECT_GT(double(cycles(true)) / double(cycles(false)), 1.6) << "on SMs of their own";
}

TEST(GridScheduler, TheyMayTalk) {
  Grids g;
  const uint64_t flag = g.run.buffer<uint32_t>(1);
  g.other("wait", 8, 64, flag);
  g.other("tell", 1, 1, flag);
  g.all();
  EXPECT_EQ(g.run.download<uint32_t>(flag, 1)[0], 1u);
  EXPECT_LT(g.cycles[0], 20000u);
}

TEST(GridScheduler, AWaitForSomebodyWhoComesMuchLaterIsNoDeadlock) {
  Grids g;
  const uint64_t flag = g.run.buffer<uint32_t>(1);
  g.other("wait", 1, 32, flag);
  g.stay(1, 32, 3'000'000);
  g.scheduler.add(g.run.config("tell", {1}, {1}, flag), 3'000'000);
  while (!g.scheduler.empty()) g.scheduler.run();
  EXPECT_EQ(g.run.download<uint32_t>(flag, 1)[0], 1u);
}

TEST(GridScheduler, TwoThatWaitForNobodyAreADeadlock) {
  Grids g;
  const uint64_t flag = g.run.buffer<uint32_t>(2);
  g.other("wait", 1, 32, flag);
  g.other("wait", 1, 32, flag + 4);
  try {
    g.all();
    ADD_FAILURE() << "it ended";
  } catch (const KernelFault& f) {
    EXPECT_EQ(f.diagnosis.code, "deadlock");
    EXPECT_THAT(f.diagnosis.label, ::testing::HasSubstr("and in 1 more CTAs"));
  }
}

TEST(GridScheduler, AFaultNamesItsKernelAndEndsAll) {
  Grids g;
  g.stay(8, 128, 100'000);
  g.other("tell", 1, 1, uint64_t(64));
  try {
    g.all();
    ADD_FAILURE() << "it ended";
  } catch (const KernelFault& f) {
    EXPECT_EQ(f.diagnosis.kind, FaultKind::illegal_address);
    EXPECT_EQ(f.diagnosis.where.kernel, "tell");
  }
}

TEST(GridScheduler, ClustersAndSingleCtas) {
  Grids g;
  const uint64_t out = g.run.buffer<uint32_t>(8);
  const size_t a = g.stay(8, 64, 20000);
  LaunchConfig c = g.run.config("ranks", {8}, {64}, out);
  c.cluster = {2, 1, 1};
  c.explicit_cluster = true;
  g.scheduler.add(c, 0);
  const GridScheduler::Event first = g.scheduler.run();
  EXPECT_EQ(first.launch->config.kernel->name, "ranks") << "it ends beside the other";
  EXPECT_THAT(g.run.download<uint32_t>(out, 8), ::testing::ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  g.scheduler.run();
  EXPECT_EQ(g.sms(a).size(), 8u);
}

/// A CTA of `product` on each SM beside one of `other`'s on each.
class SharedTensorCore : public ::testing::TestWithParam<CompletionOrder::Mode> {
 protected:
  static constexpr uint32_t kTimes = 400, kSms = 8;
  SharedTensorCore() {
    g.run.gpu.options.order = {GetParam(), 3};
    g.other("product", kSms, 128, out, kTimes);
  }
  std::vector<Product> products(uint64_t of) { return g.run.download<Product>(of, size_t(kSms) * 128); }
  static uint64_t last(const std::vector<Product>& of) { return std::ranges::max(of, {}, &Product::arrived).arrived; }
  Grids g;
  const uint64_t out = g.run.buffer<Product>(size_t(kSms) * 128);
};

TEST_P(SharedTensorCore, AGridThatEndsLeavesTheOthersProducts) {
  g.stay(kSms, 32, 3000);
  g.all();
  for (const Product& p : products(out)) ASSERT_EQ(p.first, 16.0f * float(kTimes));
  EXPECT_TRUE(g.run.reports.empty()) << g.run.reports[0].code;
}

TEST_P(SharedTensorCore, ACommitTracksItsOwnGridsProductsAlone) {
  const uint64_t others = g.run.buffer<Product>(size_t(kSms) * 128);
  g.other("product", kSms, 128, others, 0u);
  g.all();
  for (const Product& p : products(out)) ASSERT_EQ(p.first, 16.0f * float(kTimes));
  EXPECT_LT(last(products(others)), last(products(out)) - 2000);
}

INSTANTIATE_TEST_SUITE_P(, SharedTensorCore,
                         ::testing::Values(CompletionOrder::Mode::timed, CompletionOrder::Mode::late,
                                           CompletionOrder::Mode::seeded));

/// Counts the observers that it has made for further launches: each lives as long as its launch.
class Counted : public Observer {
 public:
  explicit Counted(int& alive) : Observer(0), alive_(alive) {}
  std::unique_ptr<Observer> another() override {
    struct Another : Counted {
      explicit Another(int& alive) : Counted(alive) { ++alive_; }
      ~Another() override { --alive_; }
    };
    return std::make_unique<Another>(alive_);
  }

 protected:
  int& alive_;
};

TEST(GridScheduler, AGridThatIsOverGoes) {
  int alive = 0;
  Counted observer(alive);
  Grids g;
  g.run.gpu.options.observers.push_back(&observer);
  g.stay(1, 32, 200'000);
  for (int i = 0; i < 20; ++i) {
    g.scheduler.add(g.run.config("stay", {1}, {32}, g.run.buffer<Stamp>(1), 10u), uint64_t(i) * 5000);
    g.scheduler.run();
    EXPECT_LE(alive, 1);
  }
  g.all();
}

TEST(GridScheduler, EveryOrderOfCompletion) {
  using Mode = CompletionOrder::Mode;
  for (const CompletionOrder& order : {CompletionOrder{Mode::late, 0}, CompletionOrder{Mode::seeded, 1}}) {
    Grids g;
    g.run.gpu.options.order = order;
    const uint64_t flag = g.run.buffer<uint32_t>(1), from = g.run.upload(std::vector<uint32_t>(1 << 16, 7)),
                   to = g.run.buffer<uint32_t>(1 << 16);
    g.other("wait", 8, 64, flag);
    g.other("copy", 8, 256, from, to, 8u);
    g.other("tell", 1, 1, flag);
    g.all();
    EXPECT_EQ(g.run.download<uint32_t>(to, 1 << 16), std::vector<uint32_t>(1 << 16, 7));
  }
}

TEST(GridScheduler, CyclesDoNotDependOnHostThreads) {
  const auto outcome = [](int threads) {
    Grids g(plain_machine(), threads);
    const uint64_t from = g.run.buffer<uint8_t>(1 << 20), to = g.run.buffer<uint8_t>(1 << 20);
    g.other("copy", 16, 256, from, to, 8u);
    g.other("multiply", 12, 96, 300u);
    g.stay(20, 128, 3000);
    g.other("copy", 8, 512, to, from, 8u);
    g.all();
    std::vector<uint64_t> seen = g.cycles;
    for (const Stamp& s : g.stamps(2)) seen.insert(seen.end(), {s.begin, s.end, s.sm});
    return seen;
  };
  const auto one = outcome(1);
  EXPECT_EQ(one, outcome(2));
  EXPECT_EQ(one, outcome(5));
}

}  // namespace
}  // namespace tinygpu::test::grid_scheduler_test
