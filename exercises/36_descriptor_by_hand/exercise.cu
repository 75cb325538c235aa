// A descriptor by hand
//
// A matrix descriptor says in 64 bits where an operand lies. Write two of them from the table below. `plain`: core
// matrices as in the exercise before, `rows` rows of 16 bytes of K. `swizzled`: rows of 128 bytes with the 128-byte
// swizzle, groups of eight rows behind each other. Do not call common/layout.
//
//   bits 13:0    start address / 16         bits 45:32   stride / 16: to the next eight rows
//   bits 29:16   leading / 16               bits 48:46   always 0b001
//                (no swizzle: to the        bits 63:61   0: no swizzle, 2: 128 bytes,
//                next 16 bytes of K)                     4: 64 bytes, 6: 32 bytes
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;

constexpr uint32_t kM = 128, kN = 16;
constexpr uint32_t kInstruction = gen5::layout::instruction_descriptor({.m = kM, .n = kN});

/// Core matrices: 8 rows of 16 bytes are 128 contiguous bytes, the next eight rows come behind them.
__device__ uint64_t plain(uint32_t address, uint32_t rows) {
  return 0;  // your lines
}
/// Rows of 128 bytes, eight of them are 1024 contiguous bytes.
__device__ uint64_t swizzled(uint32_t address) {
  return 0;  // your lines
}

template <bool Swizzled>
__global__ void product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  constexpr uint32_t kK = Swizzled ? tile::kDepth : 16;
  __shared__ alignas(1024) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  if (Swizzled) {
    tile::fill(tile_a, a, kM);
    tile::fill(tile_b, b, kN);
  } else {
    for (uint32_t i = threadIdx.x; i < kM * kK; i += 128) tile_a[i % kK / 8 * kM * 8 + i / kK * 8 + i % 8] = a[i];
    for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 8 * kN * 8 + i / kK * 8 + i % 8] = b[i];
  }
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    for (uint32_t k = 0; k < kK; k += 16) {
      const uint32_t at_a = shared_address(tile_a) + 2 * k, at_b = shared_address(tile_b) + 2 * k;
      tcgen05_mma_f16(address, Swizzled ? swizzled(at_a) : plain(at_a, kM), Swizzled ? swizzled(at_b) : plain(at_b, kN),
                      kInstruction, k > 0);
    }
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, 32);
}

template <bool Swizzled>
void judge_one(const char* name) {
  constexpr uint32_t kK = Swizzled ? tile::kDepth : 16;
  const auto a = exercise::bf16(kM * kK, 1), b = exercise::bf16(kN * kK, 2);
  exercise::DeviceBuffer<uint16_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<Swizzled><<<1, 128>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::expect_floats(name, d.download(), exercise::product(a, b, kM, kN, kK), kN);
}

void judge() {
  judge_one<false>("d of the plain tiles");
  judge_one<true>("d of the swizzled tiles");
}
EXERCISE(judge);
