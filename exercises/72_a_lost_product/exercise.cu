// Find the block: which products forget?
//
// D is the sum of twelve products, four in each of three blocks, and one MMA after the other adds to it. All elements
// of A and B are 1, so each block adds 64 to every element of D. One of the blocks overwrites D instead. Write down its
// number, from 1 on, and the first position at which the element in lane 0 and column 0 of Tensor Memory has lost the
// sum.
// answer: position = ?
// answer: block = ?

#include <bit>
#include <cstdio>

#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 16, kK = 64, kBlocks = 3;
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN});

__global__ void add_products(const uint16_t* ones, uint32_t* d) {
  __shared__ alignas(1024) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  tile::fill(tile_a, ones, kM);
  tile::fill(tile_b, ones, kN);
  tensor_kernel::ready();
  for (uint32_t block = 0; block < kBlocks; ++block) {
    if (threadIdx.x == 0) {
      for (uint32_t k = 0; k < kK / 16; ++k)
        tcgen05_mma_f16(address, at_address(tile::kDescriptor, shared_address(tile_a) + 32 * k),
                        at_address(tile::kDescriptor, shared_address(tile_b) + 32 * k), kInstruction,
                        k > 0 || block % 2 > 0);
      tcgen05_commit(shared_address(&barrier));
    }
    tensor_kernel::wait(&barrier, block % 2);
  }
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 32);
}

void judge() {
  const exercise::DeviceBuffer<uint16_t> ones(exercise::Halves(kM * kK, 0x3f80));
  const exercise::DeviceBuffer<uint32_t> d(kM * kN);
  add_products<<<1, 128>>>(ones.get(), d.get());
  exercise::finish();
  const float element = std::bit_cast<float>(d.download()[0]);
  std::printf("D[0][0] is %g and should be %u\n", element, kBlocks * kK);
  exercise::expect(element == kBlocks * kK, "D is wrong");
}
EXERCISE(judge);
