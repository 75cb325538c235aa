// Copies from device memory by all SMs at once against published measurements of a B200 (SemiAnalysisAI/
// microbench-blackwell): cycles for each bulk copy of an SM, by bytes and by how many are in flight.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "common/tinygpu/timing/profile.h"
#include "tests/support/published.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test::published_rates_test {
namespace {

struct Row {
  uint32_t stages, bytes;
  double cycles;
};

std::vector<Row> published() {
  std::vector<Row> rows;
  for (const auto& f : published_rows(GEN5_SOURCE_DIR, "tma2d_tput_results.csv"))
    rows.push_back(
        {uint32_t(std::stoul(f[1])), 4 * uint32_t(std::stoul(f[2])) * uint32_t(std::stoul(f[3])), std::stod(f[8])});
  return rows;
}

/// One thread of each SM keeps `stages` copies in flight; cycles from the first that lands to the last.
const char* kRing = R"(
.extern .shared .align 128 .b8 memory[];
.visible .entry ring(.param .u64 from, .param .u32 bytes, .param .u32 stages, .param .u32 count, .param .u64 out) {
  .reg .b32 %bytes, %stages, %count, %i, %s, %bar, %to, %parity, %cta, %base;
  .reg .b64 %from, %out, %t0, %t1, %at;
  .reg .pred %p, %done;
  ld.param.u64 %from, [from];
  ld.param.u32 %bytes, [bytes];
  ld.param.u32 %stages, [stages];
  ld.param.u32 %count, [count];
  ld.param.u64 %out, [out];
  mov.u32 %cta, %ctaid.x;
  mov.u32 %base, memory;
  mul.lo.u32 %i, %cta, %count;
  mul.wide.u32 %at, %i, %bytes;
  add.u64 %from, %from, %at;
  mov.u32 %i, 0;
I:
  mad.lo.u32 %bar, %i, 8, %base;
  mbarrier.init.shared.b64 [%bar], 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %stages;
  @%p bra I;
  fence.proxy.async.shared::cta;
  mov.u32 %i, 0;
F:
  mad.lo.u32 %bar, %i, 8, %base;
  mad.lo.u32 %to, %i, %bytes, %base;
  add.u32 %to, %to, 1024;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], %bytes;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%from], %bytes, [%bar];
  cvt.u64.u32 %at, %bytes;
  add.u64 %from, %from, %at;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %stages;
  @%p bra F;
  mov.u64 %t0, 0;
  mov.u32 %i, 0;
L:
  rem.u32 %s, %i, %stages;
  div.u32 %parity, %i, %stages;
  and.b32 %parity, %parity, 1;
  mad.lo.u32 %bar, %s, 8, %base;
W:
  mbarrier.try_wait.parity.shared.b64 %done, [%bar], %parity;
  @!%done bra W;
  mov.u64 %t1, %clock64;
  setp.eq.u32 %p, %i, 0;
  @%p mov.u64 %t0, %t1;
  add.u32 %to, %i, %stages;
  setp.ge.u32 %p, %to, %count;
  @%p bra N;
  mad.lo.u32 %to, %s, %bytes, %base;
  add.u32 %to, %to, 1024;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], %bytes;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%from], %bytes, [%bar];
  cvt.u64.u32 %at, %bytes;
  add.u64 %from, %from, %at;
N:
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %count;
  @%p bra L;
  sub.u64 %t1, %t1, %t0;
  mad.wide.u32 %out, %cta, 8, %out;
  st.global.u64 [%out], %t1;
})";

double cycles(const Row& r) {
  RunPtx run(kRing, load_profile("b200"));
  run.gpu.options.timing_only = true;
  run.dynamic_shared = 1024 + r.stages * r.bytes;
  const uint32_t sms = uint32_t(run.gpu.spec.sms), count = r.bytes >= 32768 ? 24 : 40;
  const uint64_t from = run.buffer<uint8_t>(size_t(sms) * count * r.bytes), out = run.buffer<uint64_t>(sms);
  run.launch("ring", {sms}, {1}, from, r.bytes, r.stages, count, out);
  const auto took = run.download<uint64_t>(out, sms);
  return double(std::accumulate(took.begin(), took.end(), uint64_t(0))) / sms / (count - 1);
}

TEST(PublishedRates, BulkCopiesFromDeviceMemory) {
  const std::vector<Row> rows = published();
  ASSERT_EQ(rows.size(), 24u);
  for (const Row& r : rows) {
    const double ratio = cycles(r) / r.cycles;
    const std::string row = std::to_string(r.stages) + " in flight of " + std::to_string(r.bytes) + " bytes";
    EXPECT_NEAR(ratio, 1, 0.10) << row << ": " << r.cycles << " cycles each";
  }
}

}  // namespace
}  // namespace tinygpu::test::published_rates_test
