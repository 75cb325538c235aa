// When may a tile be refilled?
//
// Four blocks of K go through one pair of tiles in shared memory. A product is asynchronous, so the threads may
// overwrite the tiles while the tensor core still reads them. Add the wait, with the right parity, in the right place.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 64, kBlocks = 4;
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN});

// a and b: a tile of 64 elements of K behind the other.
__global__ void product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(1024) uint16_t tile_a[kM * tile::kDepth], tile_b[kN * tile::kDepth];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 64);
  for (uint32_t block = 0; block < kBlocks; ++block) {
    tile::fill(tile_a, a + block * kM * tile::kDepth, kM);
    tile::fill(tile_b, b + block * kN * tile::kDepth, kN);
    tensor_kernel::ready();
    if (threadIdx.x == 0) {
      for (uint32_t k = 0; k < tile::kDepth; k += 16)
        tcgen05_mma_f16(address, at_address(tile::kDescriptor, shared_address(tile_a) + 2 * k),
                        at_address(tile::kDescriptor, shared_address(tile_b) + 2 * k), kInstruction, block + k > 0);
      tcgen05_commit(shared_address(&barrier));
    }
    // Your line here.
  }
  tcgen05_fence_after_thread_sync();
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 64);
}

void judge() {
  const auto a = exercise::bf16(kM * tile::kDepth * kBlocks, 1), b = exercise::bf16(kN * tile::kDepth * kBlocks, 2);
  // For the reference: rows of all of K.
  const auto rows = [](const exercise::Halves& from, uint32_t count) {
    exercise::Halves to(from.size());
    for (uint32_t i = 0; i < from.size(); ++i) {
      const uint32_t block = i / (count * tile::kDepth), row = i / tile::kDepth % count;
      to[(row * kBlocks + block) * tile::kDepth + i % tile::kDepth] = from[i];
    }
    return to;
  };
  exercise::DeviceBuffer<uint16_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::expect_floats("d", d.download(),
                          exercise::product(rows(a, kM), rows(b, kN), kM, kN, tile::kDepth * kBlocks), kN);
}
EXERCISE(judge);
