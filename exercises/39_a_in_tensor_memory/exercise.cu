// A in Tensor Memory
//
// A may lie in Tensor Memory instead of shared memory: lane m is row m, and each cell holds two neighbours along K, the
// one with the smaller k in its lower half. The kernel packs them in the other order. Pack them right.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 16, kK = 16, kColumnOfA = 16;
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN});
constexpr uint64_t kOperandB = smem_descriptor({.swizzle = Swizzle::none, .leading = kN * 16, .stride = 128});

__global__ void product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  uint32_t row[kK / 2];
  for (uint32_t i = 0; i < kK / 2; ++i) {
    const uint32_t even = a[threadIdx.x * kK + 2 * i], odd = a[threadIdx.x * kK + 2 * i + 1];
    row[i] = even << 16 | odd;  // your expression
  }
  tcgen05_st_32x32b(address + kColumnOfA + (threadIdx.x / 32 << 21), row);
  tcgen05_wait_st();
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 8 * kN * 8 + i / kK * 8 + i % 8] = b[i];
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_f16_tmem(address, address + kColumnOfA, at_address(kOperandB, shared_address(tile_b)), kInstruction,
                         false);
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
