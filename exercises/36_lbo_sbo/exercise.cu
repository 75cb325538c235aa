// Which stride is which?
//
// These are the tiles of the exercise before, stored right. Now the descriptor is wrong. It has two distances: one
// leads to the next eight rows, the other to the next 16 bytes of K. They are exchanged. Choose the right descriptor.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 16, kK = 16;
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN});
template <uint32_t kRows>
constexpr uint64_t kOperand =
    smem_descriptor({.swizzle = Swizzle::none, .leading = 128, .stride = kRows * 16});  // yours

__global__ void product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += 128) tile_a[i % kK / 8 * kM * 8 + i / kK * 8 + i % 8] = a[i];
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 8 * kN * 8 + i / kK * 8 + i % 8] = b[i];
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
