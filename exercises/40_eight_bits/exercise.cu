// Eight bits
//
// kind::f8f6f4 multiplies any two of five small formats, and the instruction descriptor names them. A is e4m3 and B is
// e5m2, but the descriptor names e4m3 twice. Name the right formats.
#include <cstring>

#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 16, kK = 32;  // an instruction is 32 bytes deep in every kind
constexpr uint32_t kInstruction = instruction_descriptor(
    {.kind = Kind::f8f6f4, .a = Element::e4m3, .b = Element::e4m3, .m = kM, .n = kN});  // your formats
template <uint32_t kRows>
constexpr uint64_t kOperand =
    smem_descriptor({.element = Element::e4m3, .swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});

__global__ void product(const uint8_t* a, const uint8_t* b, uint32_t* d) {
  __shared__ alignas(128) uint8_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += 128) tile_a[i % kK / 16 * kM * 16 + i / kK * 16 + i % 16] = a[i];
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 16 * kN * 16 + i / kK * 16 + i % 16] = b[i];
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_f8f6f4(address, at_address(kOperand<kM>, shared_address(tile_a)),
                       at_address(kOperand<kN>, shared_address(tile_b)), kInstruction, false);
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 32);
}

void judge() {
  // 0.5, 1, 2 and -1 in both formats: every sum is exact.
  const float values[] = {0.5f, 1, 2, -1};
  const uint8_t e4m3[] = {0x30, 0x38, 0x40, 0xb8}, e5m2[] = {0x38, 0x3c, 0x40, 0xbc};
  std::vector<uint8_t> a(kM * kK), b(kN * kK);
  std::vector<float> wide_a(a.size()), wide_b(b.size());
  for (uint32_t i = 0; i < a.size(); ++i) a[i] = e4m3[i * 7 / 3 % 4], wide_a[i] = values[i * 7 / 3 % 4];
  for (uint32_t i = 0; i < b.size(); ++i) b[i] = e5m2[i * 5 / 2 % 4], wide_b[i] = values[i * 5 / 2 % 4];
  exercise::DeviceBuffer<uint8_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::Words want(kM * kN);
  for (uint32_t m = 0; m < kM; ++m)
    for (uint32_t n = 0; n < kN; ++n) {
      float sum = 0;
      for (uint32_t k = 0; k < kK; ++k) sum += wide_a[m * kK + k] * wide_b[n * kK + k];
      memcpy(&want[m * kN + n], &sum, sizeof sum);
    }
  exercise::expect_floats("d", d.download(), want, kN);
}
EXERCISE(judge);
