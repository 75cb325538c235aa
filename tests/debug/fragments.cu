// Matrices whose elements say where they lie, in registers.
//
//   debug_fragments tmem     cells of Tensor Memory that hold lane << 16 | column, loaded in every shape
//   debug_fragments wgmma    D = A, an MMA with a unit matrix: A[m][k] = (m % 16 + 16 k) times 1, -1, 2, -2, by warp
#include <cstdint>
#include <cstdio>
#include <string>

#include "common/ptx/address.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/wgmma.h"

namespace {

using namespace gen5::ptx;

template <int kCount>
__device__ void keep(uint32_t* out, const uint32_t (&r)[kCount]) {
  for (int i = 0; i < kCount; ++i) out[threadIdx.x * kCount + i] = r[i];
}

__global__ void tmem(uint32_t* out) {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), 32);
  __syncthreads();
  const uint32_t address = slot + (threadIdx.x / 32 << 21);
  uint32_t cells[8];
  for (uint32_t c = 0; c < 8; ++c) cells[c] = threadIdx.x << 16 | c;
  tcgen05_st_32x32b(address, cells);
  tcgen05_wait_st();
  __syncthreads();
  uint32_t whole[4], two[4], four[4], eight[4], packed[4], halves[4];
  tcgen05_ld_32x32b(whole, address);
  tcgen05_wait_ld();
  keep(out, whole);  // line: whole
  __syncthreads();
  tcgen05_ld_16x64b(two, address);
  tcgen05_wait_ld();
  keep(out, two);  // line: two
  __syncthreads();
  tcgen05_ld_16x128b(four, address);
  tcgen05_wait_ld();
  keep(out, four);  // line: four
  __syncthreads();
  tcgen05_ld_16x256b(eight, address);
  tcgen05_wait_ld();
  keep(out, eight);  // line: eight
  __syncthreads();
  tcgen05_ld_32x32b_pack16b(packed, address);
  tcgen05_wait_ld();
  keep(out, packed);  // line: packed
  __syncthreads();
  tcgen05_ld_16x32bx2<4>(halves, address);
  tcgen05_wait_ld();
  keep(out, halves);  // line: halves
  __syncthreads();
  if (threadIdx.x < 32) tcgen05_dealloc(slot, 32);
#endif
}

__global__ void wgmma(float* out) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr uint16_t kOne = 0x3f80;  // of bf16
  // B: 8 rows of 16 along K, in two blocks of 8 rows of 16 bytes. The first has ones on its diagonal.
  __shared__ alignas(128) uint16_t b[128];
  b[threadIdx.x] = threadIdx.x < 64 && threadIdx.x / 8 == threadIdx.x % 8 ? kOne : 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint64_t descriptor = shared_address(b) >> 4 | uint64_t(128 >> 4) << 16 | uint64_t(128 >> 4) << 32;
  const uint32_t t = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto element = [](uint32_t m, uint32_t k) {
    const float all = float(m % 16 + 16 * k) * (m < 32 ? 1 : 2);
    return uint32_t(__float_as_uint(m / 16 % 2 ? -all : all) >> 16);
  };
  uint32_t a[4];
  for (uint32_t r = 0; r < 4; ++r) {
    const uint32_t m = 16 * warp + t / 4 + 8 * (r % 2), k = 8 * (r / 2) + 2 * (t % 4);
    a[r] = element(m, k) | element(m, k + 1) << 16;
  }
  float d[4] = {};
  wgmma_fence();
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor));
  wgmma_commit_group();  // line: commit
  wgmma_wait_group<0>();
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];  // line: wgmma
#endif
}

}  // namespace

int main(int count, char** arguments) {
  void* out = nullptr;
  cudaMalloc(&out, 1 << 16);
  if (count > 1 && arguments[1] == std::string("tmem"))
    tmem<<<1, 128>>>(static_cast<uint32_t*>(out));
  else
    wgmma<<<1, 128>>>(static_cast<float*>(out));
  const cudaError_t e = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(e));
  return int(e);
}
