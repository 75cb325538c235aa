// Give the shape
//
// D is 128 x 64, A is 128 x 64 and B, column by column, is 64 x 64. The instruction descriptor gives the tensor core
// another shape, so half of D keeps its old values. Give it the right shape.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 64, kK = 64;
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN / 2});  // your numbers
__global__ void product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(1024) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 64);
  tile::fill(tile_a, a, kM);
  tile::fill(tile_b, b, kN);
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    for (uint32_t k = 0; k < kK; k += 16)
      tcgen05_mma_f16(address, at_address(tile::kDescriptor, shared_address(tile_a) + 2 * k),
                      at_address(tile::kDescriptor, shared_address(tile_b) + 2 * k), kInstruction, k > 0);
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 64);
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
