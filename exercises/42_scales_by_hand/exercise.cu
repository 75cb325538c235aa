// Scales into Tensor Memory
//
// D is 128 x 16, K is 128, and every 32 elements of a row share a scale: four scales a row. Put them where the tensor
// core reads them: into a chunk of 512 bytes of shared memory, from there by tcgen05.cp into four columns of Tensor
// Memory. Then issue four products, each with its own scales. In a chunk, scale j of row r lies in row r modulo 32 of
// 16 bytes, in the group of four bytes r / 32, at byte j.
#include <bit>
#include <cmath>

#include "chapters/tensor_kernel.cuh"
#include "common/layout/scaled_instruction_descriptor.h"
#include "common/ptx/tcgen05_cp.h"
#include "common/ptx/tcgen05_mma_scaled.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 16, kK = 128, kSteps = kK / 32;
constexpr uint32_t kScalesOfA = 32, kScalesOfB = 64;  // columns behind D that are free
constexpr uint32_t kInstruction = scaled_instruction_descriptor({.m = kM, .n = kN});
/// The tiles without a start address; the next 32 elements of K are 2 · rows · 16 bytes further.
template <uint32_t kRows>
constexpr uint64_t kOperand =
    smem_descriptor({.element = Element::e4m3, .swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});
/// A chunk of scales, as tcgen05.cp takes it.
constexpr uint64_t kChunk = smem_descriptor({.element = Element::e4m3, .swizzle = Swizzle::none, .stride = 128});

// scales_a: kM rows of four; scales_b: kN rows of four.
__global__ void product(const uint8_t* a, const uint8_t* b, const uint8_t* scales_a, const uint8_t* scales_b,
                        uint32_t* d) {
  __shared__ alignas(128) uint8_t tile_a[kM * kK], tile_b[kN * kK], chunk_a[512], chunk_b[512];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 128), row = threadIdx.x;
  for (uint32_t i = threadIdx.x; i < kM * kK; i += 128) tile_a[i % kK / 16 * kM * 16 + i / kK * 16 + i % 16] = a[i];
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 16 * kN * 16 + i / kK * 16 + i % 16] = b[i];
  for (uint32_t i = threadIdx.x; i < 512; i += 128) chunk_a[i] = chunk_b[i] = 0;
  __syncthreads();
  // Your lines here: thread `row` puts the scales of its row of A, and if row < kN of B, into the chunks.
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    // Your lines here: two copies, four products. tcgen05_cp<CpShape::r32x128b_warpx4>(to, descriptor);
    // tcgen05_mma_mxf8f6f4(d, a, b, with_scales(kInstruction, byte of A's scales, byte of B's), A's columns, B's, add).
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 128);
}

void judge() {
  // Elements are all 1 (0x38 in e4m3): D is the sum over k of 32 times both scales. 0x7f is 2^0 in ue8m0.
  std::vector<uint8_t> a(kM * kK, 0x38), b(kN * kK, 0x38), scales_a(kM * kSteps), scales_b(kN * kSteps);
  for (uint32_t i = 0; i < scales_a.size(); ++i) scales_a[i] = 0x7f - 3 + i * 5 % 7;
  for (uint32_t i = 0; i < scales_b.size(); ++i) scales_b[i] = 0x7f + i * 3 % 5;
  exercise::DeviceBuffer<uint8_t> da(a), db(b), sa(scales_a), sb(scales_b);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), sa.get(), sb.get(), d.get());
  exercise::finish();
  // D if the product of step k took the scales of step from(k), of row place(r) of A.
  const auto result = [&](auto from, auto place) {
    exercise::Words words(kM * kN);
    for (uint32_t i = 0; i < words.size(); ++i) {
      double sum = 0;
      for (uint32_t k = 0; k < kSteps; ++k)
        sum += std::ldexp(32.0, scales_a[place(i / kN) * 4 + from(k)] + scales_b[i % kN * 4 + from(k)] - 2 * 0x7f);
      words[i] = std::bit_cast<uint32_t>(float(sum));
    }
    return words;
  };
  const auto same = [](uint32_t i) { return i; };
  const auto got = d.download(), want = result(same, same);
  exercise::expect(
      got == want || got != result([](uint32_t) { return 0u; }, same),
      "all four products took the scales of the first 32 elements of K: the instruction descriptor says which "
      "byte of a cell holds the scale");
  exercise::expect_floats("d", got, want, kN);
}
EXERCISE(judge);
