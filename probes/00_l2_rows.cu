// Probe 00: narrow rows, read from L2 by all SMs. A step of a product reads 128 rows of A and 128 of B, 128 bytes of
// each row, by tensor copies whose boxes are 32, 64 or 128 bytes wide: narrow boxes take more of them. `sectors` is the
// same question for loads: lanes of a warp read one, two or four sectors of a line each.
//
// `cycles` of a KiB that a CTA receives.
//
//   probe_00_l2_rows [--benchmark_format=json]
#include <algorithm>

#include "common/harness/cuda_check.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/l2_pass.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr uint32_t kStages = 4, kSteps = 48, kRows = 128, kBlock = 128, kBox = kRows * kBlock;
constexpr uint32_t kMatrixRows = 4096;

/// CTA (m, n) of `columns` in a row; 0: each reads rows of its own, and `period` steps.
struct Blocks {
  uint32_t columns, period, row_bytes;
};

__global__ void read_boxes(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, Blocks t,
                           uint32_t* begun, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ uint64_t full[kStages];
  const uint32_t cta = blockIdx.x, wrap = kMatrixRows / kRows;
  const uint32_t row = (t.columns ? cta / t.columns : cta % wrap) * kRows;
  const uint32_t column = (t.columns ? cta % t.columns : cta % wrap) * kRows;
  // What a CTA has of its own lies beside what the CTAs before it read.
  const uint32_t x0 = t.columns ? 0 : cta / wrap * t.period * kBlock;
  const uint32_t to = shared_address(buffer);
  for (uint32_t i = 0; i < kStages; ++i) mbarrier_init(shared_address(&full[i]), 1);
  fence_mbarrier_init();
  atomicAdd(begun, 1);
  while (*static_cast<volatile uint32_t*>(begun) < gridDim.x) {
  }
  const long long t0 = ticks();
#pragma unroll 1
  for (uint32_t i = 0; i < kSteps + kStages; ++i) {
    const uint32_t slot = i % kStages, bar = shared_address(&full[slot]);
    if (i >= kStages) mbarrier_wait_parity(bar, (i / kStages - 1) & 1);
    if (i >= kSteps) continue;
    mbarrier_arrive_expect_tx(bar, 2 * kBox);
    uint32_t at = to + slot * 2 * kBox;
    const uint32_t x = x0 + i % t.period * kBlock;
    for (uint32_t part = 0; part < kBlock; part += t.row_bytes, at += kRows * t.row_bytes)
      tensor_load_2d(at, &a, int(x + part), int(row), bar);
    for (uint32_t part = 0; part < kBlock; part += t.row_bytes, at += kRows * t.row_bytes)
      tensor_load_2d(at, &b, int(x + part), int(column), bar);
  }
  cycles[blockIdx.x] = ticks() - t0;
}

void boxes(benchmark::State& state) {
  const uint32_t sms = uint32_t(gen5::harness::current_device().sms);
  const Blocks t{uint32_t(state.range(1)), state.range(1) ? 24u : 4u, uint32_t(state.range(0))};
  const uint32_t pitch = uint32_t(state.range(2));
  const auto map = [&](uint8_t* at) {
    return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, at, kMatrixRows, pitch, pitch, kRows,
                                     t.row_bytes, CU_TENSOR_MAP_SWIZZLE_NONE);
  };
  const CUtensorMap a = map(stretches()), b = map(stretches() + kStretch);
  constexpr uint32_t kShared = kStages * 2 * kBox;
  GEN5_CUDA(cudaFuncSetAttribute(read_boxes, cudaFuncAttributeMaxDynamicSharedMemorySize, int(kShared)));
  gen5::harness::DeviceBuffer<uint32_t> begun(2);
  for (auto _ : state) {
    begun.fill(0);
    const auto c = measured(sms, [&](long long* p) {
      for (int warm = 0; warm < 2; ++warm) read_boxes<<<sms, 1, kShared>>>(a, b, t, begun.get() + warm, p);
    });
    double sum = 0;
    for (long long cycles : c) sum += double(cycles);
    report(state, sum / sms / (kSteps * 2.0 * kBox / 1024));
  }
}
BENCHMARK(boxes)
    ->ArgNames({"row_bytes", "columns", "pitch"})
    ->ArgsProduct({{32, 64, 128}, {0, 12}, {4096, 4096 + 128}})
    ->Apply(by_cycles);

/// Each lane reads 16 bytes of so many neighbouring sectors' lines: lanes / `sectors` lines an instruction.
__global__ void __launch_bounds__(kPassThreads)
    read_sectors(const uint8_t* memory, uint32_t sectors, int passes, long long* cycles) {
  const uint32_t lane = threadIdx.x % 2, sector = threadIdx.x / 2 % sectors, line = threadIdx.x / 2 / sectors;
  const uint32_t step = kPassThreads / 2 / sectors * 128, lines = kSmBytes / 128;
  const uint8_t* at = memory + uint64_t(blockIdx.x) * kSmBytes + line * 128 + sector * 32 + lane * 16;
  uint32_t result = 0;
  long long t0 = 0;
#pragma unroll 1
  for (int pass = -1; pass < passes; ++pass) {
    if (pass == 0) {
      wait_for_value(result);
      __syncthreads();
      t0 = ticks();
    }
#pragma unroll 4
    for (uint32_t i = 0; i < lines * 128 / step; ++i) {
      uint32_t r[4];
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "l"(at + i * step)
                   : "memory");
      result ^= r[0] ^ r[1] ^ r[2] ^ r[3];
    }
  }
  wait_for_value(result);
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
}

void sectors(benchmark::State& state) {
  const uint32_t sms = uint32_t(gen5::harness::current_device().sms), n = uint32_t(state.range(0));
  constexpr int kPasses = 4;
  for (auto _ : state) {
    const auto c = measured(sms, [&](long long* p) {
      for (int warm = 0; warm < 2; ++warm) read_sectors<<<sms, kPassThreads>>>(stretches(), n, kPasses, p);
    });
    double sum = 0;
    for (long long cycles : c) sum += double(cycles);
    report(state, sum / sms / (kPasses * double(kSmBytes) / 128 * 32 * n / 1024));
  }
}
BENCHMARK(sectors)->ArgNames({"sectors"})->Arg(1)->Arg(2)->Arg(4)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
