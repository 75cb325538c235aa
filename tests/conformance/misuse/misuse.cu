// What a GPU answers to uses that the manual forbids or leaves open, a line a question: the error that the launch ends
// with (0: none) and what was seen. tinygpu must answer the same, but for what misuse_test.py lists with a reason.
//
//   misuse [QUESTION …]
//
// Every question is a process of its own: a launch failure ends a process's work.
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

__device__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }
__device__ uint32_t in_rank(uint32_t address, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
  return r;
}
__device__ uint32_t cluster_rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ void cluster_sync() { asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory"); }
__device__ void wait_ns(uint32_t ns) {
  uint64_t t0, t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
  do {
    asm volatile("nanosleep.u32 500;");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  } while (t - t0 < ns);
}
__device__ void init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1; fence.mbarrier_init.release.cluster;" ::"r"(bar), "r"(count)
               : "memory");
}
__device__ void expect(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
/// Waits for the first phase, for 50 microseconds at most.
__device__ int64_t tx_count(uint32_t bar) {
  uint64_t w;
  asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(w) : "r"(bar) : "memory");
  const int64_t field = int64_t(w >> 21 & 0x1fffff);
  return field >= 1 << 20 ? (1 << 21) - field : -field;
}
__device__ bool ended(uint32_t bar) {
  for (int i = 0; i < 100; ++i) {
    uint32_t done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(bar)
                 : "memory");
    if (done) return true;
    wait_ns(500);
  }
  return false;
}

// ---- Operations on the shared memory of a CTA that has exited

enum Remote : int {
  arrive,
  arrive_release_cluster,
  arrive_expect,
  expect_tx,
  complete_tx,
  load,
  store,
  atomic,
  reduction,
  st_async,
  red_async,
  bulk,
  multicast,
  generic_load,
  generic_store
};

__global__ void __cluster_dims__(2)
    exited(int what, uint32_t before, uint32_t after, const uint32_t* global, uint32_t* out) {
  __shared__ alignas(128) uint32_t data[64];
  __shared__ alignas(8) uint64_t object;
  const uint32_t bar = shared_address(&object), at = shared_address(data);
  data[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) init(bar, 1);
  __syncthreads();
  cluster_sync();
  if (cluster_rank() == 1) return;
  if (threadIdx.x) return;
  if (before) wait_ns(before);
  const uint32_t there = in_rank(bar, 1), memory = in_rank(at, 1);
  uint32_t v = 7;
  switch (what) {
    case arrive: asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory"); break;
    case arrive_release_cluster:
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
      break;
    case arrive_expect:
      asm volatile("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], 16;" ::"r"(there) : "memory");
      break;
    case expect_tx:
      asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;" ::"r"(there) : "memory");
      break;
    case complete_tx:
      asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;" ::"r"(there) : "memory");
      break;
    case load: asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(memory) : "memory"); break;
    case store: asm volatile("st.shared::cluster.u32 [%0], 5;" ::"r"(memory) : "memory"); break;
    case atomic: asm volatile("atom.shared::cluster.add.u32 %0, [%1], 5;" : "=r"(v) : "r"(memory) : "memory"); break;
    case reduction: asm volatile("red.shared::cluster.add.u32 [%0], 5;" ::"r"(memory) : "memory"); break;
    case st_async:
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], 5, [%1];" ::"r"(memory), "r"(there)
                   : "memory");
      break;
    case red_async:
      asm volatile(
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], 5, [%1];" ::"r"(memory),
          "r"(there)
          : "memory");
      break;
    case bulk:
      asm volatile(
          "fence.proxy.async; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 64, "
          "[%2];" ::"r"(memory + 128),
          "r"(at), "r"(there)
          : "memory");
      break;
    case multicast:
      expect(bar, 64);
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 64, [%2], "
          "%3;" ::"r"(at),
          "l"(global), "r"(bar), "h"(uint16_t(3))
          : "memory");
      v = ended(bar);
      break;
    case generic_load: {
      const uint32_t* p;
      asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(p) : "l"(uint64_t(memory)));
      v = *(volatile const uint32_t*)p;
      break;
    }
    case generic_store: {
      uint32_t* p;
      asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(p) : "l"(uint64_t(memory)));
      *(volatile uint32_t*)p = 5;
      break;
    }
  }
  if (after) wait_ns(after);
  if (blockIdx.x == 0) *out = v;
}

// ---- Tensor maps

__device__ void tensor_load(const void* map, uint32_t at, uint32_t bar, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(at),
      "l"(map), "r"(0), "r"(row), "r"(bar)
      : "memory");
}

enum MapPlace : int { in_shared, in_local, changed_first, changed_later, stored_later, acquired_before };

/// Boxes of 16 x 1 u32. `out` takes the first word of the last load, which is the tensor's first: the tensors at
/// `base` and `other` differ there.
__global__ void maps(int what, const __grid_constant__ CUtensorMap parameter, CUtensorMap* map, uint64_t other,
                     uint32_t* out) {
  __shared__ alignas(128) uint32_t data[64];
  __shared__ alignas(128) CUtensorMap copy;
  __shared__ alignas(8) uint64_t object, second;
  const uint32_t bar = shared_address(&object), bar2 = shared_address(&second), at = shared_address(data);
  init(bar, 1);
  init(bar2, 1);
  asm volatile("fence.proxy.async;" ::: "memory");
  expect(bar, 64);
  switch (what) {
    case in_shared:
      memcpy(&copy, &parameter, sizeof copy);
      asm volatile("fence.proxy.async;" ::: "memory");
      tensor_load(&copy, at, bar, 0);
      break;
    case in_local: {
      alignas(64) CUtensorMap local;
      memcpy(&local, &parameter, sizeof local);
      void* volatile p = &local;
      tensor_load(p, at, bar, 0);
      break;
    }
    case changed_first:
      asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(other)
                   : "memory");
      tensor_load(map, at, bar, 0);
      break;
    case changed_later:
    case stored_later:
    case acquired_before:
      tensor_load(map, at, bar, 0);
      ended(bar);
      expect(bar2, 64);
      if (what == stored_later)
        *(volatile uint64_t*)map = other;
      else
        asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(other)
                     : "memory");
      if (what == acquired_before) {
        asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
      }
      wait_ns(3000);
      tensor_load(map, at, bar2, 0);
      ended(bar2);
      *out = data[0];
      return;
  }
  const bool came = ended(bar);
  *out = came ? data[0] : 0xffffffff;
}

// ---- Plain memory

enum Plain : int {
  parameter_store,
  reserved_read,
  reserved_store,
  heap_free,
  heap_free_twice,
  recursion,
  bulk_other_barrier,
  st_async_other_barrier,
  ldmatrix_global,
  barrier_global,
  cp_async_arrive_remote,
  test_wait_remote,
  big_arrive
};

__device__ __noinline__ int deep(int n, volatile int* p) {
  volatile int pad[64];
  pad[n & 63] = n;
  return n < 0 ? 0 : deep(n + 1, p) + pad[(n + *p) & 63];
}

__global__ void __cluster_dims__(2)
    plain(int what, uint32_t* global, uint32_t* out, const __grid_constant__ int constant) {
  __shared__ alignas(128) uint32_t data[64];
  __shared__ alignas(8) uint64_t object;
  const uint32_t bar = shared_address(&object), at = shared_address(data);
  if (threadIdx.x == 0) init(bar, 1);
  data[threadIdx.x] = 3;
  __syncthreads();
  cluster_sync();
  const uint32_t there = in_rank(bar, 1), memory = in_rank(at, 1);
  uint32_t v = 7;
  if (cluster_rank() == 0) {
    if (what == ldmatrix_global)
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(v) : "l"(global) : "memory");
    if (threadIdx.x == 0) switch (what) {
        case parameter_store: {
          int* q = const_cast<int*>(&constant);
          *(volatile int*)q = 99;
          v = uint32_t(*(volatile int*)q);
          break;
        }
        case reserved_read:
          asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(16) : "memory");
          v = 1;
          break;
        case reserved_store:
          asm volatile("ld.shared.u32 %0, [%1]; st.shared.u32 [%1], %0;" : "=r"(v) : "r"(1008) : "memory");
          v = 1;
          break;
        case heap_free: free(reinterpret_cast<char*>(global) + 64); break;
        case heap_free_twice: {
          void* p = malloc(100);
          free(p);
          free(p);
          break;
        }
        case recursion: v = uint32_t(deep(int(global[0] & 0), reinterpret_cast<volatile int*>(global))); break;
        case bulk_other_barrier:
          expect(bar, 64);
          asm volatile(
              "fence.proxy.async; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], "
              "64, [%2];" ::"r"(memory + 128),
              "r"(at), "r"(in_rank(bar, 0))
              : "memory");
          v = 1000 + 100 * (ended(bar) ? 1 : 0) + uint32_t(tx_count(bar)) + 100000 * uint32_t(128 + tx_count(there));
          break;
        case st_async_other_barrier:
          expect(bar, 4);
          asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], 5, [%1];" ::"r"(memory),
                       "r"(in_rank(bar, 0))
                       : "memory");
          v = 1000 + 100 * (ended(bar) ? 1 : 0) + uint32_t(tx_count(bar)) + 100000 * uint32_t(128 + tx_count(there));
          break;
        case barrier_global: asm volatile("mbarrier.arrive.b64 _, [%0];" ::"l"(global) : "memory"); break;
        case cp_async_arrive_remote:
          asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(there) : "memory");
          break;
        case test_wait_remote:
          asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                       : "=r"(v)
                       : "r"(there)
                       : "memory");
          break;
        case big_arrive: asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 3;" ::"r"(bar) : "memory"); break;
        default: break;
      }
    if (threadIdx.x == 0) *out = v;
  }
  wait_ns(2000);
  cluster_sync();
}

// ---- wgmma

/// D of 64 x 8, of tiles of random f16 words; `flip`: a bit of A's descriptor turned over (64: none, 65: two thirds of
/// the shared memory further on, past its end); `shift` is added to it in the warps of `warps`, in the lanes of
/// `lanes`.
__global__ void wgmma(int flip, uint32_t shift, uint32_t warps, uint32_t lanes, float* out) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  for (uint32_t i = threadIdx.x; i < 8192; i += 128) {
    const uint32_t r = (i * 2654435761u) ^ (i * 40503u << 7);
    reinterpret_cast<uint32_t*>(tiles)[i] = (r & 0x83ff83ff) | 0x38003800;
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  uint64_t a = (uint64_t(shared_address(tiles)) & 0x3ffff) >> 4 | 8ull << 16 | 16ull << 32, b = a + 512;
  if (flip < 64) a ^= 1ull << flip;
  if (flip == 65) a = (a & ~0x3fffull) | (224 * 1024 >> 4);
  if ((warps >> threadIdx.x / 32 & 1) && (lanes >> threadIdx.x % 32 & 1)) a += shift;
  float d[4] = {};
  asm volatile(
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b));
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}

// ---- Sums of two NaNs

constexpr uint64_t kWords[] = {0x7ff8000000000000,
                               0xfff8000000000000,
                               0x7ff8000000000123,
                               0xfff80000000abcde,
                               0x7ff0000000000001,
                               0xfff0000000000077,
                               0x7ff4000000000000,
                               0x7fffffffffffffff,
                               0xffffffffffffffff,
                               0x7ff0000000000000,
                               0xfff0000000000000,
                               0x3ff0000000000000,
                               0,
                               0x8000000000000000,
                               1,
                               0x000fffffffffffff};
constexpr int kWordCount = int(sizeof kWords / 8), kPairs = kWordCount * kWordCount;

/// memory[i] += operand[i] for all pairs: 0 by a bulk reduction, 1 by atom, 2 by red, 3 by atom on shared memory.
__global__ void sums(int how, uint64_t* memory, const uint64_t* operand) {
  __shared__ alignas(128) uint64_t data[kPairs];
  data[threadIdx.x] = how == 3 ? memory[threadIdx.x] : operand[threadIdx.x];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (how == 0) {
    if (threadIdx.x == 0) {
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%0], [%1], %2;" ::"l"(memory),
                   "r"(shared_address(data)), "r"(kPairs * 8)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
    return;
  }
  const double x = __longlong_as_double(int64_t(operand[threadIdx.x]));
  if (how == 1)
    asm volatile("{ .reg .f64 v; atom.global.add.f64 v, [%0], %1; }" ::"l"(memory + threadIdx.x), "d"(x) : "memory");
  if (how == 2) asm volatile("red.global.add.f64 [%0], %1;" ::"l"(memory + threadIdx.x), "d"(x) : "memory");
  if (how == 3) {
    asm volatile("{ .reg .f64 v; atom.shared.add.f64 v, [%0], %1; }" ::"r"(shared_address(data + threadIdx.x)), "d"(x)
                 : "memory");
    memory[threadIdx.x] = data[threadIdx.x];
  }
}
__global__ void tensor_sums(const __grid_constant__ CUtensorMap map, const uint64_t* operand) {
  __shared__ alignas(128) uint64_t data[kPairs];
  data[threadIdx.x] = operand[threadIdx.x];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {0, 0}], [%1];" ::"l"(&map),
        "r"(shared_address(data))
        : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// ---- Launches

__global__ void __launch_bounds__(64) bounded(int* p) { p[threadIdx.x] = 1; }
__global__ void empty() {}

// ---- Asking

using Answer = std::string;

std::string hex(const void* bytes, size_t n) {
  std::string s;
  for (size_t i = 0; i < n; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<const uint8_t*>(bytes)[i]);
    s += two;
  }
  return s;
}

std::string ended_with(uint32_t* out = nullptr) {
  cudaError_t e = cudaGetLastError();
  if (e == cudaSuccess) e = cudaDeviceSynchronize();
  if (e != cudaSuccess || !out) return std::to_string(int(e));
  uint32_t v = 0;
  cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost);
  return "0, " + std::to_string(v);
}

template <class T>
T* device(size_t n) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  cudaMemset(p, 0, n * sizeof(T));
  return p;
}

template <class F>
F entry(const char* name) {
  void* p = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion(name, &p, 12000, cudaEnableDefault, &found);
  return F(p);
}

struct MapArguments {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  uint32_t rank = 2;
  uint64_t address = 0x7f0000000000;
  cuuint64_t dims[5] = {64, 16, 4, 4, 4}, strides[4] = {256, 4096, 16384, 65536};
  uint32_t box[5] = {16, 1, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  bool no_dims = false, no_strides = false, no_box = false, no_steps = false;
};
int encode(void* object, const MapArguments& a) {
  static const auto f = entry<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  return f(static_cast<CUtensorMap*>(object), a.type, a.rank, reinterpret_cast<void*>(a.address),
           a.no_dims ? nullptr : a.dims, a.no_strides ? nullptr : a.strides, a.no_box ? nullptr : a.box,
           a.no_steps ? nullptr : a.steps, a.interleave, a.swizzle, a.promotion, a.fill);
}

Answer ask_exited(int what, unsigned ctas, uint32_t before, uint32_t after) {
  auto* global = device<uint32_t>(64);
  auto* out = device<uint32_t>(1);
  exited<<<ctas, 64>>>(what, before, after, global, out);
  return ended_with(out);
}

Answer ask_maps(int what) {
  auto* tensors = device<uint32_t>(2 * 64 * 16);
  const uint32_t second = 1;
  cudaMemcpy(tensors + 64 * 16, &second, 4, cudaMemcpyHostToDevice);
  auto* out = device<uint32_t>(1);
  auto* map = device<CUtensorMap>(1);
  MapArguments a;
  a.address = reinterpret_cast<uint64_t>(tensors);
  alignas(64) CUtensorMap object;
  encode(&object, a);
  cudaMemcpy(map, &object, sizeof object, cudaMemcpyHostToDevice);
  maps<<<1, 1>>>(what, object, map, a.address + 4 * 64 * 16, out);
  return ended_with(out);
}

Answer ask_plain(int what) {
  auto* global = device<uint32_t>(64);
  auto* out = device<uint32_t>(1);
  plain<<<2, 64>>>(what, global, out, 42);
  return ended_with(out);
}

std::vector<float> wgmma_of(int flip, uint32_t shift, uint32_t warps, uint32_t lanes, std::string& error) {
  auto* out = device<float>(512);
  wgmma<<<1, 128, 49152>>>(flip, shift, warps, lanes, out);
  error = ended_with();
  std::vector<float> d(512);
  cudaMemcpy(d.data(), out, 2048, cudaMemcpyDeviceToHost);
  return d;
}
Answer ask_wgmma_bit(int flip) {
  std::string e;
  cudaFuncSetAttribute(wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152);
  const auto plain = wgmma_of(64, 0, 0, 0, e);
  const auto other = wgmma_of(flip, 0, 0, 0, e);
  return e == "0" ? plain == other ? "0, the same" : "0, something else" : e;
}
/// Which descriptor each warp's rows come from, where those of some warps or lanes are 64 bytes further on.
Answer ask_wgmma_split(uint32_t warps, uint32_t lanes) {
  std::string e;
  cudaFuncSetAttribute(wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152);
  const auto low = wgmma_of(64, 64, 0, 0, e), high = wgmma_of(64, 64, 15, ~0u, e),
             split = wgmma_of(64, 64, warps, lanes, e);
  std::string s = e + ",";
  for (size_t w = 0; w < 4; ++w) {
    const auto is = [&](const std::vector<float>& v) {
      return std::equal(v.begin() + long(w) * 128, v.begin() + long(w) * 128 + 128, split.begin() + long(w) * 128);
    };
    s += is(low) ? " plain" : is(high) ? " shifted" : " neither";
  }
  return s;
}

Answer ask_sums(int how) {
  std::vector<uint64_t> memory(kPairs), operand(kPairs);
  for (int i = 0; i < kPairs; ++i)
    memory[size_t(i)] = kWords[i / kWordCount], operand[size_t(i)] = kWords[i % kWordCount];
  auto* m = device<uint64_t>(kPairs);
  auto* o = device<uint64_t>(kPairs);
  cudaMemcpy(m, memory.data(), kPairs * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(o, operand.data(), kPairs * 8, cudaMemcpyHostToDevice);
  if (how == 4) {
    MapArguments a;
    a.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    a.address = reinterpret_cast<uint64_t>(m);
    a.dims[0] = a.box[0] = 16, a.dims[1] = a.box[1] = 16, a.strides[0] = 128;
    alignas(64) CUtensorMap object;
    if (const int e = encode(&object, a)) return "refused " + std::to_string(e);
    tensor_sums<<<1, kPairs>>>(object, o);
  } else {
    sums<<<1, kPairs>>>(how, m, o);
  }
  const std::string e = ended_with();
  cudaMemcpy(memory.data(), m, kPairs * 8, cudaMemcpyDeviceToHost);
  std::string s = e;
  for (int i = 0; i < kWordCount; ++i) {
    s += "\n  ";
    for (int k = 0; k < kWordCount; ++k) {
      char word[20];
      std::snprintf(word, sizeof word, " %016llx", static_cast<unsigned long long>(memory[size_t(i * kWordCount + k)]));
      s += word;
    }
  }
  return s;
}

Answer ask_refused(const std::function<void(MapArguments&)>& spoil) {
  cudaFree(nullptr);
  std::string s;
  for (int pattern : {0xcd, 0x32}) {
    alignas(64) uint8_t object[128];
    std::memset(object, pattern, sizeof object);
    MapArguments a;
    spoil(a);
    const int e = encode(object, a);
    s += std::to_string(e) + " " + hex(object, 128) + (pattern == 0xcd ? "\n    " : "");
  }
  return s;
}

Answer ask_aligned(int offset) {
  cudaFree(nullptr);
  alignas(128) uint8_t room[512];
  std::memset(room, 0xcd, sizeof room);
  const int e = encode(room + offset, {});
  return std::to_string(e) + " " + hex(room + offset, 16);
}

Answer launched(const void* kernel, dim3 grid, dim3 block, size_t shared, unsigned cluster, bool portable = true) {
  cudaFree(nullptr);
  void* p = device<char>(1 << 20);
  void* arguments[] = {&p};
  if (!portable) cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaLaunchConfig_t c{};
  c.gridDim = grid;
  c.blockDim = block;
  c.dynamicSmemBytes = shared;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster, 1, 1};
  c.attrs = &attribute;
  c.numAttrs = cluster ? 1 : 0;
  const int e = cluster == ~0u ? cudaLaunchKernel(kernel, grid, block, arguments, shared, nullptr)
                               : cudaLaunchKernelExC(&c, kernel, arguments);
  std::string s = std::to_string(e);
  return s += ", " + ended_with();
}

struct Question {
  std::string name;
  std::function<Answer()> ask;
};

std::vector<Question> questions() {
  std::vector<Question> q;
  const char* remote[] = {"arrive",
                          "arrive.release.cluster",
                          "arrive.expect_tx",
                          "expect_tx",
                          "complete_tx",
                          "load",
                          "store",
                          "atom",
                          "red",
                          "st.async",
                          "red.async",
                          "bulk copy",
                          "multicast",
                          "generic load",
                          "generic store"};
  for (int i = 0; i <= generic_store; ++i)
    q.push_back({std::string("exited CTA: ") + remote[i], [i] { return ask_exited(i, 2, 20000, 20000); }});
  for (int i : {int(arrive), int(load), int(store), int(st_async)})
    q.push_back(
        {std::string("exited CTA, full grid: ") + remote[i], [i] { return ask_exited(i, 8192, 20000, 20000); }});
  for (int i : {int(arrive), int(store), int(reduction), int(st_async), int(load)}) {
    q.push_back({std::string("exited CTA, and the other exits at once: ") + remote[i],
                 [i] { return ask_exited(i, 2, 20000, 0); }});
    q.push_back({std::string("CTA that exited a microsecond ago: ") + remote[i],
                 [i] { return ask_exited(i, 2, 1000, 20000); }});
  }
  const char* map[] = {"in shared memory",     "in local memory",       "replaced before its first use",
                       "replaced after a use", "stored to after a use", "replaced after a use, acquired"};
  for (int i = 0; i <= acquired_before; ++i)
    q.push_back({std::string("tensor map ") + map[i], [i] { return ask_maps(i); }});
  const char* memory[] = {"store to a parameter",
                          "reserved shared memory, read",
                          "reserved shared memory, store",
                          "free of what malloc did not give",
                          "free twice",
                          "endless recursion",
                          "bulk copy, mbarrier in another CTA",
                          "st.async, mbarrier in another CTA",
                          "ldmatrix of global memory",
                          "mbarrier.arrive on global memory",
                          "cp.async.mbarrier.arrive in another CTA",
                          "test_wait in another CTA",
                          "arrive of 3 of 1"};
  for (int i = 0; i <= big_arrive; ++i) q.push_back({memory[i], [i] { return ask_plain(i); }});
  for (int bit : {14, 15, 30, 31, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61})
    q.push_back({"wgmma: descriptor bit " + std::to_string(bit), [bit] { return ask_wgmma_bit(bit); }});
  q.push_back({"wgmma: A past the shared memory", [] { return ask_wgmma_bit(65); }});
  q.push_back({"wgmma: another descriptor in warp 0", [] { return ask_wgmma_split(1, ~0u); }});
  q.push_back({"wgmma: another descriptor in warp 1", [] { return ask_wgmma_split(2, ~0u); }});
  q.push_back({"wgmma: another descriptor in warp 3", [] { return ask_wgmma_split(8, ~0u); }});
  q.push_back({"wgmma: another descriptor in lane 0", [] { return ask_wgmma_split(15, 1); }});
  q.push_back({"wgmma: another descriptor in lane 5", [] { return ask_wgmma_split(15, 32); }});
  const char* how[] = {"bulk reduction", "atom.global", "red.global", "atom.shared", "tensor reduction"};
  for (int i = 0; i < 5; ++i) q.push_back({std::string("f64 sums by ") + how[i], [i] { return ask_sums(i); }});
  const auto refused = [&](const char* name, std::function<void(MapArguments&)> spoil) {
    q.push_back({std::string("refused map: ") + name, [spoil] { return ask_refused(spoil); }});
  };
  refused("none", [](MapArguments&) {});
  refused("type 16", [](MapArguments& a) { a.type = CUtensorMapDataType(16); });
  refused("type 40", [](MapArguments& a) { a.type = CUtensorMapDataType(40); });
  refused("packed type", [](MapArguments& a) { a.type = CUtensorMapDataType(14); });
  refused("rank 0", [](MapArguments& a) { a.rank = 0; });
  refused("rank 6", [](MapArguments& a) { a.rank = 6; });
  refused("address", [](MapArguments& a) { a.address += 8; });
  refused("no dims", [](MapArguments& a) { a.no_dims = true; });
  refused("no strides", [](MapArguments& a) { a.no_strides = true; });
  refused("no box", [](MapArguments& a) { a.no_box = true; });
  refused("no steps", [](MapArguments& a) { a.no_steps = true; });
  refused("dim 0", [](MapArguments& a) { a.dims[0] = 0; });
  refused("dim 1", [](MapArguments& a) { a.dims[1] = 0; });
  refused("stride", [](MapArguments& a) { a.strides[0] = 100; });
  refused("long stride", [](MapArguments& a) { a.strides[0] = 1ull << 40; });
  refused("box 0", [](MapArguments& a) { a.box[0] = 0; });
  refused("box 1", [](MapArguments& a) { a.box[1] = 257; });
  refused("short row", [](MapArguments& a) { a.box[0] = 3; });
  refused("big box", [](MapArguments& a) { a.box[0] = a.box[1] = 256; });
  refused("step 0", [](MapArguments& a) { a.steps[0] = 0; });
  refused("step 1", [](MapArguments& a) { a.steps[1] = 9; });
  refused("interleave 3", [](MapArguments& a) { a.interleave = CUtensorMapInterleave(3); });
  refused("interleave with rank 2", [](MapArguments& a) { a.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; });
  refused("swizzle 7", [](MapArguments& a) { a.swizzle = CUtensorMapSwizzle(7); });
  refused("swizzle 4", [](MapArguments& a) { a.swizzle = CUtensorMapSwizzle(4); });
  refused("row wider than the swizzle", [](MapArguments& a) { a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B; });
  refused("promotion 4", [](MapArguments& a) { a.promotion = CUtensorMapL2promotion(4); });
  refused("fill 2", [](MapArguments& a) { a.fill = CUtensorMapFloatOOBfill(2); });
  refused("fill of integers", [](MapArguments& a) { a.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; });
  for (int offset : {1, 2, 4, 8, 16, 32, 64})
    q.push_back({"map object at 128 n + " + std::to_string(offset), [offset] { return ask_aligned(offset); }});
  q.push_back({"map object null", [] {
                 cudaFree(nullptr);
                 return std::to_string(encode(nullptr, {}));
               }});
  const auto* e = reinterpret_cast<const void*>(empty);
  for (unsigned call : {0u, ~0u}) {
    const std::string name = call ? "cudaLaunchKernel: " : "launch: ";
    q.push_back({name + "block beyond __launch_bounds__",
                 [call] { return launched(reinterpret_cast<const void*>(bounded), 1, 128, 0, call); }});
    q.push_back({name + "block of 0", [e, call] { return launched(e, 1, 0, 0, call); }});
    q.push_back({name + "grid of 0", [e, call] { return launched(e, 0, 1, 0, call); }});
    q.push_back({name + "block of 1025", [e, call] { return launched(e, 1, 1025, 0, call); }});
    q.push_back({name + "block of 1 x 1 x 65", [e, call] { return launched(e, 1, dim3(1, 1, 65), 0, call); }});
    q.push_back({name + "grid of 1 x 65536", [e, call] { return launched(e, dim3(1, 65536), 1, 0, call); }});
    q.push_back({name + "48 KiB + 1 of shared memory", [e, call] { return launched(e, 1, 1, 49153, call); }});
    q.push_back({name + "1 MiB of shared memory", [e, call] { return launched(e, 1, 1, 1 << 20, call); }});
  }
  for (unsigned n : {3u, 9u, 16u, 17u, 32u}) {
    q.push_back({"launch: cluster of " + std::to_string(n), [e, n] { return launched(e, n, 1, 0, n); }});
    q.push_back({"launch: cluster of " + std::to_string(n) + ", not portable",
                 [e, n] { return launched(e, n, 1, 0, n, false); }});
  }
  q.push_back({"launch: grid of 3, clusters of 2", [e] { return launched(e, 3, 1, 0, 2); }});
  return q;
}

}  // namespace

int main(int argc, char** argv) {
  for (const Question& q : questions()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted |= q.name.find(argv[i]) != std::string::npos;
    if (!wanted) continue;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // some hang
      std::printf("%s: %s\n", q.name.c_str(), q.ask().c_str());
      std::fflush(nullptr);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) std::printf("%s: hangs\n", q.name.c_str());
  }
  return 0;
}
