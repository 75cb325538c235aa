// An epilogue
//
// Four accumulators of 128 x 128 hold D, 100 x 512, in f32. Write what warps 2 to 5 do: each waits for an accumulator,
// reads its own 32 lanes of Tensor Memory, converts to bf16, and brings the rows to global memory. Use TMA or plain
// stores; the budget has no room for 32 lanes that each store to a row of its own. D has 100 rows, and the accumulator
// 128.
#include <cuda_bf16.h>

#include "exercises/gemm.cuh"

using namespace gemm;

constexpr uint32_t kRows = 100, kTiles = 4, kTileN = 128, kColumns = kTiles * kTileN;

struct Shared {
  uint8_t a[kTileM * kRowBytes], b[kTiles][kTileN * kRowBytes];
  uint8_t boxes[4][2][kBoxBytes];  // two of 4 KiB for each of the four warps, aligned to 1024
  uint64_t loaded, done[kTiles];
  uint32_t slot;
};

/// Two numbers as bf16: the first in the lower half.
__device__ uint32_t packed(uint32_t first, uint32_t second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(__uint_as_float(first), __uint_as_float(second));
  return *reinterpret_cast<const uint32_t*>(&pair);
}
/// 16 bytes to shared memory.
__device__ void store_shared(uint32_t address, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

// d: kRows x kColumns of bf16. maps.d describes it in boxes of 32 rows of 64 columns, 128-byte swizzle; TMA leaves out
// what is outside. done[t] takes one arrival: accumulator t, at columns 128 t of Tensor Memory, is complete.
__global__ void __launch_bounds__(192) epilogue(const __grid_constant__ Maps maps, uint16_t* d) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.loaded), 1);
    for (uint32_t t = 0; t < kTiles; ++t) mbarrier_init(shared_address(&shared.done[t]), 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulators = begin(&shared.slot, kColumns), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    if (elect_sync()) {
      const uint32_t loaded = shared_address(&shared.loaded);
      mbarrier_arrive_expect_tx(loaded, sizeof shared.a + sizeof shared.b);
      tensor_load_2d(shared_address(shared.a), &maps.a, 0, 0, loaded);
      for (uint32_t t = 0; t < kTiles; ++t) tensor_load_2d(shared_address(shared.b[t]), &maps.b, 0, t * kTileN, loaded);
      mbarrier_wait_parity(loaded, 0);
      for (uint32_t t = 0; t < kTiles; ++t) {
        multiply_block<kTileN>(accumulators + t * kTileN, shared_address(shared.a), shared_address(shared.b[t]), true);
        tcgen05_commit(shared_address(&shared.done[t]));
      }
    }
  } else if (warp >= 2) {
    // Your epilogue here, 15 to 25 lines.
  }
  __syncwarp();
  end(accumulators, kColumns);
}

void judge() {
  const auto a = exercise::bf16(kRows * kBlockK, 1), b = exercise::bf16(kColumns * kBlockK, 2);
  exercise::DeviceBuffer<uint16_t> da(a), db(b), d(kRows * kColumns);
  d.fill(0xff);
  const auto operand = [&](uint16_t* from, uint32_t rows) {
    return exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, rows, kBlockK, kBlockK, 128, kBlockK,
                                CU_TENSOR_MAP_SWIZZLE_128B);
  };
  Maps maps{};
  maps.a = operand(da.get(), kRows);
  maps.b = operand(db.get(), kColumns);
  maps.d = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, d.get(), kRows, kColumns, kColumns, 32, 64,
                                CU_TENSOR_MAP_SWIZZLE_128B);
  GEN5_CUDA(cudaFuncSetAttribute(epilogue, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  epilogue<<<1, 192, sizeof(Shared)>>>(maps, d.get());
  exercise::finish();
  const auto got = d.download();
  exercise::Halves want;
  for (uint32_t w : exercise::product(a, b, kRows, kColumns, kBlockK))
    want.push_back(uint16_t((w + 0x7fff + (w >> 16 & 1)) >> 16));  // to the nearest, ties to even
  exercise::Halves exchanged = want, cut;
  for (uint32_t i = 0; i < want.size(); ++i) exchanged[i] = want[i ^ 1];
  for (uint32_t w : exercise::product(a, b, kRows, kColumns, kBlockK)) cut.push_back(uint16_t(w >> 16));
  exercise::expect(got == want || got != exchanged,
                   "every two neighbours of a row are exchanged: the lower half of a word is the smaller column");
  exercise::expect(got == want || got != cut, "every number is cut instead of rounded: packed() rounds to the nearest");
  exercise::expect("d", got, want, kColumns);
}
EXERCISE(judge);
