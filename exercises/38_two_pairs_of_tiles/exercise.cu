// Commit and waits
//
// Eight blocks of K go through two pairs of tiles in shared memory. The threads fill one pair while the tensor core
// reads the other. Write the loop and what follows it: when a pair may be filled again, the products, their commits,
// and the wait before D is read.
#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kN = 256, kBlocks = 8;
constexpr uint32_t kInstruction = instruction_descriptor({.m = kM, .n = kN});

struct Shared {
  uint16_t a[2][kM * tile::kDepth], b[2][kN * tile::kDepth];
  uint64_t read[2];  // each takes one arrival: the tensor core has read this pair
  uint32_t slot;
};

/// All threads fill a pair with block `block`. Behind it one thread may issue products that read the pair.
__device__ void fill(Shared& shared, uint32_t pair, const uint16_t* a, const uint16_t* b, uint32_t block) {
  const uint4 *from_a = reinterpret_cast<const uint4*>(a) + block * kM * 8,
              *from_b = reinterpret_cast<const uint4*>(b) + block * kN * 8;
  for (uint32_t i = threadIdx.x; i < (kM + kN) * 8; i += 128) {
    const uint32_t piece = i < kM * 8 ? i : i - kM * 8;
    const uint32_t to = shared_address(i < kM * 8 ? shared.a[pair] : shared.b[pair]) + piece * 16;
    const uint4 w = i < kM * 8 ? from_a[piece] : from_b[piece];
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(swizzled(Swizzle::b128, to)), "r"(w.x), "r"(w.y),
                 "r"(w.z), "r"(w.w)
                 : "memory");
  }
  tensor_kernel::ready();
}

/// One thread: D += A · B of a pair, or D = A · B.
__device__ void multiply(Shared& shared, uint32_t pair, uint32_t d, bool replace) {
  for (uint32_t k = 0; k < tile::kDepth; k += 16)
    tcgen05_mma_f16(d, at_address(tile::kDescriptor, shared_address(shared.a[pair]) + 2 * k),
                    at_address(tile::kDescriptor, shared_address(shared.b[pair]) + 2 * k), kInstruction,
                    !(replace && k == 0));
}

__global__ void __launch_bounds__(128) product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) mbarrier_init(shared_address(&shared.read[1]), 1);
  const uint32_t address = tensor_kernel::begin(&shared.slot, &shared.read[0], kN);
  // Your loop here, and the wait behind it: about ten lines.
  tcgen05_fence_after_thread_sync();
  tile::read_out<kN>(d, address);
  tensor_kernel::end(address, kN);
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
  GEN5_CUDA(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  product<<<1, 128, sizeof(Shared)>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::expect_floats("d", d.download(),
                          exercise::product(rows(a, kM), rows(b, kN), kM, kN, tile::kDepth * kBlocks), kN);
}
EXERCISE(judge);
