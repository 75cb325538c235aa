// One kernel, two ways to share the work between two consumer warpgroups.
//
// A cluster is two CTAs, one below the other in D: they share the tile of B. Each loads its own tile of A and half of
// the tile of B, which it multicasts to both, so every stage's barrier sees A, the own half of B and the peer's half.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>

#include "chapters/13_gemm/hopper/hopper.h"
#include "common/harness/stamps.h"
#include "common/layout/swizzle.h"
#include "common/ptx/barrier.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/stmatrix.h"
#include "common/ptx/wgmma.h"

namespace gemm::hopper {

using namespace gen5::ptx;
using gen5::harness::Moment;
using gen5::harness::Stamps;
namespace layout = gen5::layout;

constexpr uint32_t kBlockK = 64;  // elements: 128 bytes, one row of the 128-byte swizzle
constexpr uint32_t kRowBytes = 128;
constexpr uint32_t kClusterM = 2;   // CTAs of a cluster
constexpr uint32_t kThreads = 384;  // a producer warpgroup and two consumers
constexpr uint32_t kGroupM = 8;  // cluster tiles of M that are walked before the next column of tiles: they stay in L2

template <Variant V>
struct Shape;
template <>
struct Shape<Variant::cooperative> {
  static constexpr uint32_t kTileM = 128, kTileN = 256, kStages = 3;
  static constexpr uint32_t kConsumersPerTile = 2;
  static constexpr uint32_t kStoreN = 256;  // columns of D staged at a time by a warpgroup
};
template <>
struct Shape<Variant::ping_pong> {
  static constexpr uint32_t kTileM = 128, kTileN = 128, kStages = 6;
  static constexpr uint32_t kConsumersPerTile = 1;
  static constexpr uint32_t kStoreN = 128;
};

/// What a consumer warpgroup does of a tile.
template <Variant V>
struct Share {
  using S = Shape<V>;
  static constexpr uint32_t kRows = S::kTileM / S::kConsumersPerTile;  // 64 or 128
  static constexpr uint32_t kBands = kRows / 64;                       // wgmmas of 64 rows
  static constexpr uint32_t kStoreBytes = 64 * S::kStoreN * 2;         // one band's staging buffer
};

template <Variant V>
struct alignas(1024) Shared {
  uint8_t a[Shape<V>::kStages][Shape<V>::kTileM * kRowBytes];
  uint8_t b[Shape<V>::kStages][Shape<V>::kTileN * kRowBytes];
  uint8_t staging[2][Share<V>::kStoreBytes];
  uint64_t full[Shape<V>::kStages], empty[Shape<V>::kStages];
};

struct Arguments {
  CUtensorMap a_map, b_map, d_map;  // boxes: A kTileM × 64, B half of kTileN × 64, D 64 × 64
  uint32_t m, n, k;
  uint64_t* stamps;  // where a stamped kernel writes its timeline
};

/// Where a cluster's tile lies: its first row and column in D.
struct Tiles {
  uint32_t rows, columns;  // of cluster tiles
  __device__ uint32_t count() const { return rows * columns; }
  template <Variant V>
  __device__ void place(uint32_t index, uint32_t& m, uint32_t& n) const {
    const uint32_t per_group = kGroupM * columns, group = index / per_group, within = index % per_group;
    const uint32_t height = min(kGroupM, rows - group * kGroupM);
    m = (group * kGroupM + within % height) * Shape<V>::kTileM * kClusterM;
    n = within / height * Shape<V>::kTileN;
  }
};

/// Descriptor of a K-major operand as TMA leaves it, 128-byte swizzle: groups of 8 rows 1,024 bytes apart. Hopper's
/// descriptor has its swizzle code in bits 63:62 and nothing in 48:46 (PTX ISA 9.7.15.5.1).
__device__ inline uint64_t operand(uint32_t address) {
  return uint64_t((address & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

template <uint32_t Stages>
struct Place {
  uint32_t stage = 0, parity = 0;
  __device__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ void skip(uint32_t count) {
    const uint32_t to = stage + count;
    stage = to % Stages;
    parity ^= to / Stages & 1;
  }
};

/// The producer: one thread fills the ring, tile after tile.
template <Variant V, bool kStamped>
__device__ void produce(const Arguments& args, Shared<V>& shared, const Tiles& tiles, uint32_t rank) {
  using S = Shape<V>;
  constexpr uint32_t kBytes = (S::kTileM + S::kTileN) * kRowBytes;
  const uint32_t blocks = (args.k + kBlockK - 1) / kBlockK;
  Stamps<kStamped> asked(args.stamps, Moment::asked);
  Place<S::kStages> at;
  for (uint32_t t = blockIdx.x / kClusterM; t < tiles.count(); t += gridDim.x / kClusterM) {
    uint32_t m, n;
    tiles.place<V>(t, m, n);
    m += rank * S::kTileM;
    for (uint32_t block = 0; block < blocks; ++block) {
      const uint32_t full = shared_address(&shared.full[at.stage]);
      mbarrier_wait_parity(shared_address(&shared.empty[at.stage]), at.parity ^ 1);
      asked.take();
      mbarrier_arrive_expect_tx(full, kBytes);
      const int k = int(block * kBlockK);
      tensor_load_2d(shared_address(shared.a[at.stage]), &args.a_map, k, int(m), full);
      // This CTA's half of B lands in both CTAs at the same place.
      constexpr uint32_t kHalf = S::kTileN / kClusterM;
      tensor_load_2d_multicast(shared_address(shared.b[at.stage]) + rank * kHalf * kRowBytes, &args.b_map, k,
                               int(n + rank * kHalf), full, uint16_t((1 << kClusterM) - 1));
      at.advance();
    }
  }
}

/// The same operand `bytes` further: its start address is the descriptor's lowest field, in units of 16 bytes. One
/// addition instead of a descriptor packed anew, which costs the power that the tensor cores could have used.
__device__ inline uint64_t advanced(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

/// One block of K: for each band of 64 rows four wgmmas, each 32 bytes further along the swizzled rows.
template <Variant V, WgmmaType Type>
__device__ void multiply_block(float (&d)[Share<V>::kBands][Shape<V>::kTileN / 2], uint64_t a, uint64_t b, bool first) {
#pragma unroll
  for (uint32_t step = 0; step < kBlockK / 16; ++step)
#pragma unroll
    for (uint32_t band = 0; band < Share<V>::kBands; ++band)
      wgmma_m64k16<int(Shape<V>::kTileN), Type>(d[band], advanced(a, band * 64 * kRowBytes + step * 32),
                                                advanced(b, step * 32), !(first && step == 0));
}

/// One band's accumulators through shared memory to D. Staged kStoreN columns at a time; a store is waited for only
/// when its buffer is needed again, so it runs beside the next tile.
template <Variant V>
__device__ void store_band(const Arguments& args, uint32_t staging, const float (&d)[Shape<V>::kTileN / 2],
                           uint32_t row, uint32_t column, uint32_t barrier) {
  using S = Shape<V>;
  const uint32_t thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
#pragma unroll
  for (uint32_t c = 0; c < S::kTileN; c += S::kStoreN) {
    if (thread == 0) bulk_wait_group_read<0>();
    bar_sync(barrier, 128);
    const uint32_t in_band = warp * 16 + lane % 16;
#pragma unroll
    for (uint32_t j = 0; j < S::kStoreN / 8; j += 2) {
      uint32_t word[4];
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t r = (c / 8 + j) * 4 + 2 * i;
        const __nv_bfloat162 pair = __floats2bfloat162_rn(d[r], d[r + 1]);
        word[i] = *reinterpret_cast<const uint32_t*>(&pair);
      }
      const uint32_t chunk = j + lane / 16, box = chunk / 8;
      stmatrix_x4(staging + box * 64 * kRowBytes + in_band * kRowBytes + ((chunk % 8) ^ (in_band % 8)) * 16, word[0],
                  word[1], word[2], word[3]);
    }
    fence_proxy_async_shared();
    bar_sync(barrier, 128);
    if (thread == 0) {
#pragma unroll
      for (uint32_t box = 0; box < S::kStoreN / 64; ++box)
        tensor_store_2d(&args.d_map, int(column + c + box * 64), int(row), staging + box * 64 * kRowBytes);
      bulk_commit_group();
    }
  }
}

/// A consumer warpgroup: 0 or 1.
template <Variant V, WgmmaType Type, bool kStamped>
__device__ void consume(const Arguments& args, Shared<V>& shared, const Tiles& tiles, uint32_t rank, uint32_t group) {
  using S = Shape<V>;
  constexpr bool kAlternate = V == Variant::ping_pong;
  const uint32_t thread = threadIdx.x % 128;
  const uint32_t blocks = (args.k + kBlockK - 1) / kBlockK;
  const uint32_t clusters = gridDim.x / kClusterM;
  const uint32_t staging = shared_address(shared.staging[group]);
  const uint64_t a = operand(shared_address(shared.a[0]) + (kAlternate ? 0 : group * 64 * kRowBytes));
  const uint64_t b = operand(shared_address(shared.b[0]));
  // Every consumer of a stage tells both CTAs that it may be overwritten: the peer's multicast writes here as well.
  auto release = [&](uint32_t stage) {
    if (thread < kClusterM) mbarrier_arrive_remote(mapa(shared_address(&shared.empty[stage]), thread));
  };
  // Of two groups with one tile the first takes the stamps; with tiles of their own each leaves the other's out.
  const bool stamps = thread == 0 && (kAlternate || group == 0);
  Stamps<kStamped> landed(args.stamps, Moment::landed, stamps), done(args.stamps, Moment::done, stamps),
      ready(args.stamps, Moment::ready, stamps), stored(args.stamps, Moment::stored, stamps);
  const auto skip_tile = [&] {
    landed.skip(blocks);
    done.skip(blocks);
    ready.skip(1);
    stored.skip(1);
  };
  Place<S::kStages> at;
  uint32_t first = blockIdx.x / kClusterM;
  if (kAlternate && group == 1) {
    first += clusters;
    at.skip(blocks);  // the other group's tile comes first
    skip_tile();
  }
  for (uint32_t t = first; t < tiles.count(); t += kAlternate ? 2 * clusters : clusters) {
    uint32_t m, n;
    tiles.place<V>(t, m, n);
    m += rank * S::kTileM + (kAlternate ? 0 : group * 64);
    float d[Share<V>::kBands][S::kTileN / 2];
    if (kAlternate) bar_sync(4 + group, 256);  // my turn on the tensor core
    uint32_t previous = 0;
    for (uint32_t block = 0; block < blocks; ++block) {
      mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
      landed.take();
      wgmma_fence();
      multiply_block<V, Type>(d, advanced(a, at.stage * S::kTileM * kRowBytes),
                              advanced(b, at.stage * S::kTileN * kRowBytes), block == 0);
      wgmma_commit_group();
      // One block stays in flight; the one before it has been read.
      wgmma_wait_group<1>();
      if (block > 0) done.take();
      if (block > 0) release(previous);
      previous = at.stage;
      at.advance();
    }
    if (kAlternate) {
      bar_arrive(4 + (group ^ 1), 256);
      at.skip(blocks);
    }
    wgmma_wait_group<0>();
    done.take();
    release(previous);
    ready.take();
#pragma unroll
    for (uint32_t band = 0; band < Share<V>::kBands; ++band)
      store_band<V>(args, staging, d[band], m + band * 64, n, 2 + group);
    stored.take();
    if (kAlternate) skip_tile();
  }
  if (thread == 0) bulk_wait_group_read<0>();
}

template <Variant V, WgmmaType Type, bool kStamped>
__global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kClusterM, 1, 1)
    twin(const __grid_constant__ Arguments args) {
  using S = Shape<V>;
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared<V>*>(memory);
  // From lane 0, so that the compiler knows it to be the same in the whole warp and keeps what follows from it in
  // uniform registers, where wgmma's descriptors have to be.
  const uint32_t rank = cluster_ctarank(), warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  const Tiles tiles{(args.m + S::kTileM * kClusterM - 1) / (S::kTileM * kClusterM),
                    (args.n + S::kTileN - 1) / S::kTileN};
  if (threadIdx.x == 0) {
    prefetch_tensormap(&args.a_map);
    prefetch_tensormap(&args.b_map);
    prefetch_tensormap(&args.d_map);
    for (uint32_t i = 0; i < S::kStages; ++i) {
      mbarrier_init(shared_address(&shared.full[i]), 1);
      mbarrier_init(shared_address(&shared.empty[i]), S::kConsumersPerTile * kClusterM);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (warpgroup == 0) {
    setmaxnreg_dec<40>();
    if (threadIdx.x == 0) produce<V, kStamped>(args, shared, tiles, rank);
  } else {
    setmaxnreg_inc<232>();
    if (V == Variant::ping_pong && warpgroup == 2) bar_arrive(4, 256);  // the first turn is group 0's
    consume<V, Type, kStamped>(args, shared, tiles, rank, warpgroup - 1);
  }
  // The peer may still multicast into this CTA or arrive on its barriers.
  __syncthreads();
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

}  // namespace gemm::hopper
