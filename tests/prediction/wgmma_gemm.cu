// GEMMs on Hopper's tensor cores: chapter 13's twin (persistent, pairs of CTAs, multicast), and a plain ring of TMA
// stages with one tile a CTA, over tiles and depths.
#include "chapters/13_gemm/hopper/hopper.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/wgmma.h"
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

using namespace gen5::ptx;

constexpr uint32_t kRowBytes = 128, kBlockK = 64;

__device__ inline uint64_t operand(uint32_t address) {
  return uint64_t((address & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

/// A warp loads, Rows / 64 warpgroups multiply 64 rows each and store f32 from their registers.
template <int Rows, int Columns, int Stages>
__global__ void __launch_bounds__(128 + 2 * Rows)
    ring(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, float* d, uint32_t n,
         uint32_t k) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ alignas(8) uint64_t full[Stages], empty[Stages];
  constexpr uint32_t kA = Rows * kRowBytes, kStage = kA + Columns * kRowBytes;
  const uint32_t at = shared_address(memory), group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0),
                 blocks = k / kBlockK;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Stages; ++i) {
      mbarrier_init(shared_address(&full[i]), 1);
      mbarrier_init(shared_address(&empty[i]), Rows / 64);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  const int row = int(blockIdx.x) * Rows, column = int(blockIdx.y) * Columns;
  if (group == 0) {
    if (threadIdx.x == 0)
      for (uint32_t b = 0; b < blocks; ++b) {
        const uint32_t stage = b % Stages, bar = shared_address(&full[stage]);
        mbarrier_wait_parity(shared_address(&empty[stage]), (b / Stages & 1) ^ 1);
        mbarrier_arrive_expect_tx(bar, kStage);
        tensor_load_2d(at + stage * kStage, &a_map, int(b * kBlockK), row, bar);
        tensor_load_2d(at + stage * kStage + kA, &b_map, int(b * kBlockK), column, bar);
      }
    return;
  }
  const uint32_t thread = threadIdx.x % 128, band = group - 1;
  float sum[Columns / 2];
  for (uint32_t b = 0; b < blocks; ++b) {
    const uint32_t stage = b % Stages;
    mbarrier_wait_parity(shared_address(&full[stage]), b / Stages & 1);
    const uint64_t a = operand(at + stage * kStage + band * 64 * kRowBytes), bb = operand(at + stage * kStage + kA);
    wgmma_fence();
#pragma unroll
    for (uint32_t step = 0; step < 4; ++step)
      wgmma_m64k16<Columns, WgmmaType::bf16>(sum, a + step * 2, bb + step * 2, b > 0 || step > 0);
    wgmma_commit_group();
    wgmma_wait_group<1>();
    if (b > 0 && thread == 0) mbarrier_arrive(shared_address(&empty[(b - 1) % Stages]));
  }
  wgmma_wait_group<0>();
  float* out = d + uint64_t(row + band * 64 + thread / 32 * 16 + thread % 32 / 4) * n + column + 2 * (thread % 4);
#pragma unroll
  for (int j = 0; j < Columns / 8; ++j)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<float2*>(out + uint64_t(8 * h) * n + 8 * j) =
          make_float2(sum[4 * j + 2 * h], sum[4 * j + 2 * h + 1]);
}

struct Size {
  uint32_t m, n, k;
};

template <int Rows, int Columns, int Stages>
void add_ring(Cases& cases, Size s) {
  cases.push_back({text("gemm_ring/tile:%dx%d/stages:%d/m:%u/n:%u/k:%u", Rows, Columns, Stages, s.m, s.n, s.k),
                   "GEMM, wgmma ring", true, [s] {
                     auto a = buffer_of(bf16_values(size_t(s.m) * s.k, 1)),
                          b = buffer_of(bf16_values(size_t(s.n) * s.k, 2));
                     auto d = empty<float>(size_t(s.m) * s.n);
                     const auto map = [&](uint16_t* p, uint32_t rows, uint32_t box) {
                       return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, rows, s.k, s.k, box,
                                                        kBlockK, CU_TENSOR_MAP_SWIZZLE_128B);
                     };
                     const CUtensorMap a_map = map(a->get(), s.m, Rows), b_map = map(b->get(), s.n, Columns);
                     const auto kernel = ring<Rows, Columns, Stages>;
                     constexpr int kBytes = Stages * (Rows + Columns) * int(kRowBytes);
                     GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
                     return Instance{[=] {
                                       kernel<<<dim3(s.m / Rows, s.n / Columns), 128 + 2 * Rows, kBytes>>>(
                                           a_map, b_map, d->get(), s.n, s.k);
                                       (void)a, (void)b;
                                     },
                                     [=] {
                                       return check_product<float>(
                                           d->download(), [](float f) { return f; }, s.m, s.n, s.k, 1, 2, 1e-3);
                                     }};
                   }});
}

template <int Rows, int Columns>
void add_rings(Cases& cases) {
  for (const Size s : {Size{1024, 1024, 1024}, Size{2048, 2048, 512}}) {
    add_ring<Rows, Columns, 2>(cases, s);
    add_ring<Rows, Columns, 3>(cases, s);
    add_ring<Rows, Columns, 4>(cases, s);
  }
}

void add_twin(Cases& cases, gemm::hopper::Variant variant, Size s) {
  const bool wide = variant == gemm::hopper::Variant::cooperative;
  cases.push_back(
      {text("gemm_twin/variant:%s/m:%u/n:%u/k:%u", wide ? "cooperative" : "ping_pong", s.m, s.n, s.k), "GEMM, the twin",
       true, [=] {
         auto a = buffer_of(bf16_values(size_t(s.m) * s.k, 1)), b = buffer_of(bf16_values(size_t(s.n) * s.k, 2));
         auto d = empty<uint16_t>(size_t(s.m) * s.n);
         gemm::Problem p;
         p.m = s.m, p.n = s.n, p.k = s.k;
         p.a = a->get(), p.b = b->get(), p.d = d->get();
         return Instance{[=] {
                           gemm::hopper::launch(p, variant);
                           (void)a, (void)b;
                         },
                         [=] { return check_product<uint16_t>(d->download(), from_bf16, s.m, s.n, s.k, 1, 2, 1e-2); }};
       }});
}

}  // namespace

void add_wgmma_gemms(Cases& cases) {
  for (const auto v : {gemm::hopper::Variant::cooperative, gemm::hopper::Variant::ping_pong})
    for (const Size s : {Size{256, 256, 4096}, Size{512, 512, 512}, Size{1024, 1024, 1024}, Size{1024, 1024, 4096},
                         Size{1536, 1536, 1536}, Size{2048, 2048, 512}, Size{2048, 2048, 2048}, Size{3072, 2304, 1024},
                         Size{8192, 1024, 1024}, Size{4096, 4096, 256}, Size{4096, 4096, 4096}})
      add_twin(cases, v, s);
  add_rings<64, 128>(cases);
  add_rings<64, 256>(cases);
  add_rings<128, 128>(cases);
  add_rings<128, 256>(cases);
}

}  // namespace prediction
