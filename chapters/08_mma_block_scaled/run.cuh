// Launches the product of two scaled matrices.
#pragma once
#include <bit>

#include "chapters/08_mma_block_scaled/kernel.cuh"
#include "chapters/08_mma_block_scaled/matrices.h"
#include "common/harness/cuda_check.h"

namespace scaled {

using Kernel = void (*)(Problem, uint32_t, uint32_t*);

/// D = A·Bᵀ as f32, 128 × b.rows. `idesc` without ids.
template <ScaledKind kKind>
std::vector<float> run_product(const Matrix& a, const Matrix& b, uint32_t idesc, Kernel kernel = product<kKind>) {
  using gen5::harness::DeviceBuffer;
  constexpr bool kTight = kKind != ScaledKind::mxf8f6f4;
  DeviceBuffer<uint8_t> bytes_a(a.bytes(kTight)), bytes_b(b.bytes(kTight)), scales_a(a.chunks()), scales_b(b.chunks());
  DeviceBuffer<float> d(size_t(kM) * b.rows);
  const uint32_t steps = a.depth / depth_of(kKind), chunks = (a.blocks() + 3) / 4;
  const uint32_t shared = shared_bytes(b.rows, steps, chunks);
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  kernel<<<1, kM, shared>>>({bytes_a.get(), bytes_b.get(), scales_a.get(), scales_b.get(), b.rows, steps, chunks},
                            idesc, reinterpret_cast<uint32_t*>(d.get()));
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return d.download();
}

/// The instruction descriptor for any N: bits 22:17.
constexpr uint32_t with_n(uint32_t idesc, uint32_t n) { return (idesc & ~(63u << 17)) | (n >> 3) << 17; }

inline constexpr uint32_t kMxf8 = gen5::layout::scaled_instruction_descriptor({});
inline constexpr uint32_t kMxf4 =
    gen5::layout::scaled_instruction_descriptor({.kind = ScaledKind::mxf4, .a = Element::e2m1, .b = Element::e2m1});
inline constexpr uint32_t kNvf4 = gen5::layout::scaled_instruction_descriptor(
    {.kind = ScaledKind::mxf4nvf4, .a = Element::e2m1, .b = Element::e2m1, .ue4m3 = true});

}  // namespace scaled
