// Which two of four?
//
// A sparse A keeps two of every four neighbours along K. Four bits of metadata say which: bits 1:0 give the place of
// the first stored element, bits 3:2 that of the second. The kernel has the two places of each group. Compute the code
// from them.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma_sparse.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

// K counts what A would hold if it were dense: it stores 16 elements of a row, in 8 groups.
constexpr uint32_t kM = 128, kN = 16, kK = 32, kStored = 16, kGroups = 8;
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN}) | kSparseInstruction;
template <uint32_t kRows>
constexpr uint64_t kOperand = smem_descriptor({.swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});

__device__ uint32_t code(uint32_t first, uint32_t second) {
  return first << 2 | second;  // your code
}

// places[row][group][2]: where in the group the two stored elements belong, in ascending order.
__global__ void product(const uint16_t* a, const uint16_t* b, const uint8_t* places, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_a[kM * kStored], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 64), metadata = address + 32;
  for (uint32_t i = threadIdx.x; i < kM * kStored; i += 128)
    tile_a[i % kStored / 8 * kM * 8 + i / kStored * 8 + i % 8] = a[i];
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 8 * kN * 8 + i / kK * 8 + i % 8] = b[i];
  // A lane's cell has the codes of four groups of two rows, which are 8 apart (notes/09_mma_sparse.md).
  const uint32_t lane = threadIdx.x, row = lane / 16 * 16 + lane % 8, group = lane % 16 / 8 * 4;
  uint32_t cell[2] = {0, 0};  // the second column is for another step along K
  for (uint32_t half = 0; half < 2; ++half)
    for (uint32_t g = 0; g < 4; ++g) {
      const uint8_t* two = places + ((row + 8 * half) * kGroups + group + g) * 2;
      cell[0] |= code(two[0], two[1]) << (16 * half + 4 * g);
    }
  tcgen05_st_32x32b(metadata + (threadIdx.x / 32 << 21), cell);
  tcgen05_wait_st();
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_sp_f16(address, at_address(kOperand<kM>, shared_address(tile_a)),
                       at_address(kOperand<kN>, shared_address(tile_b)), metadata, kInstruction, false);
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 64);
}

void judge() {
  // bf16 1 to 8, so that every sum is exact.
  const auto bf16 = [](uint32_t value) { return uint16_t(__builtin_bit_cast(uint32_t, float(value)) >> 16); };
  std::vector<uint16_t> a(kM * kStored), b(kN * kK);
  for (uint32_t i = 0; i < a.size(); ++i) a[i] = bf16(1 + i * 5 % 8);
  for (uint32_t i = 0; i < b.size(); ++i) b[i] = bf16(1 + i * 3 % 7);
  const uint8_t pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  std::vector<uint8_t> places(kM * kGroups * 2);
  for (uint32_t i = 0; i < kM * kGroups; ++i)
    for (uint32_t e = 0; e < 2; ++e) places[2 * i + e] = pairs[i * 7 % 6][e];
  exercise::DeviceBuffer<uint16_t> da(a), db(b);
  exercise::DeviceBuffer<uint8_t> where(places);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), where.get(), d.get());
  exercise::finish();
  exercise::Words want(kM * kN);
  for (uint32_t m = 0; m < kM; ++m)
    for (uint32_t n = 0; n < kN; ++n) {
      float sum = 0;
      for (uint32_t s = 0; s < kStored; ++s) {
        const uint32_t k = s / 2 * 4 + places[(m * kGroups + s / 2) * 2 + s % 2];
        sum += float(1 + (m * kStored + s) * 5 % 8) * float(1 + (n * kK + k) * 3 % 7);
      }
      want[m * kN + n] = __builtin_bit_cast(uint32_t, sum);
    }
  exercise::expect_floats("d", d.download(), want, kN);
}
EXERCISE(judge);
