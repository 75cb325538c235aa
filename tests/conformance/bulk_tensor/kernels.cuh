// Device side of the bulk-copy conformance suite (sm_90a). Each kernel fills shared memory, issues one operation, lets
// it finish and leaves shared memory and the mbarrier's last word in `out`.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <type_traits>

namespace conformance {

struct Issue {
  int variant = 0;
  int at[5] = {0, 0, 0, 0, 0};
  uint16_t offset[3] = {0, 0, 0};
  uint32_t box = 0;     // offset of the box in the shared region
  uint32_t bytes = 0;   // linear copies
  uint32_t region = 0;  // bytes of shared memory
  uint32_t seed = 0;
};

__device__ inline uint32_t pattern(uint32_t i, uint32_t seed) {
  uint32_t x = i * 2654435761u + seed * 40503u + 12345u;
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ x >> 13;
}

__device__ inline uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ inline void sleep_ns(uint64_t ns) {
  uint64_t start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
}

__device__ inline void fill_shared(uint8_t* shared, uint32_t bytes, bool constant, uint32_t seed) {
  for (uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(shared)[i] = constant ? 0xeeeeeeeeu : pattern(i, seed);
}

__device__ inline void dump_shared(const uint8_t* shared, uint32_t bytes, uint32_t* out) {
  for (uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = reinterpret_cast<const uint32_t*>(shared)[i];
}

constexpr uint32_t kExpected = 1048575;

__device__ inline void barrier_begin(uint32_t bar) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}
__device__ inline void barrier_expect(uint32_t bar) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], %1;" ::"r"(bar), "r"(kExpected) : "memory");
}
/// Ends the object and returns its last word.
__device__ inline uint64_t barrier_end(uint32_t bar, const uint64_t* object) {
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(bar) : "memory");
  return *reinterpret_cast<const volatile uint64_t*>(object);
}
__device__ inline void store_end() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

#define C1 "{%3}"
#define C2 "{%3, %4}"
#define C3 "{%3, %4, %5}"
#define C4 "{%3, %4, %5, %6}"
#define C5 "{%3, %4, %5, %6, %7}"
#define COORDINATES "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4])
#define LOAD(D, C)                                                                                                   \
  asm volatile("cp.async.bulk.tensor." #D "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " C \
               "], [%2];" ::"r"(box),                                                                                \
               "l"(map), "r"(bar), COORDINATES                                                                       \
               : "memory")
#define IM2COL(D, C, O)                                                                                                \
  asm volatile("cp.async.bulk.tensor." #D "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, " C \
               "], [%2], " O ";" ::"r"(box),                                                                           \
               "l"(map), "r"(bar), COORDINATES, "h"(p.offset[0]), "h"(p.offset[1]), "h"(p.offset[2])                   \
               : "memory")
#define STORE(D, C, MODE)                                                                                           \
  asm volatile("cp.async.bulk.tensor." #D "d.global.shared::cta." MODE ".bulk_group [%1, " C "], [%0];" ::"r"(box), \
               "l"(map), "r"(bar), COORDINATES                                                                      \
               : "memory")
#define REDUCE(D, C, OP)                                                                               \
  asm volatile("cp.reduce.async.bulk.tensor." #D "d.global.shared::cta." OP ".tile.bulk_group [%1, " C \
               "], [%0];" ::"r"(box),                                                                  \
               "l"(map), "r"(bar), COORDINATES                                                         \
               : "memory")
#define REDUCES(OP)                    \
  switch (rank) {                      \
    case 1: REDUCE(1, C1, OP); break;  \
    case 2: REDUCE(2, C2, OP); break;  \
    case 3: REDUCE(3, C3, OP); break;  \
    case 4: REDUCE(4, C4, OP); break;  \
    default: REDUCE(5, C5, OP); break; \
  }

/// variant = copy * 100 + operation * 10 + rank.
__device__ inline void issue_tensor(const Issue& p, uint32_t box, const void* map, uint32_t bar) {
  const int copy = p.variant / 100, operation = p.variant / 10 % 10, rank = p.variant % 10;
  switch (copy) {
    case 0:
      switch (rank) {
        case 1: LOAD(1, C1); break;
        case 2: LOAD(2, C2); break;
        case 3: LOAD(3, C3); break;
        case 4: LOAD(4, C4); break;
        default: LOAD(5, C5); break;
      }
      break;
    case 1:
      switch (rank) {
        case 1: STORE(1, C1, "tile"); break;
        case 2: STORE(2, C2, "tile"); break;
        case 3: STORE(3, C3, "tile"); break;
        case 4: STORE(4, C4, "tile"); break;
        default: STORE(5, C5, "tile"); break;
      }
      break;
    case 2:
      switch (operation) {
        case 0: REDUCES("add"); break;
        case 1: REDUCES("min"); break;
        case 2: REDUCES("max"); break;
        case 3: REDUCES("inc"); break;
        case 4: REDUCES("dec"); break;
        case 5: REDUCES("and"); break;
        case 6: REDUCES("or"); break;
        default: REDUCES("xor"); break;
      }
      break;
    case 3:
      switch (rank) {
        case 3: IM2COL(3, C3, "{%8}"); break;
        case 4: IM2COL(4, C4, "{%8, %9}"); break;
        default: IM2COL(5, C5, "{%8, %9, %10}"); break;
      }
      break;
    default:
      switch (rank) {
        case 3: STORE(3, C3, "im2col_no_offs"); break;
        case 4: STORE(4, C4, "im2col_no_offs"); break;
        default: STORE(5, C5, "im2col_no_offs"); break;
      }
  }
}

__global__ void tensor_kernel(const __grid_constant__ CUtensorMap map, Issue p, const void* other_map, uint32_t* out,
                              uint64_t* word) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t object;
  const int copy = p.variant / 100;
  const bool load = copy == 0 || copy == 3;
  fill_shared(buffer, p.region, load, p.seed);
  const uint32_t bar = shared_address(&object);
  if (threadIdx.x == 0) barrier_begin(bar);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    barrier_expect(bar);
    issue_tensor(p, shared_address(buffer) + p.box, other_map ? other_map : &map, bar);
    if (load)
      sleep_ns(15000);
    else
      store_end();
    *word = barrier_end(bar, &object);
  }
  __syncthreads();
  dump_shared(buffer, p.region, out);
}

// ---- Linear copies

#define BULK_REDUCE(OP)                                                                                                \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." OP " [%0], [%1], %2;" ::"l"(global), "r"(shared), \
               "r"(bytes)                                                                                              \
               : "memory")
#define CLUSTER_REDUCE(OP)                                                                         \
  asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." OP \
               " [%0], [%1], %2, [%3];" ::"r"(to),                                                 \
               "r"(shared), "r"(bytes), "r"(bar)                                                   \
               : "memory")

constexpr int kGlobalReductions = 29, kClusterReductions = 12;

__device__ inline void issue_global_reduction(int which, void* global, uint32_t shared, uint32_t bytes) {
  switch (which) {
    case 0: BULK_REDUCE("and.b32"); break;
    case 1: BULK_REDUCE("and.b64"); break;
    case 2: BULK_REDUCE("or.b32"); break;
    case 3: BULK_REDUCE("or.b64"); break;
    case 4: BULK_REDUCE("xor.b32"); break;
    case 5: BULK_REDUCE("xor.b64"); break;
    case 6: BULK_REDUCE("add.u32"); break;
    case 7: BULK_REDUCE("add.s32"); break;
    case 8: BULK_REDUCE("add.u64"); break;
    case 9: BULK_REDUCE("add.f32"); break;
    case 10: BULK_REDUCE("add.f64"); break;
    case 11: BULK_REDUCE("add.noftz.f16"); break;
    case 12: BULK_REDUCE("add.noftz.bf16"); break;
    case 13: BULK_REDUCE("inc.u32"); break;
    case 14: BULK_REDUCE("dec.u32"); break;
    case 15: BULK_REDUCE("min.f16"); break;
    case 16: BULK_REDUCE("min.bf16"); break;
    case 17: BULK_REDUCE("min.u32"); break;
    case 18: BULK_REDUCE("min.s32"); break;
    case 19: BULK_REDUCE("min.u64"); break;
    case 20: BULK_REDUCE("min.s64"); break;
    case 21: BULK_REDUCE("max.f16"); break;
    case 22: BULK_REDUCE("max.bf16"); break;
    case 23: BULK_REDUCE("max.u32"); break;
    case 24: BULK_REDUCE("max.s32"); break;
    case 25: BULK_REDUCE("max.u64"); break;
    case 26: BULK_REDUCE("max.s64"); break;
    case 27: BULK_REDUCE("add.u32"); break;
    default: BULK_REDUCE("add.f32"); break;
  }
}

__device__ inline void issue_cluster_reduction(int which, uint32_t to, uint32_t shared, uint32_t bytes, uint32_t bar) {
  switch (which) {
    case 0: CLUSTER_REDUCE("and.b32"); break;
    case 1: CLUSTER_REDUCE("or.b32"); break;
    case 2: CLUSTER_REDUCE("xor.b32"); break;
    case 3: CLUSTER_REDUCE("add.u32"); break;
    case 4: CLUSTER_REDUCE("add.s32"); break;
    case 5: CLUSTER_REDUCE("add.u64"); break;
    case 6: CLUSTER_REDUCE("inc.u32"); break;
    case 7: CLUSTER_REDUCE("dec.u32"); break;
    case 8: CLUSTER_REDUCE("min.u32"); break;
    case 9: CLUSTER_REDUCE("min.s32"); break;
    case 10: CLUSTER_REDUCE("max.u32"); break;
    default: CLUSTER_REDUCE("max.s32"); break;
  }
}

#define RED_ASYNC(OP, VALUE)                                                                \
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." OP \
               " [%0], %1, [%2];" ::"r"(to),                                                \
               VALUE, "r"(bar)                                                              \
               : "memory")

__device__ inline void issue_remote_store(int which, uint32_t to, uint32_t bar, uint32_t seed) {
  const uint32_t a = pattern(1, seed), b = pattern(2, seed), c = pattern(3, seed), d = pattern(4, seed);
  const uint64_t wide = uint64_t(a) << 32 | b, wide2 = uint64_t(c) << 32 | d;
  switch (which) {
    case 0:
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to), "r"(a),
                   "r"(bar)
                   : "memory");
      break;
    case 1:
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to),
                   "l"(wide), "r"(bar)
                   : "memory");
      break;
    case 2:
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(to),
                   "r"(a), "r"(b), "r"(bar)
                   : "memory");
      break;
    case 3:
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];" ::"r"(to),
                   "l"(wide), "l"(wide2), "r"(bar)
                   : "memory");
      break;
    case 4:
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
          "r"(a), "r"(b), "r"(c), "r"(d), "r"(bar)
          : "memory");
      break;
    case 5: RED_ASYNC("inc.u32", "r"(a)); break;
    case 6: RED_ASYNC("dec.u32", "r"(a)); break;
    case 7: RED_ASYNC("min.u32", "r"(a)); break;
    case 8: RED_ASYNC("min.s32", "r"(a)); break;
    case 9: RED_ASYNC("max.u32", "r"(a)); break;
    case 10: RED_ASYNC("max.s32", "r"(a)); break;
    case 11: RED_ASYNC("and.b32", "r"(a)); break;
    case 12: RED_ASYNC("or.b32", "r"(a)); break;
    case 13: RED_ASYNC("xor.b32", "r"(a)); break;
    case 14: RED_ASYNC("add.u32", "r"(a)); break;
    case 15: RED_ASYNC("add.s32", "r"(a)); break;
    default: RED_ASYNC("add.u64", "l"(wide)); break;
  }
}
constexpr int kRemoteStores = 17;

/// variant: 0 load, 1 store, 100 + n reduction to global memory. One CTA.
__global__ void bulk_kernel(Issue p, uint8_t* global, uint32_t* out, uint64_t* word) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t object;
  fill_shared(buffer, p.region, p.variant == 0, p.seed);
  const uint32_t bar = shared_address(&object), shared = shared_address(buffer) + p.box;
  if (threadIdx.x == 0) barrier_begin(bar);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    barrier_expect(bar);
    if (p.variant == 0) {
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
          "l"(global), "r"(p.bytes), "r"(bar)
          : "memory");
      sleep_ns(15000);
    } else if (p.variant == 1) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared),
                   "r"(p.bytes)
                   : "memory");
      store_end();
    } else {
      issue_global_reduction(p.variant - 100, global, shared, p.bytes);
      store_end();
    }
    *word = barrier_end(bar, &object);
  }
  __syncthreads();
  dump_shared(buffer, p.region, out);
}

__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Rank 0 issues, into rank at[0] of the cluster (multicast: into the CTAs of mask at[1]). variant: 0 copy, 1 linear
/// multicast, 2 tensor multicast, 100 + n reduction, 200 + n st.async or red.async. Every CTA dumps its shared memory.
__global__ void cluster_kernel(const __grid_constant__ CUtensorMap map, Issue p, const uint8_t* global, uint32_t* out,
                               uint64_t* word) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t object;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  fill_shared(buffer, p.region, false, p.seed + rank);
  const uint32_t bar = shared_address(&object);
  if (threadIdx.x == 0) {
    barrier_begin(bar);
    barrier_expect(bar);
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  cluster_sync();
  if (rank == 0 && threadIdx.x == 0) {
    uint32_t to, remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(buffer) + p.box), "r"(p.at[0]));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(bar), "r"(p.at[0]));
    const uint32_t shared = shared_address(buffer) + p.offset[0] * 16;
    const uint16_t mask = uint16_t(p.at[1]);
    if (p.variant == 0)
      asm volatile(
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
          "r"(shared), "r"(p.bytes), "r"(remote)
          : "memory");
    else if (p.variant == 1)
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
          "%4;" ::"r"(shared_address(buffer) + p.box),
          "l"(global), "r"(p.bytes), "r"(bar), "h"(mask)
          : "memory");
    else if (p.variant == 2)
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
          "[%1, {%4, %5}], [%2], %3;" ::"r"(shared_address(buffer) + p.box),
          "l"(&map), "r"(bar), "h"(mask), "r"(p.at[2]), "r"(p.at[3])
          : "memory");
    else if (p.variant < 200)
      issue_cluster_reduction(p.variant - 100, to, shared, p.bytes, remote);
    else
      issue_remote_store(p.variant - 200, to, remote, p.seed);
  }
  if (threadIdx.x == 0) sleep_ns(15000);
  __syncthreads();
  cluster_sync();
  if (threadIdx.x == 0) word[rank] = barrier_end(bar, &object);
  dump_shared(buffer, p.region, out + rank * (p.region / 4));
}

// ---- Distributed shared memory

/// Addresses and plain accesses: what mapa, getctarank, ld, st and atom give for every pair of ranks.
__global__ void dsmem_kernel(uint32_t seed, uint32_t* out) {
  __shared__ uint32_t cells[64];
  uint32_t rank, ranks;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
  cells[threadIdx.x] = pattern(threadIdx.x, seed + rank);
  __syncthreads();
  cluster_sync();
  const uint32_t own = shared_address(&cells[threadIdx.x]);
  uint32_t* mine = out + (rank * 32 + threadIdx.x) * 16;
  const uint32_t peer = (rank + 1 + seed % ranks) % ranks;
  uint32_t there, value, owner, old;
  uint64_t generic;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(peer));
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(there));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
  mine[0] = there - own;
  mine[1] = there >> 24;
  mine[2] = own >> 24;
  mine[3] = owner;
  mine[4] = value;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(&cells[threadIdx.x]), "r"(peer));
  asm volatile("getctarank.u64 %0, %1;" : "=r"(owner) : "l"(generic));
  asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(generic) : "memory");
  mine[5] = uint32_t(generic - reinterpret_cast<uint64_t>(&cells[threadIdx.x]));
  mine[6] = owner;
  mine[7] = value;
  cluster_sync();
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(shared_address(&cells[32 + threadIdx.x])), "r"(peer));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(pattern(threadIdx.x, seed ^ 77)) : "memory");
  cluster_sync();
  mine[8] = cells[32 + threadIdx.x];
  cluster_sync();
  asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(there), "r"(seed | 1) : "memory");
  mine[9] = old;
  cluster_sync();
  mine[10] = cells[32 + threadIdx.x];
  // A rank that the cluster does not have: only the address is looked at.
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(ranks + seed % 7));
  mine[11] = there - own;
}

// ---- tensormap.replace

/// f of `ordinal` as a constant, 0 to kLast; kLast for larger ones.
template <int kLast, int k = 0, class F>
__device__ void by_ordinal(int ordinal, F f) {
  if constexpr (k < kLast) {
    if (ordinal != k) return by_ordinal<kLast, k + 1>(ordinal, f);
  }
  f(std::integral_constant<int, k>());
}

__device__ inline void replace_field(uint32_t a, int field, int ordinal, uint64_t value) {
// A field that is one value, one of several, or whose value is a constant.
#define REPLACE(FIELD, TYPE, OPERAND) \
  asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." TYPE " [%0], %1;" ::"r"(a), OPERAND : "memory")
#define REPLACE_AT(FIELD, TYPE, OPERAND, LAST)                                                                  \
  by_ordinal<LAST>(ordinal, [&](auto k) {                                                                       \
    asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." TYPE " [%0], %2, %1;" ::"r"(a), OPERAND, \
                 "n"(decltype(k)::value)                                                                        \
                 : "memory");                                                                                   \
  })
#define REPLACE_CODE(FIELD, LAST) \
  by_ordinal<LAST>(ordinal, [&](auto k) { REPLACE(FIELD, "b32", "n"(decltype(k)::value)); })
  switch (field) {
    case 0: REPLACE("global_address", "b64", "l"(value)); break;
    case 1: REPLACE("rank", "b32", "r"(uint32_t(value))); break;
    case 2: REPLACE_AT("box_dim", "b32", "r"(uint32_t(value)), 4); break;
    case 3: REPLACE_AT("global_dim", "b32", "r"(uint32_t(value)), 4); break;
    case 4: REPLACE_AT("global_stride", "b64", "l"(value), 3); break;
    case 5: REPLACE_AT("element_stride", "b32", "r"(uint32_t(value)), 4); break;
    case 6: REPLACE_CODE("elemtype", 12); break;
    case 7: REPLACE_CODE("interleave_layout", 2); break;
    case 8: REPLACE_CODE("swizzle_mode", 3); break;
    default: REPLACE_CODE("fill_mode", 1); break;
  }
#undef REPLACE
#undef REPLACE_AT
#undef REPLACE_CODE
}

/// Replaces one field of the map in shared memory, publishes it and loads with it from global memory.
__global__ void replace_kernel(const __grid_constant__ CUtensorMap map, int field, int ordinal, uint64_t value,
                               uint8_t* copy, uint32_t* out) {
  __shared__ alignas(128) CUtensorMap changed;
  if (threadIdx.x == 0) changed = map;
  __syncwarp();
  if (threadIdx.x == 0) replace_field(shared_address(&changed), field, ordinal, value);
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
          copy),
      "r"(shared_address(&changed))
      : "memory");
  __syncwarp();
  out[threadIdx.x] = reinterpret_cast<volatile uint32_t*>(copy)[threadIdx.x];
}

/// A map in global memory, changed there and used after the fences: the box of `tensor_kernel`'s 2D load.
__global__ void modified_map_kernel(CUtensorMap* map, uint64_t address, Issue p, uint32_t* out, uint64_t* word) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t object;
  fill_shared(buffer, p.region, true, p.seed);
  const uint32_t bar = shared_address(&object), box = shared_address(buffer) + p.box;
  if (threadIdx.x == 0) barrier_begin(bar);
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(address)
                 : "memory");
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    barrier_expect(bar);
    issue_tensor(p, box, map, bar);
    sleep_ns(15000);
    *word = barrier_end(bar, &object);
  }
  __syncthreads();
  dump_shared(buffer, p.region, out);
}

}  // namespace conformance
