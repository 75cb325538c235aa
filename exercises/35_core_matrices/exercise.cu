// Core matrices by hand
//
// Without a swizzle an operand is made of core matrices: 8 rows of 16 bytes, 128 contiguous bytes. Here the core
// matrices of the first 16 bytes of K lie below each other, then those of the second. The kernel stores rows of 32
// bytes instead. Put element [row][k] where the descriptor says it is.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 16, kK = 16;
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN});
template <uint32_t kRows>
constexpr uint64_t kOperand = smem_descriptor({.swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});

/// Where element [row][k] of a tile of `rows` rows is, counted in elements.
__device__ uint32_t place(uint32_t rows, uint32_t row, uint32_t k) {
  return row * kK + k;  // your expression
}

__global__ void product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += 128) tile_a[place(kM, i / kK, i % kK)] = a[i];
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[place(kN, i / kK, i % kK)] = b[i];
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_f16(address, at_address(kOperand<kM>, shared_address(tile_a)),
                    at_address(kOperand<kN>, shared_address(tile_b)), kInstruction, false);
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 32);
}

void judge() {
  const auto a = exercise::bf16(kM * kK, 1), b = exercise::bf16(kN * kK, 2);
  exercise::DeviceBuffer<uint16_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::expect_floats("d", d.download(), exercise::product(a, b, kM, kN, kK), kN);
}
EXERCISE(judge);
