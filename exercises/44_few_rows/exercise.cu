// Few rows, all lanes
//
// A weight-stationary product of 32 rows folds D: its 64 columns are cut into four parts of 16, which lie in the four
// quarters of the lanes. Each of 128 threads reads its lane's 16 words, and stores them as if there were 128 rows.
// Store each word in its place in D, 32 rows of 64.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma_ws.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 32, kN = 64, kK = 16, kPart = kN * kM / 128;  // columns of a part
// D f32, A and B bf16, and the shape: .ws has an M of 32, which the other products lack.
constexpr uint32_t kInstruction = 1u << 4 | 1u << 7 | 1u << 10 | (kN >> 3) << 17 | (kM >> 4) << 24;
template <uint32_t kRows>
constexpr uint64_t kOperand = smem_descriptor({.swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});

__global__ void product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, kN);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += 128) tile_a[i % kK / 8 * kM * 8 + i / kK * 8 + i % 8] = a[i];
  for (uint32_t i = threadIdx.x; i < kN * kK; i += 128) tile_b[i % kK / 8 * kN * 8 + i / kK * 8 + i % 8] = b[i];
  tensor_kernel::ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_ws_f16<0, Collect::discard>(address, at_address(kOperand<kM>, shared_address(tile_a)),
                                            at_address(kOperand<kN>, shared_address(tile_b)), kInstruction, false, 0);
    tcgen05_commit(shared_address(&barrier));
  }
  tensor_kernel::wait(&barrier);
  uint32_t r[kPart];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  const uint32_t lane = threadIdx.x;
  for (uint32_t i = 0; i < kPart; ++i) d[lane * kPart + i] = r[i];  // your place
  tensor_kernel::end(address, kN);
}

void judge() {
  const auto a = exercise::bf16(kM * kK, 5), b = exercise::bf16(kN * kK, 6);
  exercise::DeviceBuffer<uint16_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(kM * kN);
  product<<<1, 128>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::expect_floats("d", d.download(), exercise::product(a, b, kM, kN, kK), kN);
}
EXERCISE(judge);
