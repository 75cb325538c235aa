// B the other way round
//
// B comes as 64 rows of K with N contiguous, as most frameworks keep weights, and the kernel stores it that way:
// N-major. The descriptors still say K-major. Change the one word from which both descriptors are made.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 64, kK = 64;
constexpr Major kMajorOfB = Major::k;  // your word
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN, .b_major = kMajorOfB});
constexpr uint64_t kOperandB = smem_descriptor({.major = kMajorOfB, .leading = kK * 128, .stride = 1024});

__global__ void product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(1024) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 64);
  tile::fill(tile_a, a, kM);
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128)  // i / kN is k, i % kN is n
    tile_b[mn_major_offset(Swizzle::b128, kK, i % kN * 2, i / kN) / 2] = b[i];
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    for (uint32_t k = 0; k < kK; k += 16)  // 16 rows of K are 16 · 128 bytes of B
      tcgen05_mma_f16(address, at_address(tile::kDescriptor, shared_address(tile_a) + 2 * k),
                      at_address(kOperandB, shared_address(tile_b) + 128 * k), kInstruction, k > 0);
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 64);
}

void judge() {
  const auto a = exercise::bf16(kM * kK, 1), b = exercise::bf16(kN * kK, 2);
  exercise::Halves turned(kN * kK);
  for (uint32_t i = 0; i < turned.size(); ++i) turned[i % kK * kN + i / kK] = b[i];
  exercise::DeviceBuffer<uint16_t> da(a), db(turned);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::expect_floats("d", d.download(), exercise::product(a, b, kM, kN, kK), kN);
}
EXERCISE(judge);
