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

/// What an MMA is written with.
struct Kind {
  const char* text;
  uint32_t idesc;  // without M and N
  bool scaled = false;
  uint32_t element_bits = 16;
  bool e5m2 = false;  // 8-bit operands; else e4m3
};
constexpr Kind kBf16{"f16", 0x490}, kTf32{"tf32", 0x910, false, 32}, kFp8{"f8f6f4", 0x10, false, 8},
    kBf8{"f8f6f4", 0x490, false, 8, true}, kInt8{"i8", 0x4a0, false, 8},
    kMxFp8{"mxf8f6f4.block_scale", 0x800000, true, 8}, kMxFp4{"mxf4.block_scale.scale_vec::2X", 0x800480, true, 4},
    kNvFp4{"mxf4nvf4.block_scale.scale_vec::4X", 0x480, true, 4};

/// One thread issues `count` MMAs, sixteen to a commit, on operands that all 128 threads copied to shared memory. Scale
/// factors are the last 512 bytes of these, behind A and B. `chain`: how many add to one accumulator, a power of two.
std::string kernel(const Kind& kind, uint32_t chain) {
  return fmt::format(R"(
.extern .shared .align 1024 .b8 image[];
.visible .entry many(.param .u64 source, .param .u32 idesc, .param .u64 a, .param .u64 b, .param .u32 count)
{{
  .reg .pred %p, %en;
  .reg .b32 %t, %n, %i, %bar, %slot, %addr, %base, %idesc, %phase, %w<4>, %sfa, %sfb;
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
  setp.lt.u32 %p, %i, 53248;
  @%p bra copy;
  setp.ge.u32 %p, %t, 32;
  @%p bra ready;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 512;
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
  {}
issue:
  and.b32 %w0, %i, {};
  setp.ne.u32 %en, %w0, 0;
  tcgen05.mma.cta_group::1.kind::{} [%base], %a, %b, %idesc, {}%en;
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
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 512;
out:
  ret;
}}
)",
                     kind.scaled ? R"(add.u32 %sfa, %base, 256;
  add.u32 %sfb, %base, 260;
  add.u32 %addr, %addr, 52736;
  shr.u32 %addr, %addr, 4;
  cvt.u64.u32 %off, %addr;
  or.b64 %off, %off, 0x0000400800010000;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%sfa], %off;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%sfb], %off;
  add.u32 %sfa, %base, 264;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%sfa], %off;
  add.u32 %sfa, %base, 256;)"
                                 : "",
                     chain - 1, kind.text, kind.scaled ? "[%sfa], [%sfb], " : "");
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
  all_nan,
  wide_scales  // normal; the factors of scaled kinds are any
};

float element(Operands kind, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const float inf = std::numeric_limits<float>::infinity(), sign = random() & 1 ? -1.0f : 1.0f;
  switch (kind) {
    case Operands::normal:
    case Operands::wide_scales: break;
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

/// A pattern of `bits` bits near the number: e4m3 or e5m2, e2m1, or the number itself as bf16, tf32 or s8.
uint32_t pattern(float v, uint32_t bits, bool integer, bool e5m2) {
  const uint32_t word = std::bit_cast<uint32_t>(v);
  if (bits == 32) return word;
  if (bits == 16) return word >> 16;
  if (integer) return uint32_t(int32_t(v * 32)) & 0xff;
  if (bits == 8 && std::isnan(v)) return 0x7f;
  const auto format = bits != 8 ? numerics::Format::e2m1 : e5m2 ? numerics::Format::e5m2 : numerics::Format::e4m3;
  uint32_t best = 0;
  for (uint32_t p = 0; p < 1u << bits; ++p)
    if (std::fabs(numerics::to_double(format, p) - v) < std::fabs(numerics::to_double(format, best) - v)) best = p;
  return best;
}

/// Without `chain` sums grow until they are thousands of times as large as a product.
void mma(benchmark::State& state, const Kind& kind, uint32_t m, uint32_t n, Operands operands = Operands::normal,
         uint32_t chain = 1u << 31) {
  constexpr uint32_t kCount = 512;
  test::RunPtx gpu(kernel(kind, chain));
  gpu.dynamic_shared = 52 * 1024;
  gpu.gpu.options.threads = 1;
  std::mt19937 random(1);
  std::vector<uint32_t> image(13 * 1024);
  const bool integer = std::string(kind.text) == "i8";
  for (uint32_t& w : image) {
    w = 0;
    for (uint32_t bit = 0; bit < 32; bit += kind.element_bits)
      w |= pattern(element(operands, random), kind.element_bits, integer, kind.e5m2) << bit;
  }
  if (kind.scaled)
    for (size_t i = image.size() - 128; i < image.size(); ++i) {
      const bool ue4m3 = std::string(kind.text).starts_with("mxf4nv");
      image[i] = ue4m3 ? 0x3c3a3836 : 0x7e807f7e;
      if (operands == Operands::wide_scales) image[i] = uint32_t(random()) & (ue4m3 ? 0x77777777 : 0xcfcfcfcf);
    }
  const uint64_t source = gpu.upload(image);
  // K-major, 128-byte swizzle; A at the start of the image (offset 0x800), B 16 KiB further.
  const auto descriptor = [](uint32_t at) {
    return uint64_t(at >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
  };
  const uint32_t idesc = kind.idesc | (n >> 3) << 17 | (m >> 4) << 24;
  LaunchStats stats;
  for (auto _ : state)
    stats = gpu.launch("many", Dim3{1}, Dim3{128}, source, idesc, descriptor(0x800), descriptor(0x800 + 16384), kCount);
  state.counters["scalar_sums"] = double(stats.counters["matrix sums, scalar"]);
  state.counters["us_per_mma"] = benchmark::Counter(double(state.iterations()) * kCount * 1e-6,
                                                    benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(numerics::mma_level());
}

/// Accumulators, aligned as Tensor Memory's cells are.
struct Cells {
  alignas(64) uint32_t words[128 * 256];
};

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
  const auto d = std::make_unique<Cells>();
  numerics::MmaTile tile;
  tile.rule = numerics::kSumF32;
  tile.a_format = tile.b_format = tf32 ? numerics::Format::tf32 : numerics::Format::bf16;
  tile.rows = tile.column_stride = 128;
  tile.columns = 256;
  tile.terms = tf32 ? 8 : 16;
  tile.a = planes[0].words;
  tile.b = planes[1].words;
  tile.d = d->words;
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
BENCH_KERNELS(bf16_some_infinities, false, Operands::some_infinities);
BENCH_KERNELS(bf16_all_nan, false, Operands::all_nan);
BENCH_KERNELS(tf32, true, Operands::normal);
BENCH_KERNELS(tf32_far_apart, true, Operands::far_apart);

/// The sums alone of a narrow kind.
struct Narrow {
  numerics::SumKind sum = numerics::SumKind::fused;
  numerics::Format format = numerics::Format::e4m3;
  float c = 1;  // standard deviation of the old accumulators; products have 1
  uint32_t scales = 0;
  numerics::Format scale_format = numerics::Format::ue8m0;
  bool nans = false, wide_scales = false, sparse = false;
};
void narrow_alone(benchmark::State& state, const char* level, const Narrow& kind) {
  if (!numerics::mma_has_level(level)) return state.SkipWithError("this CPU lacks the level");
  constexpr uint32_t kPlane = numerics::kPlane;
  struct Planes {
    alignas(64) uint8_t bytes[64 * kPlane];
  };
  const auto planes = std::make_unique<Planes[]>(3);  // A, B, places
  const auto scales = std::make_unique<numerics::ScalePlanes[]>(2);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const uint32_t bits = info(kind.format).bits;
  for (uint32_t i = 0; i < 2; ++i) {
    for (uint8_t& e : planes[i].bytes)
      e = uint8_t(kind.nans && random() % 256 == 0
                      ? 0x7f
                      : pattern(normal(random), bits, false, kind.format == numerics::Format::e5m2));
    for (uint8_t& s : scales[i].bytes)
      s = uint8_t(kind.scale_format == numerics::Format::ue8m0
                      ? (kind.wide_scales ? random() & 0xcf : 124 + random() % 6)
                  : kind.wide_scales ? random() % 0x7f
                                     : 0x30 + random() % 16);
  }
  for (uint32_t k = 0; k < 32; ++k)
    for (uint32_t r = 0; r < kPlane; ++r)
      planes[2].bytes[k * kPlane + r] = uint8_t(k / 2 * 4 + (k % 2 ? 2 + random() % 2 : random() % 2));
  const auto before = std::make_unique<Cells>(), d = std::make_unique<Cells>();
  for (uint32_t& w : before->words) w = std::bit_cast<uint32_t>(kind.c * normal(random));
  numerics::MmaTile tile;
  tile.sum = kind.sum;
  tile.rule = numerics::kSumF32;
  tile.a_format = tile.b_format = kind.format;
  tile.rows = tile.column_stride = 128;
  tile.columns = 256;
  tile.terms = bits == 4 ? 64 : 32;
  tile.a = planes[0].bytes;
  tile.b = planes[1].bytes;
  if (kind.sparse) tile.select = planes[2].bytes;
  tile.read_c = true;
  tile.scale_format = kind.scale_format;
  tile.scales = kind.scales;
  tile.a_scales = scales[0].bytes;
  tile.b_scales = scales[1].bytes;
  tile.d = d->words;
  for (uint32_t i = 0; i < 8; ++i) tile.lane[i] = 16 * i;
  for (auto _ : state) {
    state.PauseTiming();
    *d = *before;
    state.ResumeTiming();
    numerics::mma_at_level(level, tile);
  }
}
#define BENCH_NARROW(name, ...)                                                                        \
  BENCHMARK_CAPTURE(narrow_alone, name##_v4, "x86-64-v4", __VA_ARGS__)->Unit(benchmark::kMicrosecond); \
  BENCHMARK_CAPTURE(narrow_alone, name##_v3, "x86-64-v3", __VA_ARGS__)->Unit(benchmark::kMicrosecond)
constexpr auto kE5m2 = numerics::Format::e5m2, kE2m1 = numerics::Format::e2m1, kUe4m3 = numerics::Format::ue4m3;
BENCH_NARROW(e4m3, Narrow{});
BENCH_NARROW(e4m3_large_c, Narrow{.c = 4096});
BENCH_NARROW(e4m3_windows_cut_some, Narrow{.c = 80});
BENCH_NARROW(e4m3_windows_cut_many, Narrow{.c = 128});
BENCH_NARROW(e4m3_sparse, Narrow{.sparse = true});
BENCH_NARROW(e5m2, Narrow{.format = kE5m2});
BENCH_NARROW(e5m2_large_c, Narrow{.format = kE5m2, .c = 4096});
BENCH_NARROW(e5m2_nans, Narrow{.format = kE5m2, .nans = true});
BENCH_NARROW(mx_e4m3, Narrow{.sum = numerics::SumKind::scaled, .scales = 1});
BENCH_NARROW(mx_e4m3_large_c, Narrow{.sum = numerics::SumKind::scaled, .c = 4096, .scales = 1});
BENCH_NARROW(mxf4, Narrow{.sum = numerics::SumKind::fp4, .format = kE2m1, .scales = 2});
BENCH_NARROW(mxf4_wide_scales,
             Narrow{.sum = numerics::SumKind::fp4, .format = kE2m1, .scales = 2, .wide_scales = true});
BENCH_NARROW(nvf4, Narrow{.sum = numerics::SumKind::fp4, .format = kE2m1, .scales = 4, .scale_format = kUe4m3});
BENCH_NARROW(
    nvf4_wide_scales,
    Narrow{.sum = numerics::SumKind::fp4, .format = kE2m1, .scales = 4, .scale_format = kUe4m3, .wide_scales = true});

#define BENCH(name, ...) \
  BENCHMARK_CAPTURE(mma, name, __VA_ARGS__)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()
BENCH(bf16_128x256x16, kBf16, 128u, 256u);
BENCH(bf16_128x128x16, kBf16, 128u, 128u);
BENCH(bf16_64x64x16, kBf16, 64u, 64u);
BENCH(tf32_128x256x8, kTf32, 128u, 256u);
BENCH(fp8_128x256x32, kFp8, 128u, 256u);
BENCH(bf8_128x256x32, kBf8, 128u, 256u);
BENCH(mxfp8_128x256x32, kMxFp8, 128u, 256u);
BENCH(int8_128x256x32, kInt8, 128u, 256u);
BENCH(mxfp4_128x256x64, kMxFp4, 128u, 256u);
BENCH(nvfp4_128x256x64, kNvFp4, 128u, 256u);
// As a GEMM with K = 512 has them.
BENCH(fp8_k512, kFp8, 128u, 256u, Operands::normal, 16u);
BENCH(bf8_k512, kBf8, 128u, 256u, Operands::normal, 16u);
BENCH(mxfp8_k512, kMxFp8, 128u, 256u, Operands::normal, 16u);
// No operand may cost more than four times as much as the commonest ones.
BENCH(bf16_mixed_sizes, kBf16, 128u, 256u, Operands::mixed_sizes);
BENCH(bf16_far_apart, kBf16, 128u, 256u, Operands::far_apart);
BENCH(bf16_huge, kBf16, 128u, 256u, Operands::huge);
BENCH(bf16_half_zeros, kBf16, 128u, 256u, Operands::half_zeros);
BENCH(bf16_subnormal, kBf16, 128u, 256u, Operands::subnormal);
BENCH(bf16_some_infinities, kBf16, 128u, 256u, Operands::some_infinities);
BENCH(bf16_some_nans, kBf16, 128u, 256u, Operands::some_nans);
BENCH(bf16_all_nan, kBf16, 128u, 256u, Operands::all_nan);
BENCH(tf32_mixed_sizes, kTf32, 128u, 256u, Operands::mixed_sizes);
BENCH(tf32_far_apart, kTf32, 128u, 256u, Operands::far_apart);
BENCH(tf32_huge, kTf32, 128u, 256u, Operands::huge);
BENCH(tf32_half_zeros, kTf32, 128u, 256u, Operands::half_zeros);
BENCH(tf32_subnormal, kTf32, 128u, 256u, Operands::subnormal);
BENCH(tf32_some_infinities, kTf32, 128u, 256u, Operands::some_infinities);
BENCH(tf32_some_nans, kTf32, 128u, 256u, Operands::some_nans);
BENCH(fp8_mixed_sizes, kFp8, 128u, 256u, Operands::mixed_sizes);
BENCH(fp8_half_zeros, kFp8, 128u, 256u, Operands::half_zeros);
BENCH(fp8_some_nans, kFp8, 128u, 256u, Operands::some_nans);
BENCH(fp8_all_nan, kFp8, 128u, 256u, Operands::all_nan);
BENCH(bf8_mixed_sizes, kBf8, 128u, 256u, Operands::mixed_sizes);
BENCH(bf8_some_nans, kBf8, 128u, 256u, Operands::some_nans);
BENCH(mxfp8_wide_scales, kMxFp8, 128u, 256u, Operands::wide_scales);
BENCH(mxfp4_wide_scales, kMxFp4, 128u, 256u, Operands::wide_scales);
BENCH(nvfp4_wide_scales, kNvFp4, 128u, 256u, Operands::wide_scales);

}  // namespace

BENCHMARK_MAIN();
