// Host time of one warpgroup's wgmma.mma_async m64n256k16, bf16: operands gathered through descriptors, every sum to
// the bit. Chained on one accumulator, as a main loop does.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "tests/support/run_ptx.h"

namespace {

using namespace tinygpu;

std::string kernel(int count) {
  std::string d, zero;
  for (int i = 0; i < 128; ++i) {
    d += fmt::format("{}%f{}", i ? ", " : "", i);
    zero += fmt::format("mov.f32 %f{}, 0f00000000;\n", i);
  }
  return fmt::format(R"(
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 rounds)
{{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<128>;
  .shared .align 1024 .b8 smem[40960];
  ld.param.u32 %r4, [rounds];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mad.lo.u32 %r2, %r0, 4, %r1;
  mov.u32 %r3, 0; mov.u32 %r5, 0x3f813f7f;
FILL:
  st.shared.u32 [%r2], %r5;
  xor.b32 %r5, %r5, %r3;
  and.b32 %r5, %r5, 0xbfffbfff;
  add.u32 %r2, %r2, 512; add.u32 %r3, %r3, 512;
  setp.lt.u32 %p0, %r3, 40960;
  @%p0 bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  and.b32 %r6, %r1, 262143; shr.u32 %r6, %r6, 4; cvt.u64.u32 %rd0, %r6;
  mov.b64 %rd1, 0x4000004000010000; add.s64 %rd0, %rd0, %rd1; add.s64 %rd2, %rd0, 512;
  setp.eq.u32 %p1, %r0, %r0;
  {1}
LOOP:
  wgmma.fence.sync.aligned;
  {2}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 1;
  sub.u32 %r4, %r4, 1;
  setp.ne.u32 %p0, %r4, 0;
  @%p0 bra LOOP;
  wgmma.wait_group.sync.aligned 0;
  ret;
}}
)",
                     count, zero, [&] {
                       std::string s;
                       for (int i = 0; i < count; ++i)
                         s += "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" + d +
                              "}, %rd0, %rd2, %p1, 1, 1, 0, 0;\n";
                       return s;
                     }());
}

void m64n256k16(benchmark::State& state) {
  test::RunPtx run(kernel(4), test::hopper_machine());
  run.gpu.options.threads = 1;
  const uint32_t rounds = 100;
  for (auto _ : state) run.launch("k", {1}, {128}, rounds);
  state.counters["us_per_wgmma"] = benchmark::Counter(
      double(rounds) * 4 * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(m64n256k16)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
