// GEMMs by mma.sync: cp.async stages and ldmatrix, and the simplest one by wmma, straight from global memory.
#include <cuda_bf16.h>
#include <mma.h>

#include "common/ptx/address.h"
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

constexpr int kTile = 128, kBlockK = 32, kPitch = 40;  // elements; 80-byte rows keep ldmatrix free of conflicts

__device__ inline void copy_async(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ inline void load_matrix(uint32_t (&r)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}
__device__ inline void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Eight warps, each 64 × 32 of a tile of 128 × 128.
template <int Stages>
__global__ void __launch_bounds__(256) staged(const uint16_t* a, const uint16_t* b, float* d, uint32_t n, uint32_t k) {
  extern __shared__ __align__(16) uint16_t memory[];
  constexpr uint32_t kOperand = kTile * kPitch * 2, kStage = 2 * kOperand;
  const uint32_t base = gen5::ptx::shared_address(memory), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t blocks = k / kBlockK;
  const uint16_t* from_a = a + uint64_t(blockIdx.x) * kTile * k;
  const uint16_t* from_b = b + uint64_t(blockIdx.y) * kTile * k;
  const auto load = [&](uint32_t block) {
    if (block < blocks) {
      const uint32_t at = base + block % Stages * kStage;
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t piece = threadIdx.x + i * 256, row = piece / 4, column = piece % 4 * 8;
        copy_async(at + (row * kPitch + column) * 2, from_a + uint64_t(row) * k + block * kBlockK + column);
        copy_async(at + kOperand + (row * kPitch + column) * 2, from_b + uint64_t(row) * k + block * kBlockK + column);
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
#pragma unroll
  for (uint32_t s = 0; s + 1 < Stages; ++s) load(s);
  const uint32_t row = warp % 2 * 64, column = warp / 2 * 32;
  float sum[4][4][4] = {};
  for (uint32_t block = 0; block < blocks; ++block) {
    asm volatile("cp.async.wait_group %0;" ::"n"(Stages - 2) : "memory");
    __syncthreads();
    load(block + Stages - 1);
    const uint32_t at = base + block % Stages * kStage;
#pragma unroll
    for (uint32_t step = 0; step < 2; ++step) {
      uint32_t fa[4][4], fb[2][4];
      const uint32_t place = (lane % 16 * kPitch + lane / 16 * 8 + step * 16) * 2;
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) load_matrix(fa[i], at + (row + i * 16) * kPitch * 2 + place);
#pragma unroll
      for (uint32_t j = 0; j < 2; ++j) load_matrix(fb[j], at + kOperand + (column + j * 16) * kPitch * 2 + place);
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
        for (uint32_t j = 0; j < 4; ++j) multiply(sum[i][j], fa[i], fb[j / 2][j % 2], fb[j / 2][j % 2 + 2]);
    }
  }
  float* out = d + (uint64_t(blockIdx.x) * kTile + row + lane / 4) * n + blockIdx.y * kTile + column + lane % 4 * 2;
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j)
#pragma unroll
      for (uint32_t h = 0; h < 2; ++h)
        *reinterpret_cast<float2*>(out + uint64_t(i * 16 + h * 8) * n + j * 8) =
            make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
}

/// A warp has 16 × 16 of D, eight warps side by side.
__global__ void __launch_bounds__(256) plain(const uint16_t* a, const uint16_t* b, float* d, uint32_t n, uint32_t k) {
  using namespace nvcuda::wmma;
  const uint32_t row = blockIdx.x * 16, column = (blockIdx.y * 8 + threadIdx.x / 32) * 16;
  const auto* pa = reinterpret_cast<const __nv_bfloat16*>(a) + uint64_t(row) * k;
  const auto* pb = reinterpret_cast<const __nv_bfloat16*>(b) + uint64_t(column) * k;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  for (uint32_t i = 0; i < k; i += 16) {
    fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> fb;
    load_matrix_sync(fa, pa + i, k);
    load_matrix_sync(fb, pb + i, k);
    mma_sync(sum, fa, fb, sum);
  }
  store_matrix_sync(d + uint64_t(row) * n + column, sum, n, mem_row_major);
}

template <class Launch>
Instance product(uint32_t m, uint32_t n, uint32_t k, Launch launch) {
  auto a = buffer_of(bf16_values(size_t(m) * k, 1)), b = buffer_of(bf16_values(size_t(n) * k, 2));
  auto d = empty<float>(size_t(m) * n);
  return {[=] { launch(a->get(), b->get(), d->get()); },
          [=] {
            return check_product<float>(
                d->download(), [](float f) { return f; }, m, n, k, 1, 2, 1e-3);
          }};
}

template <int Stages>
void add_staged(Cases& cases) {
  for (const uint32_t n : {512u, 1024u, 2048u})
    cases.push_back({text("gemm_mma_sync/stages:%d/n:%u", Stages, n), "GEMM, mma.sync", true, [n] {
                       constexpr int kBytes = Stages * 2 * kTile * kPitch * 2;
                       GEN5_CUDA(
                           cudaFuncSetAttribute(staged<Stages>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
                       return product(n, n, n, [n](uint16_t* a, uint16_t* b, float* d) {
                         staged<Stages><<<dim3(n / kTile, n / kTile), 256, kBytes>>>(a, b, d, n, n);
                       });
                     }});
}

}  // namespace

void add_mma_sync_gemms(Cases& cases) {
  add_staged<2>(cases);
  add_staged<3>(cases);
  add_staged<4>(cases);
  for (const uint32_t n : {256u, 512u, 1024u})
    cases.push_back({text("gemm_wmma/n:%u", n), "GEMM, mma.sync", true, [n] {
                       return product(n, n, n, [n](uint16_t* a, uint16_t* b, float* d) {
                         plain<<<dim3(n / 16, n / 128), 256>>>(a, b, d, n, n);
                       });
                     }});
}

}  // namespace prediction
