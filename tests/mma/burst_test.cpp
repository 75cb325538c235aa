// Bursts of tcgen05.mma against published measurements of a B200 (SemiAnalysisAI/microbench-blackwell): D MMAs, one
// commit, one wait.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/tinygpu/engines/mma/tensor_mma.h"
#include "tests/support/published.h"
#include "tests/support/run_probe.h"
#include "tests/support/run_ptx.h"

namespace gen5::test {
namespace {

using namespace tinygpu;

struct Burst {
  std::string format;
  bool a_in_tmem = false;
  int cta_group = 1;
  uint32_t m = 0, n = 0, depth = 0;
  double cycles_per_mma = 0;
};

std::vector<Burst> published() {
  std::vector<Burst> out;
  for (const char* file : {"tput_results_full.csv", "tput_ts_small_depth.csv"})
    for (const auto& f : tinygpu::test::published_rows(GEN5_SOURCE_DIR, file))
      out.push_back({f[0], f[1] == "TS", std::stoi(f[2]), uint32_t(std::stoul(f[3])), uint32_t(std::stoul(f[4])),
                     uint32_t(std::stoul(f[6])), std::stod(f[8])});
  return out;
}

TEST(Burst, ClosedFormsFitAllPublishedRows) {
  const auto rows = published();
  ASSERT_EQ(rows.size(), 2640u);
  // What the bursts' kernel spends besides, in cycles: fitted to the same rows.
  constexpr double kBurstOverhead = 12;
  const MmaTiming timing(tinygpu::test::plain_machine());
  double sum = 0, worst = 0;
  for (const Burst& r : rows) {
    using Kind = MmaShape::Kind;
    const Kind kind = r.format == "S8"             ? Kind::integers
                      : r.format.starts_with("MX") ? Kind::block_scaled
                                                   : Kind::floats;
    const MmaTime t = timing.time({r.cta_group, r.m, r.n, r.a_in_tmem, kind});
    const double predicted = (r.depth - 1) * t.interval + t.latency + kBurstOverhead;
    const double measured = r.cycles_per_mma * r.depth, error = std::fabs(predicted - measured) / measured;
    sum += error;
    worst = std::max(worst, error);
  }
  EXPECT_LT(sum / double(rows.size()), 0.01);
  EXPECT_LT(worst, 0.05);
}

/// How the formats of the published tables are written. Their rows F4 and MXF4 ran with K = 32.
struct Kind {
  const char *format, *text;
  uint32_t idesc;  // without M and N
  bool scaled = false;
};
const Kind kKinds[] = {{"BF16", "kind::f16", 0x490},
                       {"E4M3", "kind::f8f6f4", 0x10},
                       {"F4", "kind::f8f6f4", 0x1690},
                       {"S8", "kind::i8", 0x4a0},
                       {"MXF8", "kind::mxf8f6f4.block_scale", 0x800000, true},
                       {"MXF4", "kind::mxf8f6f4.block_scale", 0x801680, true}};

/// A burst of cta_group::GROUP: of a pair, the even CTA issues it. Predicates go through registers, as in what nvcc
/// makes of the wrappers in common/ptx.
std::string burst_kernel(bool a_in_tmem, int cta_group, const Kind& kind = kKinds[0]) {
  std::string text = R"(
.extern .shared .align 1024 .b8 image[];
.visible .entry burst(.param .u64 out, .param .u32 idesc, .param .u32 depth)
{
  .reg .pred %p, %keep, %done;
  .reg .b32 %t, %i, %n, %bar, %slot, %addr, %base, %at, %idesc, %none, %answer, %sfa, %sfb;
  .reg .b64 %out, %a, %b, %t0, %t1;
  .shared .align 8 .b64 barrier;
  .shared .align 4 .b32 allocated;
  mov.u32 %t, %tid.x;
  mov.u32 %bar, barrier;
  mov.u32 %slot, allocated;
  mov.u32 %addr, image;
  tcgen05.alloc.GROUP.sync.aligned.shared::cta.b32 [%slot], 512;
  setp.eq.u32 %p, %t, 0;
  @%p mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.proxy.async.shared::cta;
  bar.warp.sync 0xffffffff;
  ld.shared.b32 %base, [%slot];
  MEET
  mov.u32 %i, %cluster_ctarank;
  or.b32 %t, %t, %i;
  setp.ne.u32 %p, %t, 0;
  @%p bra done;
  ld.param.u64 %out, [out];
  ld.param.u32 %idesc, [idesc];
  ld.param.u32 %n, [depth];
  add.u32 %at, %base, 256;
  shr.b32 %addr, %addr, 4;
  cvt.u64.u32 %a, %addr;
  or.b64 %a, %a, 0x4000404000010000;
  add.u64 %b, %a, 1024;
  SCALES
  mov.u32 %none, 0;
  mov.u64 %t0, %clock64;
  mov.u32 %i, 0;
issue:
  setp.ne.b32 %keep, %none, 0;
  tcgen05.mma.GROUP.KIND [%base], OPERAND, %b, %idesc, FACTORS%keep;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra issue;
  tcgen05.commit.GROUP.mbarrier::arrive::one.shared::cluster.b64 [%bar];
poll:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], PHASE;
  selp.u32 %answer, 1, 0, %done;
  setp.eq.s32 %p, %answer, 0;
  @%p bra poll;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  st.global.u64 [%out], %t1;
done:
  bar.warp.sync 0xffffffff;
  MEET
  tcgen05.dealloc.GROUP.sync.aligned.b32 %base, 512;
  ret;
}
)";
  const auto put = [&](const std::string& name, const std::string& value) {
    for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), value);
  };
  // Factors of one row of bytes each, in place before the clock starts.
  put("SCALES", kind.scaled ? R"(add.u32 %sfa, %base, 264; add.u32 %sfb, %base, 268; add.u32 %i, %base, 272;
  tcgen05.cp.GROUP.32x128b.warpx4 [%sfa], %a; tcgen05.cp.GROUP.32x128b.warpx4 [%sfb], %a;
  tcgen05.cp.GROUP.32x128b.warpx4 [%i], %a;
  tcgen05.commit.GROUP.mbarrier::arrive::one.shared::cluster.b64 [%bar];
copied:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;
  @!%done bra copied;)"
                            : "");
  put("KIND", kind.text);
  put("FACTORS", kind.scaled ? "[%sfa], [%sfb], " : "");
  put("PHASE", kind.scaled ? "1" : "0");
  put("OPERAND", a_in_tmem ? "[%at]" : "%a");
  put("GROUP", cta_group == 2 ? "cta_group::2" : "cta_group::1");
  put("MEET", cta_group == 2 ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : "");
  return text;
}

// A pair's MMA is one instruction of the CTA that issues it, with the operations of both.
TEST(Burst, IsCounted) {
  for (int cta_group : {1, 2}) {
    tinygpu::test::RunPtx gpu(burst_kernel(false, cta_group));
    gpu.dynamic_shared = 64 * 1024;
    gpu.cluster = {uint32_t(cta_group)};
    const uint32_t m = 128 * uint32_t(cta_group);
    auto stats = gpu.launch("burst", Dim3{uint32_t(cta_group)}, Dim3{32}, gpu.buffer<uint64_t>(1),
                            0x490u | 64 / 8 << 17 | (m >> 4) << 24, 5);
    EXPECT_EQ(stats.counters["tcgen05.mma"], 5u);
    EXPECT_EQ(stats.counters["tcgen05.mma operations"], 5u * 2 * m * 64 * 16);
  }
}

// Who issues more MMAs than wait for the tensor core at most waits itself.
TEST(Burst, TheQueueIsOnlySoDeep) {
  std::string text = burst_kernel(false, 1);
  const std::string issued = "mov.u64 %t1, %clock64; sub.u64 %t1, %t1, %t0; st.global.u64 [%out+8], %t1;\n  ";
  text.insert(text.find("tcgen05.commit"), issued);
  const auto issue_cycles = [&](double depth, uint32_t count) {
    tinygpu::MachineSpec spec = tinygpu::test::plain_machine();
    spec.numbers["tcgen05.mma.queue"] = depth;
    tinygpu::test::RunPtx gpu(text, spec);
    gpu.dynamic_shared = 64 * 1024;
    const uint64_t out = gpu.buffer<uint64_t>(2);
    gpu.launch("burst", Dim3{1}, Dim3{32}, out, 0x490u | 128 / 8 << 17 | 128 / 16 << 24, count);
    return double(gpu.download<uint64_t>(out, 2)[1]);
  };
  // M = N = 128: one every 64 cycles.
  EXPECT_LT(issue_cycles(16, 15), 15 * 64 / 2);
  EXPECT_NEAR(issue_cycles(16, 100) - issue_cycles(16, 60), 40 * 64, 64);
  EXPECT_NEAR(issue_cycles(4, 60) - issue_cycles(16, 60), 12 * 64, 64);
}

// What a program on the machine sees with its own clock, of every kind, for rows that take little host time.
TEST(Burst, TheMachinesClockSaysTheSame) {
  const auto rows = published();
  for (int cta_group : {1, 2})
    for (const Kind& kind : kKinds) {
      double sum = 0, worst = 0;
      size_t count = 0;
      for (bool ts : {false, true}) {
        tinygpu::test::RunPtx gpu(burst_kernel(ts, cta_group, kind));
        gpu.dynamic_shared = 64 * 1024;
        gpu.cluster = {uint32_t(cta_group)};
        const uint64_t out = gpu.buffer<uint64_t>(1);
        for (const Burst& r : rows) {
          if (r.cta_group != cta_group || r.a_in_tmem != ts || r.format != kind.format) continue;
          if (r.depth > 32 || (r.depth > 3 && r.n != 64) || (r.depth == 32 && r.m != 128 * uint32_t(cta_group)))
            continue;
          if (r.depth > 8 && &kind != &kKinds[0]) continue;
          // The tables have rows of i8 whose N the manual does not allow.
          if (r.format == "S8" && cta_group == 2 && r.n % 32) continue;
          // Block-scaled kinds have their M in units of 128.
          gpu.launch("burst", Dim3{uint32_t(cta_group)}, Dim3{32}, out,
                     kind.idesc | (r.n >> 3) << 17 | (r.m >> 4) << 24, r.depth);
          const double predicted = double(gpu.download<uint64_t>(out, 1)[0]), measured = r.cycles_per_mma * r.depth;
          const double error = std::fabs(predicted - measured) / measured;
          sum += error;
          worst = std::max(worst, error);
          ++count;
          if (std::getenv("GEN5_PRINT_BURSTS"))
            std::printf("%s %s cg%d m%u n%u depth %u: %.0f measured %.1f\n", kind.format, ts ? "ts" : "ss", cta_group,
                        r.m, r.n, r.depth, predicted, measured);
        }
      }
      ASSERT_GT(count, 20u) << kind.format;
      EXPECT_LT(sum / double(count), 0.01) << kind.format << " cta_group::" << cta_group << ", worst " << worst;
      RecordProperty(fmt::format("{}_cta_group_{}_mean_error_percent", kind.format, cta_group),
                     fmt::format("{:.2f}", 100 * sum / double(count)));
    }
}

#ifdef GEN5_PROBE_05
/// The whole program, compiled by nvcc, with its own loop around the MMAs: every published burst that it runs. `names`:
/// of a benchmark, with a place for where A is.
void expect_probe(const char* program, const char* names, int cta_group, double mean, double most) {
  const auto rows = published();
  const auto probe = run_probe(program, "b200");
  double sum = 0, worst = 0;
  size_t count = 0;
  for (const Burst& r : rows) {
    if (r.cta_group != cta_group || r.format != "BF16") continue;
    const char* where = r.a_in_tmem ? "tmem" : "shared";
    const auto found = probe.find(fmt::format(fmt::runtime(names), where, r.m, r.n, r.depth));
    ASSERT_NE(found, probe.end()) << "m" << r.m << " n" << r.n << " depth " << r.depth;
    const double measured = r.cycles_per_mma * r.depth, error = std::fabs(found->second - measured) / measured;
    sum += error;
    worst = std::max(worst, error);
    ++count;
  }
  EXPECT_EQ(count, 240u);
  EXPECT_LT(sum / double(count), mean);
  EXPECT_LT(worst, most);
}

TEST(Burst, TheProbeSaysTheSame) { expect_probe(GEN5_PROBE_05, "burst_f16/{}/{}/{}/{}", 1, 0.01, 0.06); }
TEST(Burst, ThePairsProbeSaysTheSame) { expect_probe(GEN5_PROBE_11, "burst_pair/{}/{}/{}/{}", 2, 0.011, 0.11); }
#endif

}  // namespace
}  // namespace gen5::test
