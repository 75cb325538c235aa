// Where scales lie
//
// A block-scaled product has one scale for 32 elements of each row. The scales of 128 rows go to Tensor Memory as 32
// rows of 16 bytes. The scale of row r lies in row r modulo 32, in the group of four bytes with number r / 32; the
// first byte of the group belongs to the first 32 elements of K. The kernel stores the scales one behind the other. Put
// each in its place.
#include "chapters/tensor_kernel.cuh"
#include "common/layout/scaled_instruction_descriptor.h"
#include "common/ptx/tcgen05_cp.h"
#include "common/ptx/tcgen05_mma_scaled.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 16, kK = 32, kScalesOfA = 32, kScalesOfB = 64;
constexpr uint32_t kInstruction = scaled_instruction_descriptor({.m = kM, .n = kN});
template <uint32_t kRows>
constexpr uint64_t kOperand =
    smem_descriptor({.element = Element::e4m3, .swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});

/// Where the scale of `row` is in its 512 bytes.
__device__ uint32_t place_of_scale(uint32_t row) {
  return row;  // your expression
}

__global__ void product(const uint8_t* a, const uint8_t* b, const uint8_t* scales_a, const uint8_t* scales_b,
                        uint32_t* d) {
  __shared__ alignas(128) uint8_t tile_a[kM * kK], tile_b[kN * kK], chunk_a[512], chunk_b[512];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 128);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += 128) tile_a[i % kK / 16 * kM * 16 + i / kK * 16 + i % 16] = a[i];
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 16 * kN * 16 + i / kK * 16 + i % 16] = b[i];
  for (uint32_t i = threadIdx.x; i < 512; i += 128) chunk_a[i] = chunk_b[i] = 0;
  __syncthreads();
  chunk_a[place_of_scale(threadIdx.x)] = scales_a[threadIdx.x];
  if (threadIdx.x < kN) chunk_b[place_of_scale(threadIdx.x)] = scales_b[threadIdx.x];
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    constexpr uint64_t kChunk = smem_descriptor({.element = Element::e4m3, .swizzle = Swizzle::none, .stride = 128});
    tcgen05_cp<CpShape::r32x128b_warpx4>(address + kScalesOfA, at_address(kChunk, shared_address(chunk_a)));
    tcgen05_cp<CpShape::r32x128b_warpx4>(address + kScalesOfB, at_address(kChunk, shared_address(chunk_b)));
    tcgen05_mma_mxf8f6f4(address, at_address(kOperand<kM>, shared_address(tile_a)),
                         at_address(kOperand<kN>, shared_address(tile_b)), kInstruction, address + kScalesOfA,
                         address + kScalesOfB, false);
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 128);
}

void judge() {
  // Elements are all 1 (0x38 in e4m3), so D is 32 times both scales; 0x7f is 2^0 in ue8m0.
  std::vector<uint8_t> a(kM * kK, 0x38), b(kN * kK, 0x38), scales_a(kM), scales_b(kN);
  for (uint32_t i = 0; i < kM; ++i) scales_a[i] = 0x7f - 10 + i % 21;
  for (uint32_t i = 0; i < kN; ++i) scales_b[i] = 0x7f + i % 5;
  exercise::DeviceBuffer<uint8_t> da(a), db(b), sa(scales_a), sb(scales_b);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), sa.get(), sb.get(), d.get());
  exercise::finish();
  exercise::Words want(kM * kN);
  for (uint32_t i = 0; i < want.size(); ++i)  // 2^(5 + both exponents), as bits
    want[i] = uint32_t(127 + 5 + scales_a[i / kN] - 0x7f + scales_b[i % kN] - 0x7f) << 23;
  exercise::expect_floats("d", d.download(), want, kN);
}
EXERCISE(judge);
