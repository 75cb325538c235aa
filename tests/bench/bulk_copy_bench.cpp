// Speed of the model itself: one 128 × 64 bf16 box with the 128-byte swizzle (at most 3 µs), and mbarrier round trips
// between two warps (10,000 in at most 50 ms).
#include <benchmark/benchmark.h>

#include <cstring>

#include "common/tinygpu/engines/tma/tensor_box.h"
#include "tests/bulk_tensor/map_bits.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

void tensor_box(benchmark::State& state) {
  RunPtx gpu(".visible .entry k() { ret; }");
  MapFields f = matrix_map(10, {256, 1024}, 512, {64, 128}, 3);
  f.address = gpu.buffer<uint8_t>(1 << 20);
  TensorBox box;
  box.map = TensorMap::decode(make_map(f).bytes.data());
  box.tile.at[1] = 64;
  LaunchConfig config;
  config.kernel = gpu.program->find("k");
  config.program = gpu.program.get();
  std::vector<std::unique_ptr<Sm>> sms;
  Launch launch(gpu.gpu, config, gpu.gpu.options, 0, sms);
  SmPartition partition(launch, 0, {sms[0].get()});
  Cluster cluster(partition);
  Cta cta(cluster, *partition.sms[0], 0, {});
  cta.shared.resize(64 * 1024);
  const Origin who;
  gpu.gpu.l2.written(f.address, 1 << 20);
  for (auto _ : state) {
    box.add_lines(partition.memory);
    auto answer = partition.memory.answer_now(MemoryRequests::Kind::read, *partition.sms[0], 0);
    benchmark::DoNotOptimize(answer);
    box.load(gpu.gpu.memory, cta, 1024, who);
  }
}
BENCHMARK(tensor_box)->Unit(benchmark::kMicrosecond);

void round_trips(benchmark::State& state) {
  RunPtx gpu(R"(.visible .entry k()
{
  .reg .pred %p<4>; .reg .b32 %r<8>;
  .shared .align 8 .b64 bars[2];
  mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.u32 %r2, bars;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 mbarrier.init.shared.b64 [%r2], 1;
  @%p0 mbarrier.init.shared.b64 [%r2+8], 1;
  bar.sync 0;
  and.b32 %r3, %r0, 31; setp.ne.u32 %p1, %r3, 0; @%p1 bra DONE;
  mov.u32 %r4, 0; setp.eq.u32 %p2, %r1, 1;
LOOP: and.b32 %r5, %r4, 1;
  @%p2 bra SECOND;
  mbarrier.arrive.shared.b64 _, [%r2];
W0: mbarrier.try_wait.parity.shared.b64 %p3, [%r2+8], %r5; @!%p3 bra W0;
  bra NEXT;
SECOND:
W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r2], %r5; @!%p3 bra W1;
  mbarrier.arrive.shared.b64 _, [%r2+8];
NEXT: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 10000; @%p3 bra LOOP;
DONE: ret;
})");
  for (auto _ : state) gpu.launch("k", {1, 1, 1}, {64, 1, 1});
}
BENCHMARK(round_trips)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tinygpu::test

BENCHMARK_MAIN();
