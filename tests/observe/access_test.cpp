// Accesses to memory, and what they take of the ways there, as observers are told of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/observe/kernels.h"
#include "tests/tmem/kernel_text.h"

namespace tinygpu::test {
namespace {

using ::testing::ElementsAre;
using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

std::string opcode(const Origin& who) { return std::string(who.function->instruction(*who.op).name()); }

struct Recorder final : Observer {
  struct Access {
    AccessKind kind;
    ptx::Space space;
    Proxy proxy;
    ptx::MemoryOrder order;
    Origin who;
    const Cta* cta;
    uint32_t rank;
    uint64_t time;
    std::string operand, opcode;
    Ranges ranges;  // address and bytes
    uint32_t lanes = 0;
    /// First and last byte, if every byte between them is named.
    std::pair<uint64_t, uint64_t> whole() const {
      Ranges sorted = ranges;
      std::sort(sorted.begin(), sorted.end());
      uint64_t end = sorted[0].first;
      for (const auto& [at, bytes] : sorted) {
        if (at > end) return {~0ull, 0};
        end = std::max(end, at + bytes);
      }
      return {sorted[0].first, end};
    }
  };
  struct Cells {
    AccessKind kind;
    Origin who;
    std::string opcode;
    TmemRect cells;
    uint64_t time;
  };
  struct Traffic {
    std::string opcode;
    uint32_t sm;
    uint64_t shared_bytes, l2_bytes;
    uint32_t missed, passes, ideal;
  };
  explicit Recorder(uint32_t interests) : Observer(interests) {}
  void on_access(const MemoryAccess& a) override {
    Access r{a.kind,
             a.space,
             a.proxy,
             a.order,
             a.who(),
             a.cta,
             a.cta ? a.cta->rank : 0,
             a.time,
             a.tile ? a.tile->operand : "",
             opcode(a.who()),
             {}};
    a.each([&](uint64_t at, uint64_t bytes, int lane) {
      r.ranges.emplace_back(at, bytes);
      if (lane >= 0) r.lanes |= 1u << lane;
    });
    accesses.push_back(r);
  }
  void on_tensor_access(const TmemAccess& a) override {
    cells.push_back({a.kind, a.who, opcode(a.who), a.cells, a.time});
  }
  void on_traffic(const MemoryTraffic& t) override {
    traffic.push_back({opcode(t.who), t.sm, t.shared_bytes, t.l2_bytes, t.missed, t.passes, t.ideal});
  }
  void on_complete(const AsyncOperation& o) override { completed.push_back(o); }
  void on_sync(const Sync& s) override {
    syncs.push_back({s.kind, s.value, s.order(), s.who ? opcode(*s.who) : "", s.time});
  }
  void on_issue(const AsyncOperation& o) override { issued.push_back(o); }
  void on_tensor_allocation(const TmemAllocation& a) override { allocations.emplace_back(a.taken, a.cells); }
  const AsyncOperation& operation(uint64_t id) const {
    for (const AsyncOperation& o : completed)
      if (o.id == id) return o;
    throw std::out_of_range("no such operation");
  }
  std::vector<Access> of(const std::string& opcode) const {
    std::vector<Access> out;
    for (const Access& a : accesses)
      if (a.opcode == opcode) out.push_back(a);
    return out;
  }

  std::vector<Access> accesses;
  std::vector<Cells> cells;
  std::vector<Traffic> traffic;
  std::vector<AsyncOperation> issued, completed;
  struct Synced {
    Sync::Kind kind;
    uint64_t value;
    ptx::MemoryOrder order;
    std::string opcode;
    uint64_t time;
  };
  std::vector<Synced> syncs;
  std::vector<std::pair<bool, TmemRect>> allocations;
};

constexpr uint32_t kEverything = Observer::operations | Observer::synchronisation | Observer::accesses |
                                 Observer::tensor_allocations | Observer::traffic;

/// Runs `body` in one warp. It finds %s, the shared address of 4 KiB; %i and %o, 4 KiB of global memory; %t.
struct OneWarp {
  explicit OneWarp(const std::string& body, uint32_t interests = kEverything, uint32_t ctas = 1)
      : recorder(interests), machine(R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b32 %r<16>, %s, %t; .reg .b64 %i, %o, %rd<8>; .reg .pred %p<4>;
  .shared .align 1024 .b8 smem[4096];
  ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %s, smem;
)" + body + "\n  ret;\n}\n") {
    machine.gpu.options.observers = {&recorder};
    machine.gpu.options.threads = 1;
    if (ctas > 1) machine.cluster = {ctas};
    in = machine.buffer<uint32_t>(1024);  // not in L2
    out = machine.upload(std::vector<uint32_t>(1024, 7));
    machine.launch("k", {ctas, 1, 1}, {32, 1, 1}, in, out);
  }
  Recorder recorder;
  RunPtx machine;
  uint64_t in = 0, out = 0;
};

TEST(Access, OfAWarpsLanesIsOne) {
  const OneWarp run("  mad.lo.u32 %r0, %t, 8, %s; setp.lt.u32 %p0, %t, 4;\n  @%p0 st.shared.b32 [%r0], %t;");
  ASSERT_EQ(run.recorder.accesses.size(), 1u);
  const auto& a = run.recorder.accesses[0];
  EXPECT_EQ(a.kind, AccessKind::write);
  EXPECT_EQ(a.space, ptx::Space::shared);
  EXPECT_EQ(a.proxy, Proxy::generic);
  EXPECT_FALSE(a.order.strong());
  EXPECT_EQ(a.lanes, 0xfu);
  EXPECT_EQ(a.who.operation, 0u);
  EXPECT_EQ(a.who.lane, -1);
  EXPECT_THAT(a.ranges,
              ElementsAre(std::pair(0x400, 4), std::pair(0x408, 4), std::pair(0x410, 4), std::pair(0x418, 4)));
}

TEST(Access, OfAFullWarpIsToldAsThatOfAPart) {
  const OneWarp run(R"(
  mad.lo.u32 %r0, %t, 4, %s; mad.wide.u32 %rd0, %t, 4, %i;
  st.shared.b32 [%r0], %t; ld.shared.b32 %r1, [%r0]; ld.global.b32 %r1, [%rd0]; st.global.b32 [%rd0], %r1;
  cvta.shared.u64 %rd1, %rd1; cvt.u64.u32 %rd1, %r0; cvta.shared.u64 %rd1, %rd1; ld.b32 %r1, [%rd1];)");
  std::vector<std::tuple<AccessKind, ptx::Space, uint64_t>> seen;
  for (const auto& a : run.recorder.accesses) {
    EXPECT_EQ(a.lanes, 0xffffffffu);
    const auto [first, end] = a.whole();
    EXPECT_EQ(end - first, 128u);
    seen.emplace_back(a.kind, a.space, first);
  }
  using ptx::Space;
  EXPECT_THAT(seen, ElementsAre(std::tuple(AccessKind::write, Space::shared, 0x400),
                                std::tuple(AccessKind::read, Space::shared, 0x400),
                                std::tuple(AccessKind::read, Space::global, run.in),
                                std::tuple(AccessKind::write, Space::global, run.in),
                                std::tuple(AccessKind::read, Space::shared, 0x400)));
}

TEST(Access, SaysHowStrongItIs) {
  const OneWarp run(R"(
  setp.ne.u32 %p0, %t, 0; @%p0 bra DONE;
  ld.volatile.shared.b32 %r0, [%s]; ld.relaxed.gpu.global.b32 %r0, [%i]; ld.acquire.cluster.b32 %r0, [%i];
  st.release.sys.global.b32 [%i], %r0; st.weak.global.b32 [%i], %r0;
  atom.shared.add.u32 %r0, [%s], 1; atom.acq_rel.cta.global.add.u32 %r0, [%i], 1; red.relaxed.sys.global.add.u32 [%i], 1;
DONE:)");
  using ptx::Scope, ptx::Semantics;
  std::vector<std::tuple<AccessKind, Semantics, Scope>> seen;
  for (const auto& a : run.recorder.accesses) seen.emplace_back(a.kind, a.order.semantics, a.order.scope);
  EXPECT_THAT(seen, ElementsAre(std::tuple(AccessKind::read, Semantics::relaxed, Scope::sys),
                                std::tuple(AccessKind::read, Semantics::relaxed, Scope::gpu),
                                std::tuple(AccessKind::read, Semantics::acquire, Scope::cluster),
                                std::tuple(AccessKind::write, Semantics::release, Scope::sys),
                                std::tuple(AccessKind::write, Semantics::weak, Scope::none),
                                std::tuple(AccessKind::atomic, Semantics::relaxed, Scope::gpu),
                                std::tuple(AccessKind::atomic, Semantics::acq_rel, Scope::cta),
                                std::tuple(AccessKind::atomic, Semantics::relaxed, Scope::sys)));
}

TEST(Access, LanesOfDifferentMemoriesAreToldApart) {
  // Lane 0 stores to its own CTA, lane 1 to the other one's shared memory, lane 2 to global memory.
  const OneWarp run(R"(
  mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mapa.shared::cluster.u32 %r3, %s, %r2;
  barrier.cluster.arrive; barrier.cluster.wait;
  cvt.u64.u32 %rd0, %s; cvta.shared.u64 %rd0, %rd0; cvt.u64.u32 %rd1, %r3; cvta.shared::cluster.u64 %rd1, %rd1;
  setp.eq.u32 %p0, %t, 1; selp.b64 %rd2, %rd1, %rd0, %p0;
  setp.eq.u32 %p0, %t, 2; selp.b64 %rd2, %i, %rd2, %p0;
  setp.ne.u32 %p2, %r1, 0; setp.gt.or.u32 %p1, %t, 2, %p2;
  @!%p1 st.b32 [%rd2], %t;
  barrier.cluster.arrive; barrier.cluster.wait;)",
                    kEverything, 2);
  ASSERT_EQ(run.recorder.accesses.size(), 3u);
  const auto& a = run.recorder.accesses;
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(a[i].lanes, 1u << i);
  EXPECT_EQ(a[0].rank, 0u);
  EXPECT_EQ(a[1].rank, 1u);
  EXPECT_EQ(a[2].cta, nullptr);
  EXPECT_THAT(a[0].ranges, ElementsAre(std::pair(0x400, 4)));
  EXPECT_THAT(a[1].ranges, ElementsAre(std::pair(0x400, 4)));
  EXPECT_THAT(a[2].ranges, ElementsAre(std::pair(run.in, 4)));
}

TEST(Access, OfACopyIsToldWhenItLands) {
  Recorder r(kEverything);
  RunPtx machine(two_copies());
  machine.gpu.options.observers = {&r};
  const uint64_t from = machine.upload(std::vector<uint32_t>(256, 7)), to = machine.buffer<uint32_t>(1);
  machine.launch("copies", {1, 1, 1}, {1, 1, 1}, from, to);
  const auto copies = r.of("cp.async.bulk");
  ASSERT_EQ(copies.size(), 4u);
  const uint64_t buffer = copies[1].ranges.at(0).first;
  EXPECT_EQ(buffer % 128, 0u);
  for (size_t i = 0; i < 4; ++i) {
    const auto& a = copies[i];
    EXPECT_EQ(a.proxy, Proxy::async);
    EXPECT_EQ(a.kind, i % 2 ? AccessKind::write : AccessKind::read);
    EXPECT_EQ(a.space, i % 2 ? ptx::Space::shared : ptx::Space::global);
    EXPECT_EQ(a.time, r.operation(a.who.operation).end);
    EXPECT_THAT(a.ranges, ElementsAre(std::pair(i % 2 ? buffer + 1024 * (i / 2) : from, 1024)));
  }
}

TEST(Access, OfAStoreIsReadFirstAndWrittenLater) {
  const OneWarp run(R"(
  setp.ne.u32 %p0, %t, 0; @%p0 bra DONE;
  cp.async.bulk.global.shared::cta.bulk_group [%o], [%s], 256;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
DONE:)");
  const auto a = run.recorder.of("cp.async.bulk");
  ASSERT_EQ(a.size(), 2u);
  EXPECT_EQ(a[0].kind, AccessKind::read);
  EXPECT_EQ(a[1].kind, AccessKind::write);
  EXPECT_LT(a[0].time, a[1].time);
  EXPECT_THAT(a[0].ranges, ElementsAre(std::pair(0x400, 256)));
  EXPECT_THAT(a[1].ranges, ElementsAre(std::pair(run.out, 256)));
}

TEST(Access, OfCpAsyncIsItsOperations) {
  const OneWarp run(R"(
  mad.lo.u32 %r0, %t, 16, %s; mad.wide.u32 %rd0, %t, 16, %i;
  cp.async.cg.shared.global [%r0], [%rd0], 16, 8; cp.async.wait_all;)");
  const auto a = run.recorder.of("cp.async");
  ASSERT_EQ(a.size(), 2u);
  EXPECT_EQ(a[0].kind, AccessKind::read);
  EXPECT_EQ(a[0].ranges.size(), 32u);
  EXPECT_EQ(a[0].ranges[1], std::pair(run.in + 16, uint64_t(8))) << "half of it comes from memory";
  EXPECT_EQ(a[1].kind, AccessKind::write);
  EXPECT_EQ(a[1].whole(), std::pair(uint64_t(0x400), uint64_t(0x600)));
  for (const auto& x : a) {
    EXPECT_EQ(x.proxy, Proxy::generic);
    EXPECT_EQ(x.time, run.recorder.operation(x.who.operation).end);
  }
}

TEST(Access, OfMatricesIsTheirRows) {
  const OneWarp run(R"(
  mad.lo.u32 %r0, %t, 16, %s;
  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r0]; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r0], {%r1};)");
  ASSERT_EQ(run.recorder.accesses.size(), 2u);
  EXPECT_EQ(run.recorder.accesses[0].kind, AccessKind::read);
  EXPECT_EQ(run.recorder.accesses[0].whole(), std::pair(uint64_t(0x400), uint64_t(0x500)));
  EXPECT_EQ(run.recorder.accesses[1].kind, AccessKind::write);
  EXPECT_EQ(run.recorder.accesses[1].whole(), std::pair(uint64_t(0x400), uint64_t(0x480)));
}

/// Runs one warp of a kernel that uses Tensor Memory.
Recorder tmem_accesses(TmemKernel kernel) {
  Recorder r(kEverything);
  RunPtx machine(kernel.text());
  machine.gpu.options.observers = {&r};
  machine.gpu.options.threads = 1;
  const uint64_t in = machine.buffer<uint32_t>(1024), out = machine.buffer<uint32_t>(1024);
  machine.launch("k", {1, 1, 1}, {32, 1, 1}, in, out);
  return r;
}

TEST(Access, ToTensorMemoryIsRectangles) {
  TmemKernel kernel;
  kernel.columns = 64;
  kernel.body = st("32x32b.x4", 4, "%mine+8") + "  tcgen05.wait::st.sync.aligned;\n" + ld("16x64b.x2", 2, "%mine+16") +
                "  tcgen05.wait::ld.sync.aligned;\n";
  const Recorder r = tmem_accesses(kernel);
  ASSERT_EQ(r.cells.size(), 2u);
  EXPECT_EQ(r.cells[0].kind, AccessKind::write);
  EXPECT_EQ(r.cells[0].cells, (TmemRect{0, 32, 8, 4}));
  EXPECT_EQ(r.cells[1].kind, AccessKind::read);
  EXPECT_EQ(r.cells[1].cells, (TmemRect{0, 16, 16, 4}));
  for (const auto& c : r.cells) EXPECT_EQ(c.time, r.operation(c.who.operation).end);
  // The allocator's answer is a store of its warp.
  const auto alloc = r.of("tcgen05.alloc");
  ASSERT_EQ(alloc.size(), 1u);
  EXPECT_EQ(alloc[0].kind, AccessKind::write);
  EXPECT_EQ(alloc[0].ranges[0].second, 4u);
}

TEST(Access, OfAnMmaIsItsOperandsAndItsAccumulator) {
  // K-major without a swizzle: cores of 8 rows by 16 bytes, 128 bytes apart along K and 256 along the rows. So A is
  // 4,096 bytes and B, 64 columns, 2,048.
  TmemKernel kernel;
  kernel.columns = 64;
  kernel.shared = 8192;
  kernel.body = R"(
  .shared .align 8 .b64 done;
  mov.u32 %a0, smem; mov.u32 %a1, done; setp.ne.u32 %p0, %t, 0;
  @!%p0 mbarrier.init.shared::cta.b64 [%a1], 1;
  shr.u32 %a2, %a0, 4; cvt.u64.u32 %rd0, %a2; or.b64 %rd0, %rd0, 0x401000080000; add.u64 %rd1, %rd0, 256;
  mov.u32 %a3, 0x8100490; setp.ne.u32 %p1, %t, %t;
  @%p0 bra WAIT;
  tcgen05.mma.cta_group::1.kind::f16 [%base], %rd0, %rd1, %a3, %p1;
  setp.eq.u32 %p1, %t, %t;
  tcgen05.mma.cta_group::1.kind::f16 [%base], %rd0, %rd1, %a3, %p1;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%a1];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%a1], 0; @!%p2 bra WAIT;
)";
  const Recorder r = tmem_accesses(kernel);
  const auto mma = r.of("tcgen05.mma");
  ASSERT_EQ(mma.size(), 4u);
  const uint64_t a = mma[0].whole().first;
  EXPECT_EQ(a % 1024, 0u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(mma[i].kind, AccessKind::read);
    EXPECT_EQ(mma[i].proxy, Proxy::async);
    EXPECT_EQ(mma[i].operand, i % 2 ? "B" : "A");
    EXPECT_EQ(mma[i].whole(), i % 2 ? std::pair(a + 4096, a + 4096 + 2048) : std::pair(a, a + 4096));
    EXPECT_EQ(mma[i].time, r.operation(mma[i].who.operation).end);
  }
  std::vector<AccessKind> kinds;
  for (const auto& c : r.cells) {
    EXPECT_EQ(c.opcode, "tcgen05.mma");
    EXPECT_EQ(c.cells, (TmemRect{0, 128, 0, 64}));
    kinds.push_back(c.kind);
  }
  EXPECT_THAT(kinds, ElementsAre(AccessKind::write, AccessKind::read, AccessKind::write))
      << "the first one adds to nothing";
}

TEST(Access, SaysBeforehandWhatAnOperationIsGoingToTouch) {
  const OneWarp run(R"(
  setp.ne.u32 %p0, %t, 0; @%p0 bra DONE;
  cp.async.bulk.global.shared::cta.bulk_group [%o], [%s], 256;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
DONE:)");
  ASSERT_EQ(run.recorder.issued.size(), 1u);
  ASSERT_EQ(run.recorder.issued[0].shared_uses.size(), 1u);
  const auto& use = run.recorder.issued[0].shared_uses[0];
  EXPECT_FALSE(use.writes);
  ASSERT_EQ(use.ranges.size(), 1u);
  EXPECT_EQ(use.ranges[0].offset, 0x400u);
  EXPECT_EQ(use.ranges[0].bytes, 256u);
  TmemKernel kernel;
  kernel.columns = 64;
  kernel.body = st("32x32b.x4", 4, "%mine+8") + "  tcgen05.wait::st.sync.aligned;\n";
  const Recorder r = tmem_accesses(kernel);
  ASSERT_EQ(r.issued.size(), 1u);
  ASSERT_EQ(r.issued[0].cells.size(), 1u);
  EXPECT_TRUE(r.issued[0].cells[0].writes);
  EXPECT_EQ(r.issued[0].cells[0].cells, (TmemRect{0, 32, 8, 4}));
  EXPECT_THAT(r.allocations,
              ElementsAre(std::pair(true, TmemRect{0, 128, 0, 64}), std::pair(false, TmemRect{0, 128, 0, 64})));
}

TEST(Sync, TellsOfFencesWaitsAndStrongAccesses) {
  const OneWarp run(R"(
  setp.ne.u32 %p0, %t, 0; @%p0 bra DONE;
  fence.acq_rel.gpu; membar.cta; fence.proxy.async.shared::cta; fence.proxy.async.global; fence.proxy.async;
  ld.acquire.gpu.global.b32 %r0, [%i]; ld.global.b32 %r0, [%i]; atom.global.add.u32 %r0, [%i], 1;
  tcgen05.fence::before_thread_sync; tcgen05.fence::after_thread_sync;
  cp.async.wait_all; cp.async.bulk.wait_group 0;
DONE:)");
  using K = Sync::Kind;
  using ptx::Scope, ptx::Semantics;
  std::vector<std::tuple<K, uint64_t, Semantics, Scope>> seen;
  for (const auto& s : run.recorder.syncs) seen.emplace_back(s.kind, s.value, s.order.semantics, s.order.scope);
  const uint64_t shared = Sync::kSharedMemory, global = Sync::kGlobalMemory;
  EXPECT_THAT(seen, ElementsAre(std::tuple(K::fence, 0, Semantics::acq_rel, Scope::gpu),
                                std::tuple(K::fence, 0, Semantics::acq_rel, Scope::cta),
                                std::tuple(K::proxy_fence, shared, Semantics::weak, Scope::none),
                                std::tuple(K::proxy_fence, global, Semantics::weak, Scope::none),
                                std::tuple(K::proxy_fence, shared | global, Semantics::weak, Scope::none),
                                std::tuple(K::acquire, 0, Semantics::acquire, Scope::gpu),
                                std::tuple(K::acquire, 0, Semantics::relaxed, Scope::gpu),
                                std::tuple(K::tcgen05_fence, 0, Semantics::weak, Scope::none),
                                std::tuple(K::tcgen05_fence, 1, Semantics::weak, Scope::none),
                                std::tuple(K::wait_group, 0, Semantics::weak, Scope::none),
                                std::tuple(K::wait_group, 0, Semantics::weak, Scope::none)));
}

TEST(Sync, SaysWithWhatOrderAnMbarrierIsUsed) {
  const OneWarp run(R"(
  setp.ne.u32 %p0, %t, 0; @%p0 bra DONE;
  mbarrier.init.shared.b64 [%s], 2;
  mbarrier.arrive.shared.b64 _, [%s]; mbarrier.arrive.relaxed.cluster.shared.b64 _, [%s];
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [%s], 0; @!%p1 bra WAIT;
DONE:)");
  using ptx::Scope, ptx::Semantics;
  std::vector<std::tuple<std::string, Semantics, Scope>> seen;
  for (const auto& s : run.recorder.syncs)
    if (s.kind != Sync::Kind::phase) seen.emplace_back(s.opcode, s.order.semantics, s.order.scope);
  EXPECT_THAT(seen, ElementsAre(std::tuple("mbarrier.init", Semantics::weak, Scope::none),
                                std::tuple("mbarrier.arrive", Semantics::release, Scope::cta),
                                std::tuple("mbarrier.arrive", Semantics::relaxed, Scope::cluster),
                                std::tuple("mbarrier.try_wait", Semantics::acquire, Scope::cluster)));
}

TEST(Checks, ListenOnlyToProgramsThatUseWhatTheyAreAbout) {
  const auto listening = [](const std::string& body) {
    RunPtx machine(".visible .entry k() {\n  .reg .b32 %r; .reg .b64 %rd; .shared .align 128 .b8 smem[1024];\n" + body +
                   "\n  ret;\n}\n");
    LaunchConfig launch;
    launch.program = machine.program.get();
    size_t n = 0;
    for (const Observer* o : machine.checks.observers()) n += o->interests_in(launch) != 0;
    return n;
  };
  EXPECT_EQ(listening("  mov.u32 %r, smem; st.shared.b32 [%r], %r; bar.sync 0;"), 0u);
  EXPECT_EQ(listening("  mov.u32 %r, smem; mbarrier.init.shared.b64 [%r], 1;"), 2u);
  EXPECT_EQ(listening("  mov.u32 %r, smem; cp.async.bulk.global.shared::cta.bulk_group [%rd], [%r], 256;"), 2u);
  EXPECT_EQ(listening("  tcgen05.wait::ld.sync.aligned;"), 3u);
}

TEST(Traffic, CountsBankPasses) {
  const OneWarp run(R"(
  mad.lo.u32 %r0, %t, 4, %s; st.shared.b32 [%r0], %t;
  and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, 128, %s; ld.shared.b32 %r2, [%r1];
  mad.lo.u32 %r1, %t, 16, %s; ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];)");
  ASSERT_EQ(run.recorder.traffic.size(), 3u);
  const auto& [dense, strided, wide] =
      std::tie(run.recorder.traffic[0], run.recorder.traffic[1], run.recorder.traffic[2]);
  EXPECT_EQ(dense.passes, 1u);
  EXPECT_EQ(dense.ideal, 1u);
  EXPECT_EQ(dense.shared_bytes, 128u);
  EXPECT_EQ(strided.passes, 8u) << "eight words in one bank";
  EXPECT_EQ(strided.ideal, 1u);
  EXPECT_EQ(wide.passes, 4u) << "512 bytes";
  EXPECT_EQ(wide.ideal, 4u);
  for (const auto& t : run.recorder.traffic) EXPECT_EQ(t.l2_bytes, 0u);
}

TEST(Traffic, CountsSectorsAndLinesThatMiss) {
  const OneWarp run(R"(
  mad.wide.u32 %rd0, %t, 4, %i; ld.global.b32 %r0, [%rd0]; ld.global.b32 %r1, [%rd0];
  mad.wide.u32 %rd0, %t, 4, %o; ld.global.b32 %r0, [%rd0];
  mad.wide.u32 %rd0, %t, 64, %i; ld.global.b32 %r0, [%rd0];)");
  std::vector<std::pair<uint64_t, uint32_t>> seen;
  for (const auto& t : run.recorder.traffic) {
    EXPECT_EQ(t.passes, 0u);
    seen.emplace_back(t.l2_bytes, t.missed);
  }
  // The first line comes from device memory, once; what the host has written lies in L2. Lanes 64 bytes apart touch a
  // sector each and 16 lines, of which the first is there.
  // Lines that miss are told when the chip's memory has answered.
  EXPECT_THAT(seen, ElementsAre(std::pair(128, 0), std::pair(0, 1), std::pair(128, 0), std::pair(128, 0),
                                std::pair(0, 0), std::pair(1024, 0), std::pair(0, 15)));
}

TEST(Access, ChangesNothing) {
  const std::string body = R"(
  mad.lo.u32 %r0, %t, 20, %s; mad.wide.u32 %rd0, %t, 36, %i;
  ld.global.b32 %r1, [%rd0]; st.shared.b32 [%r0], %r1; ld.shared.b32 %r1, [%r0]; st.global.b32 [%rd0], %r1;)";
  OneWarp watched(body), plain(body, 0);
  const auto again = [](OneWarp& run) {
    return run.machine.launch("k", {1, 1, 1}, {32, 1, 1}, run.in, run.out).cycles;
  };
  EXPECT_EQ(again(watched), again(plain));
  EXPECT_TRUE(plain.recorder.accesses.empty());
  EXPECT_TRUE(plain.recorder.traffic.empty());
}

}  // namespace
}  // namespace tinygpu::test
