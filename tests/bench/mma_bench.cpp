// Host time of one tcgen05.mma: descriptors decoded, operands gathered from shared memory, every sum to the bit,
// accumulators written. One core.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "common/tinygpu/numerics/mma_kernel.h"
#include "tests/support/run_ptx.h"

namespace {

using namespace tinygpu;

/// One thread issues `count` MMAs, sixteen to a commit, on operands that all 128 threads copied to shared memory.
std::string kernel(bool tf32) {
  return fmt::format(R"(
.extern .shared .align 1024 .b8 image[];
.visible .entry many(.param .u64 source, .param .u32 idesc, .param .u64 a, .param .u64 b, .param .u32 count)
{{
  .reg .pred %p, %en;
  .reg .b32 %t, %n, %i, %bar, %slot, %addr, %base, %idesc, %phase, %w<4>;
  .reg .b64 %src, %off, %a, %b;
  .shared .align 8 .b64 barrier;
  .shared .align 4 .b32 allocated;
  mov.u32 %t, %tid.x;
  mov.u32 %bar, barrier;
  mov.u32 %slot, allocated;
  mov.u32 %addr, image;
  ld.param.u64 %src, [source];
  shl.b32 %i, %t, 4;
copy:
  cvt.u64.u32 %off, %i;
  add.u64 %off, %off, %src;
  ld.global.v4.b32 {{%w0, %w1, %w2, %w3}}, [%off];
  add.u32 %n, %addr, %i;
  st.shared.v4.b32 [%n], {{%w0, %w1, %w2, %w3}};
  add.u32 %i, %i, 2048;
  setp.lt.u32 %p, %i, 49152;
  @%p bra copy;
  setp.ge.u32 %p, %t, 32;
  @%p bra ready;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 256;
  setp.eq.u32 %p, %t, 0;
  @%p mbarrier.init.shared::cta.b64 [%bar], 1;
ready:
  fence.proxy.async.shared::cta;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %base, [%slot];
  setp.ne.u32 %p, %t, 0;
  @%p bra wait;
  ld.param.u32 %idesc, [idesc];
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  ld.param.u32 %n, [count];
  mov.u32 %i, 0;
  mov.u32 %phase, 0;
issue:
  setp.ne.u32 %en, %i, 0;
  tcgen05.mma.cta_group::1.kind::{} [%base], %a, %b, %idesc, %en;
  add.u32 %i, %i, 1;
  and.b32 %w0, %i, 15;
  setp.ne.u32 %p, %w0, 0;
  @%p bra issue;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
poll:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], %phase;
  @!%p bra poll;
  xor.b32 %phase, %phase, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra issue;
wait:
  bar.sync 0;
  setp.ge.u32 %p, %t, 32;
  @%p bra out;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 256;
out:
  ret;
}}
)",
                     tf32 ? "tf32" : "f16");
}

/// What operands are made of: a float for each element.
enum class Operands {
  normal,
  mixed_sizes,
  far_apart,
  huge,
  half_zeros,
  subnormal,
  some_infinities,
  some_nans,
  all_nan
};

float element(Operands kind, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const float inf = std::numeric_limits<float>::infinity(), sign = random() & 1 ? -1.0f : 1.0f;
  switch (kind) {
    case Operands::normal: break;
    case Operands::mixed_sizes: return std::ldexp(normal(random), int(random() % 40) - 20);
    case Operands::far_apart: return std::ldexp(sign, random() % 64 ? -60 - int(random() % 60) : int(random() % 3));
    case Operands::huge: return std::ldexp(sign, random() % 16 ? 0 : 62);
    case Operands::half_zeros: return random() & 1 ? 0 : normal(random);
    case Operands::subnormal: return std::ldexp(sign, -127 - int(random() % 6));
    case Operands::some_infinities: return random() % 256 ? normal(random) : sign * inf;
    case Operands::some_nans: return random() % 256 ? normal(random) : std::numeric_limits<float>::quiet_NaN();
    case Operands::all_nan: return std::numeric_limits<float>::quiet_NaN();
  }
  return normal(random);
}

void mma(benchmark::State& state, bool tf32, uint32_t m, uint32_t n, Operands operands = Operands::normal) {
  constexpr uint32_t kCount = 512;
  test::RunPtx gpu(kernel(tf32));
  gpu.dynamic_shared = 48 * 1024;
  gpu.gpu.options.threads = 1;
  std::mt19937 random(1);
  std::vector<uint32_t> image(12 * 1024);
  for (uint32_t& w : image) {
    const auto bits = [&] { return std::bit_cast<uint32_t>(element(operands, random)); };
    w = tf32 ? bits() : bits() >> 16 | (bits() & 0xffff0000u);
  }
  const uint64_t source = gpu.upload(image);
  // K-major, 128-byte swizzle; A at the start of the image (offset 0x800), B 16 KiB further.
  const auto descriptor = [](uint32_t at) {
    return uint64_t(at >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
  };
  const uint32_t idesc = (tf32 ? 0x910u : 0x490u) | (n >> 3) << 17 | (m >> 4) << 24;
  LaunchStats stats;
  for (auto _ : state)
    stats = gpu.launch("many", Dim3{1}, Dim3{128}, source, idesc, descriptor(0x800), descriptor(0x800 + 16384), kCount);
  state.counters["scalar_sums"] = double(stats.counters["matrix sums, scalar"]);
  state.counters["us_per_mma"] = benchmark::Counter(double(state.iterations()) * kCount * 1e-6,
                                                    benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(numerics::mma_level());
}

/// The sums alone, at one level.
void kernel_alone(benchmark::State& state, const char* level, bool tf32, Operands operands) {
  if (!numerics::mma_has_level(level)) return state.SkipWithError("this CPU lacks the level");
  struct Planes {
    alignas(64) uint32_t words[32 * numerics::kPlane];
  };
  const auto planes = std::make_unique<Planes[]>(2);
  std::mt19937 random(1);
  for (uint32_t i = 0; i < 2; ++i)
    for (uint32_t e = 0; e < (tf32 ? 8 : 16) * numerics::kPlane; ++e) {
      const uint32_t bits = std::bit_cast<uint32_t>(element(operands, random));
      if (tf32)
        planes[i].words[e] = bits;
      else
        reinterpret_cast<uint16_t*>(planes[i].words)[e] = uint16_t(bits >> 16);
    }
  std::vector<uint32_t> d(128 * 256);
  numerics::MmaTile tile;
  tile.rule = numerics::kSumF32;
  tile.a_format = tile.b_format = tf32 ? numerics::Format::tf32 : numerics::Format::bf16;
  tile.rows = tile.column_stride = 128;
  tile.columns = 256;
  tile.terms = tf32 ? 8 : 16;
  tile.a = planes[0].words;
  tile.b = planes[1].words;
  tile.d = d.data();
  for (uint32_t i = 0; i < 8; ++i) tile.lane[i] = 16 * i;
  numerics::mma_at_level(level, tile);
  tile.read_c = true;
  for (auto _ : state) numerics::mma_at_level(level, tile);
}
#define BENCH_KERNEL(name, ...) \
  BENCHMARK_CAPTURE(kernel_alone, name, __VA_ARGS__)->Unit(benchmark::kMicrosecond)->MeasureProcessCPUTime()
#define BENCH_KERNELS(name, ...)                     \
  BENCH_KERNEL(name##_v4, "x86-64-v4", __VA_ARGS__); \
  BENCH_KERNEL(name##_v3, "x86-64-v3", __VA_ARGS__)
BENCH_KERNELS(bf16, false, Operands::normal);
BENCH_KERNELS(bf16_far_apart, false, Operands::far_apart);
BENCH_KERNELS(bf16_all_nan, false, Operands::all_nan);
BENCH_KERNELS(tf32, true, Operands::normal);
BENCH_KERNELS(tf32_far_apart, true, Operands::far_apart);

#define BENCH(name, ...) \
  BENCHMARK_CAPTURE(mma, name, __VA_ARGS__)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()
BENCH(bf16_128x256x16, false, 128u, 256u);
BENCH(bf16_128x128x16, false, 128u, 128u);
BENCH(bf16_64x64x16, false, 64u, 64u);
BENCH(tf32_128x256x8, true, 128u, 256u);
// No operand may cost more than twice as much as the commonest ones.
BENCH(bf16_mixed_sizes, false, 128u, 256u, Operands::mixed_sizes);
BENCH(bf16_far_apart, false, 128u, 256u, Operands::far_apart);
BENCH(bf16_huge, false, 128u, 256u, Operands::huge);
BENCH(bf16_half_zeros, false, 128u, 256u, Operands::half_zeros);
BENCH(bf16_subnormal, false, 128u, 256u, Operands::subnormal);
BENCH(bf16_some_infinities, false, 128u, 256u, Operands::some_infinities);
BENCH(bf16_some_nans, false, 128u, 256u, Operands::some_nans);
BENCH(bf16_all_nan, false, 128u, 256u, Operands::all_nan);
BENCH(tf32_mixed_sizes, true, 128u, 256u, Operands::mixed_sizes);
BENCH(tf32_subnormal, true, 128u, 256u, Operands::subnormal);
BENCH(tf32_some_infinities, true, 128u, 256u, Operands::some_infinities);

}  // namespace

BENCHMARK_MAIN();
