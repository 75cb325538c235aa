// What lies where in Tensor Memory behind a block-scaled product: all 512 columns are marked before, and read out
// behind it.
#include <fmt/core.h>

#include <cmath>

#include "chapters/08_mma_block_scaled/parts.h"
#include "chapters/08_mma_block_scaled/run.cuh"

namespace {

using namespace gen5::harness;
using namespace scaled;

constexpr uint32_t kColumns = 512, kN = 64, kMark = 0xdeadbeef;
constexpr uint32_t kScalesOfA = 256, kScalesOfB = 272;  // columns; D is in 0 to kN − 1

// 128 threads. One product of ones, 128 × 64 over K = 32, kind mxf8f6f4; then thread t writes lane t's cells to
// cells[t].
__global__ void marked(const uint8_t* a_scales, const uint8_t* b_scales, uint32_t idesc, uint32_t* cells) {
  __shared__ alignas(1024) uint8_t tile_a[kM * kStepBytes], tile_b[kN * kStepBytes], chunks[2 * kScaleChunk];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), kColumns);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  for (uint32_t i = threadIdx.x; i < sizeof tile_a; i += blockDim.x) tile_a[i] = 0x38;  // 1 in e4m3
  for (uint32_t i = threadIdx.x; i < sizeof tile_b; i += blockDim.x) tile_b[i] = 0x38;
  for (uint32_t i = threadIdx.x; i < kScaleChunk; i += blockDim.x) {
    chunks[i] = a_scales[i];
    chunks[kScaleChunk + i] = b_scales[i];
  }
  fence_proxy_async_shared();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t address = slot, mine = address + (threadIdx.x / 32 << 21);
  uint32_t r[8];
  for (uint32_t& word : r) word = kMark;
  for (uint32_t column = 0; column < kColumns; column += 8) tcgen05_st_32x32b(mine + column, r);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x == 0) {
    tcgen05_cp<CpShape::r32x128b_warpx4>(address + kScalesOfA, at_address(kChunkSource, shared_address(chunks)));
    tcgen05_cp<CpShape::r32x128b_warpx4>(address + kScalesOfB,
                                         at_address(kChunkSource, shared_address(chunks) + kScaleChunk));
    tcgen05_mma_mxf8f6f4(address, plain(kM, shared_address(tile_a)), plain(kN, shared_address(tile_b)), idesc,
                         address + kScalesOfA, address + kScalesOfB, /*accumulate=*/false);
    tcgen05_commit(shared_address(&barrier));
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  for (uint32_t column = 0; column < kColumns; column += 8) {
    tcgen05_ld_32x32b(r, mine + column);
    tcgen05_wait_ld();
    for (uint32_t i = 0; i < 8; ++i) cells[threadIdx.x * kColumns + column + i] = r[i];
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(address, kColumns);
}

/// What 32 lanes of a column hold.
std::string held(const std::vector<uint32_t>& cells, uint32_t quarter, uint32_t column) {
  // Every scale of A is 2^1, of B 2^2: a sum of 32 ones is 256.
  const auto all = [&](uint32_t word) {
    for (uint32_t lane = quarter * 32; lane < quarter * 32 + 32; ++lane)
      if (cells[lane * kColumns + column] != word) return false;
    return true;
  };
  if (all(kMark)) return "untouched";
  if (all(std::bit_cast<uint32_t>(256.0f))) return "D";
  if (all(0x80808080)) return "scales of A";
  if (all(0x81818181)) return "scales of B";
  return "something else";
}

void part_columns(Report& r) {
  r.say(
      "Accumulators and scales share the 512 columns. The program marks every cell, then runs one product of 128 x 64, "
      "whose scales are in columns 256 and 272. The cells afterwards:");
  DeviceBuffer<uint8_t> a(std::vector<uint8_t>(kScaleChunk, 128)), b(std::vector<uint8_t>(kScaleChunk, 129));
  DeviceBuffer<uint32_t> out(kM * kColumns);
  marked<<<1, kM>>>(a.get(), b.get(), with_n(kMxf8, kN), out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto cells = out.download();
  Table t({"columns", "lanes 0-31", "lanes 32-63", "lanes 64-95", "lanes 96-127"});
  bool known = true, quarters = true;
  uint32_t used = 0;
  const auto row_of = [&](uint32_t column) {
    std::vector<std::string> row;
    for (uint32_t quarter = 0; quarter < 4; ++quarter) row.push_back(held(cells, quarter, column));
    return row;
  };
  for (uint32_t from = 0, to; from < kColumns; from = to) {
    auto row = row_of(from);
    for (to = from + 1; to < kColumns && row_of(to) == row; ++to) {
    }
    if (row[0] != "untouched") used += to - from;
    for (const auto& cell : row) {
      known &= cell != "something else";
      quarters &= cell == row[0];
    }
    row.insert(row.begin(), fmt::format("{}-{}", from, to - 1));
    t.row(row);
  }
  r.table(t);
  r.check("nothing else was written", known);
  r.check("each quarter has a copy of the scales", quarters && used == kN + 8);
}

}  // namespace

void add_columns(Chapter& chapter) { chapter.part("columns", "What lies in which columns", part_columns); }
