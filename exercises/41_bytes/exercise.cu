// Bytes, and the end of the range
//
// kind::i8 multiplies bytes and adds to 32-bit integers. A holds signed bytes and B unsigned ones, and a sum that
// leaves the range should saturate. The descriptor says unsigned for both, and its sums wrap around. Give the right
// types, and saturate.
#include <algorithm>

#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 16, kK = 32;
constexpr int32_t kStart = 2147470000;  // what D holds before: near the largest
constexpr uint32_t kInstruction = instruction_descriptor({.kind = Kind::i8,
                                                          .a = Element::u8,  // from here on
                                                          .b = Element::u8,
                                                          .d = Accumulator::s32,
                                                          .m = kM,
                                                          .n = kN});
template <uint32_t kRows>
constexpr uint64_t kOperand =
    smem_descriptor({.element = Element::u8, .swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});

__global__ void product(const uint8_t* a, const uint8_t* b, uint32_t* d) {
  __shared__ alignas(128) uint8_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += 128) tile_a[i % kK / 16 * kM * 16 + i / kK * 16 + i % 16] = a[i];
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 16 * kN * 16 + i / kK * 16 + i % 16] = b[i];
  uint32_t start[kN];
  for (uint32_t& word : start) word = kStart;
  tcgen05_st_32x32b(address + (threadIdx.x / 32 << 21), start);
  tcgen05_wait_st();
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_i8(address, at_address(kOperand<kM>, shared_address(tile_a)),
                   at_address(kOperand<kN>, shared_address(tile_b)), kInstruction, /*accumulate=*/true);
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 32);
}

void judge() {
  std::vector<uint8_t> a(kM * kK), b(kN * kK);
  for (uint32_t i = 0; i < a.size(); ++i) a[i] = uint8_t(i * 37 + i / 32 * 11);
  for (uint32_t i = 0; i < b.size(); ++i) b[i] = uint8_t(i * 29 + 3);
  exercise::DeviceBuffer<uint8_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::Words want(kM * kN);
  for (uint32_t m = 0; m < kM; ++m)
    for (uint32_t n = 0; n < kN; ++n) {
      int64_t sum = kStart;
      for (uint32_t k = 0; k < kK; ++k) sum += int64_t(int8_t(a[m * kK + k])) * b[n * kK + k];
      want[m * kN + n] = uint32_t(int32_t(std::min<int64_t>(sum, INT32_MAX)));
    }
  exercise::expect("d", d.download(), want, kN);
}
EXERCISE(judge);
