// The wrappers of common/ptx/tcgen05_ld_st.h, compiled by nvcc: each load brings the cells of CuTe's table, each store
// is its inverse. First, middle and last repeat of every shape, plain and packed.
#include <gtest/gtest.h>

#include "common/harness/cuda_check.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "tests/tmem/cute_maps.h"

namespace {

using namespace gen5::ptx;
using gen5::harness::DeviceBuffer;
using tinygpu::test::cute_map;
using tinygpu::test::CuteMap;

enum Shape { k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };
constexpr const char* kNames[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
constexpr int kPerRepeat[] = {1, 1, 2, 4, 1};

__host__ __device__ constexpr uint32_t name_of(uint32_t lane, uint32_t column) { return lane << 9 | column; }

template <Shape kShape, bool kPack, int kRegisters>
__device__ void load(uint32_t (&r)[kRegisters], uint32_t address) {
  if constexpr (kShape == k32x32b) kPack ? tcgen05_ld_32x32b_pack16b(r, address) : tcgen05_ld_32x32b(r, address);
  if constexpr (kShape == k16x64b) kPack ? tcgen05_ld_16x64b_pack16b(r, address) : tcgen05_ld_16x64b(r, address);
  if constexpr (kShape == k16x128b) kPack ? tcgen05_ld_16x128b_pack16b(r, address) : tcgen05_ld_16x128b(r, address);
  if constexpr (kShape == k16x256b) kPack ? tcgen05_ld_16x256b_pack16b(r, address) : tcgen05_ld_16x256b(r, address);
  if constexpr (kShape == k16x32bx2)
    kPack ? tcgen05_ld_16x32bx2_pack16b<2 * kRegisters>(r, address) : tcgen05_ld_16x32bx2<kRegisters>(r, address);
}

template <Shape kShape, bool kPack, int kRegisters>
__device__ void store(uint32_t address, const uint32_t (&r)[kRegisters]) {
  if constexpr (kShape == k32x32b) kPack ? tcgen05_st_32x32b_unpack16b(address, r) : tcgen05_st_32x32b(address, r);
  if constexpr (kShape == k16x64b) kPack ? tcgen05_st_16x64b_unpack16b(address, r) : tcgen05_st_16x64b(address, r);
  if constexpr (kShape == k16x128b) kPack ? tcgen05_st_16x128b_unpack16b(address, r) : tcgen05_st_16x128b(address, r);
  if constexpr (kShape == k16x256b) kPack ? tcgen05_st_16x256b_unpack16b(address, r) : tcgen05_st_16x256b(address, r);
  if constexpr (kShape == k16x32bx2)
    kPack ? tcgen05_st_16x32bx2_unpack16b<2 * kRegisters>(address, r) : tcgen05_st_16x32bx2<kRegisters>(address, r);
}

// Fills all 512 columns, loads, clears what it loaded from, stores it back and reads 512 columns again.
template <Shape kShape, bool kPack, int kRegisters>
__global__ void there_and_back(uint32_t* loaded, uint32_t* after) {
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), 512);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t base = slot, mine = base + (threadIdx.x / 32 << 21);
  uint32_t v[32];
  for (uint32_t c = 0; c < 512; c += 32) {
    for (uint32_t i = 0; i < 32; ++i) v[i] = name_of(threadIdx.x, c + i);
    tcgen05_st_32x32b(mine + c, v);
  }
  tcgen05_wait_st();
  uint32_t r[kRegisters];
  load<kShape, kPack>(r, mine);
  tcgen05_wait_ld();
  for (int i = 0; i < kRegisters; ++i) loaded[threadIdx.x * kRegisters + i] = r[i];
  const uint32_t nothing[1] = {0};
  for (uint32_t c = 0; c < 512; ++c) tcgen05_st_32x32b(mine + c, nothing);
  tcgen05_wait_st();
  store<kShape, kPack>(mine, r);
  tcgen05_wait_st();
  for (uint32_t c = 0; c < 512; c += 32) {
    tcgen05_ld_32x32b(v, mine + c);
    tcgen05_wait_ld();
    for (uint32_t i = 0; i < 32; ++i) after[threadIdx.x * 512 + c + i] = v[i];
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(base, 512);
}

template <Shape kShape, bool kPack, int kNum>
void test_form() {
  constexpr int kRegisters = kNum * kPerRepeat[kShape];
  const CuteMap m = cute_map(kNames[kShape], kNum, kPack);
  DeviceBuffer<uint32_t> loaded(128 * kRegisters), after(128 * 512);
  there_and_back<kShape, kPack, kRegisters><<<1, 128>>>(loaded.get(), after.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto got = loaded.download(), cells = after.download();
  std::vector<uint32_t> want(128 * 512);
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t i = 0; i < uint32_t(kRegisters); ++i) {
      const auto c = m.cell(t % 32, i);
      const uint32_t lane = t / 32 * 32 + c.lane,
                     column = c.column + (m.split() && t % 32 >= 16 ? m.table_offset() : 0);
      uint32_t word = name_of(lane, column);
      want[lane * 512 + column] = word;
      if (kPack) {
        word |= name_of(lane, column + 1) << 16;
        want[lane * 512 + column + 1] = name_of(lane, column + 1);
      }
      ASSERT_EQ(got[t * kRegisters + i], word) << m.suffix() << " thread " << t << " register " << i;
    }
  ASSERT_EQ(cells, want) << m.suffix();
}

template <Shape kShape, int kLast>
void test_shape() {
  test_form<kShape, false, 1>();
  test_form<kShape, true, 1>();
  test_form<kShape, false, 4>();
  test_form<kShape, true, 4>();
  test_form<kShape, false, kLast>();
  test_form<kShape, true, kLast>();
}

TEST(Wrappers, Rows32x32b) { test_shape<k32x32b, 128>(); }
TEST(Wrappers, Half16x64b) { test_shape<k16x64b, 128>(); }
TEST(Wrappers, Half16x128b) { test_shape<k16x128b, 64>(); }
TEST(Wrappers, Fragment16x256b) { test_shape<k16x256b, 32>(); }
TEST(Wrappers, Split16x32bx2) { test_shape<k16x32bx2, 128>(); }

}  // namespace
