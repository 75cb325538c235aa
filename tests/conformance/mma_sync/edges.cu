// Asks a GPU what the manual leaves open around warps: where shared addresses point, in which order lanes of one
// instruction act, and how it answers broken uses.
//   edges facts            prints what can be seen in one process
//   edges fault NAME       runs one broken kernel and prints the error that comes back (--list: their names)
//   nvcc -gencode arch=compute_90a,code=sm_90a -std=c++20 -O1 edges.cu -o edges
#include <cooperative_groups.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#define CHECK(call)                                                                            \
  do {                                                                                         \
    const cudaError_t e_ = (call);                                                             \
    if (e_ != cudaSuccess) std::printf("%s: %s (%d)\n", #call, cudaGetErrorName(e_), int(e_)); \
  } while (0)

namespace {

__device__ uint32_t special(int which) {
  uint32_t v = 0;
  switch (which) {
    case 0: asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(v)); break;
    case 1: asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(v)); break;
    case 2: asm volatile("mov.u32 %0, %%aggr_smem_size;" : "=r"(v)); break;
    case 3: asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(v)); break;
    case 4: asm volatile("mov.u32 %0, %%nsmid;" : "=r"(v)); break;
    case 5: asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(v)); break;
  }
  return v;
}

__global__ void __cluster_dims__(4, 1, 1) windows(uint64_t* out, int param) {
  __shared__ uint32_t word[32];
  extern __shared__ uint32_t dynamic[];
  uint32_t rank, shared, dyn;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("{.reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t;}" : "=r"(shared) : "l"(word));
  asm volatile("{.reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t;}" : "=r"(dyn) : "l"(dynamic));
  uint64_t* mine = out + 64 * rank;
  int at = 0;
  mine[at++] = shared;
  mine[at++] = dyn;
  mine[at++] = reinterpret_cast<uint64_t>(word);
  volatile int local[4] = {param, 1, 2, 3};
  mine[at++] = reinterpret_cast<uint64_t>(const_cast<int*>(local));
  for (uint32_t r : {0u, 1u, 2u, 3u, 4u, 15u, 255u, 256u}) {
    uint32_t m;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(m) : "r"(shared), "r"(r));
    mine[at++] = m;
  }
  for (uint32_t r : {0u, 3u, 4u, 255u}) {
    uint64_t m;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(m) : "l"(word), "r"(r));
    mine[at++] = m;
  }
  for (uint32_t a : {shared, 0x02000400u, 0x7f000400u}) {
    uint32_t r;
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r) : "r"(a));
    mine[at++] = r;
  }
  uint32_t r;
  asm volatile("getctarank.u64 %0, %1;" : "=r"(r) : "l"(word));
  mine[at++] = r;
  for (int i = 0; i < 6; ++i) mine[at++] = special(i);
  // A plain .shared access through the peer's shared::cluster address?  Only its encoding is shown here.
  word[0] = 100 + rank;
  cooperative_groups::this_cluster().sync();
  const uint32_t next = (shared & 0xffffff) | ((rank + 1) % 4) << 24;
  uint32_t v;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(next));
  mine[at++] = v;
  cooperative_groups::this_cluster().sync();
}

__global__ void lanes(uint32_t* out, uint32_t* memory) {
  __shared__ uint32_t word;
  const uint32_t t = threadIdx.x;
  if (t == 0) word = 0;
  __syncwarp();
  out[t] = atomicAdd(&word, 1);
  out[32 + t] = atomicAdd(memory, 1);
  float old;
  asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(old) : "l"(memory + 1), "f"(1.0f));
  out[64 + t] = uint32_t(old);
  // Everybody writes one place: who stays?
  __syncwarp();
  volatile uint32_t* shared = &word;
  *shared = t;
  __syncwarp();
  out[96 + t] = *shared;
  volatile uint32_t* global = memory + 2;
  *global = t;
  __threadfence();
  __syncwarp();
  out[128 + t] = *global;
  if (t % 3 == 1) *shared = t;
  __syncwarp();
  out[160 + t] = *shared;
  // A shuffle that reads a lane outside the mask, and one outside the branch.
  uint32_t v = 0;
  if (t < 16) {
    uint32_t source = 20;
    asm volatile("{.reg .pred p; shfl.sync.idx.b32 %0|p, %1, %2, 0x1f, 0x0000ffff;}"
                 : "=r"(v)
                 : "r"(1000 + t), "r"(source));
  }
  out[192 + t] = v;
  // Redux and vote over a warp some of whose lanes have left.
  if (t >= 24) return;
  uint32_t sum;
  asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(t));
  out[224 + t] = sum;
  out[256 + t] = __ballot_sync(0xffffffff, t % 2);
  out[288 + t] = __activemask();
}

// ---- Broken kernels

__device__ uint32_t smem_address(void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__global__ void k_trap(uint32_t*) { asm volatile("trap;"); }
__global__ void k_brkpt(uint32_t* out) {
  asm volatile("brkpt;");
  out[0] = 1;
}
__global__ void k_barrier_16(uint32_t* out) {
  asm volatile("barrier.sync %0;" ::"r"(out[0] + 16));
  out[1] = 1;
}
__global__ void k_barrier_count_33(uint32_t* out) {
  asm volatile("barrier.sync 1, %0;" ::"r"(out[0] + 33));
  out[1] = 1;
}
__global__ void k_barrier_count_16(uint32_t* out) {
  asm volatile("barrier.sync 1, %0;" ::"r"(out[0] + 16));
  out[1] = 1;
}
__global__ void k_misaligned_global(uint32_t* out) {
  asm volatile("st.global.u32 [%0], 1;" ::"l"(reinterpret_cast<char*>(out) + 2));
}
__global__ void k_misaligned_shared(uint32_t* out) {
  __shared__ uint32_t w[32];
  asm volatile("st.shared.v4.u32 [%0], {1,1,1,1};" ::"r"(smem_address(w) + out[0] + 4));
}
__global__ void k_misaligned_ldmatrix(uint32_t* out) {
  __shared__ __align__(16) uint32_t w[256];
  uint32_t v;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(smem_address(w) + out[0] + 8));
  out[1] = v;
}
__global__ void k_shared_out_of_bounds(uint32_t* out) { asm volatile("st.shared.u32 [%0], 1;" ::"r"(out[0] + 240000)); }
__global__ void k_shared_reserved_read(uint32_t* out) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(out[0] + 16));
  out[1] = v;
}
__global__ void k_shared_past_static(uint32_t* out) {
  __shared__ uint32_t w[32];
  w[threadIdx.x] = 1;
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(smem_address(w) + out[0] + 512));
  out[1] = v;
}
__global__ void k_null(uint32_t* out) { *reinterpret_cast<uint32_t*>(uint64_t(out[0])) = 1; }
__global__ void k_call_null(uint32_t* out) { reinterpret_cast<void (*)()>(uint64_t(out[0]))(); }
__global__ void k_elect_without_self(uint32_t* out) {
  uint32_t v;
  asm volatile("{.reg .pred p; elect.sync %0|p, %1;}" : "=r"(v) : "r"(out[0] + 0xfffffffe));
  out[1] = v;
}
__global__ void k_shfl_without_self(uint32_t* out) {
  uint32_t v;
  asm volatile("shfl.sync.idx.b32 %0, %1, 3, 0x1f, %2;" : "=r"(v) : "r"(threadIdx.x), "r"(out[0] + 0xfffffffe));
  out[1] = v;
}
__global__ void k_syncwarp_without_self(uint32_t* out) {
  asm volatile("bar.warp.sync %0;" ::"r"(out[0] + 0xfffffffe));
  out[1] = 1;
}
__global__ void __cluster_dims__(2, 1, 1) k_cluster_arrive_twice(uint32_t* out) {
  asm volatile("barrier.cluster.arrive;\n barrier.cluster.arrive;\n barrier.cluster.wait;");
  out[1] = 1;
}
__global__ void __cluster_dims__(2, 1, 1) k_cluster_wait_first(uint32_t* out) {
  asm volatile("barrier.cluster.wait;");
  out[1] = 1;
}
__global__ void __cluster_dims__(2, 1, 1) k_cluster_exit_after_arrive(uint32_t* out) {
  asm volatile("barrier.cluster.arrive;");
  out[1] = 1;
}
__global__ void __cluster_dims__(2, 1, 1) k_rank_out_of_range(uint32_t* out) {
  asm volatile("st.shared::cluster.u32 [%0], 1;" ::"r"(out[0] + 0x07000400));
}
__global__ void __cluster_dims__(2, 1, 1) k_peer_exited(uint32_t* out) {
  __shared__ uint32_t w;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (rank == 1) return;
  const long long start = clock64();
  while (clock64() - start < 2000000) {
  }
  asm volatile("st.shared::cluster.u32 [%0], 1;" ::"r"((smem_address(&w) & 0xffffff) | 1u << 24));
  out[1] = 1;
}
__global__ void __cluster_dims__(2, 1, 1) k_plain_shared_to_peer(uint32_t* out) {
  __shared__ uint32_t w;
  w = 5;
  cooperative_groups::this_cluster().sync();
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(smem_address(&w) ^ 1u << 24));
  out[1] = v;
  cooperative_groups::this_cluster().sync();
}
__global__ void __maxnreg__(96) k_setmaxnreg_wrong_way(uint32_t* out) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;\n setmaxnreg.dec.sync.aligned.u32 64;");
  out[1] = 1;
}
__global__ void k_cp_async_size(uint32_t* out) {
  __shared__ __align__(16) uint32_t w[64];
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n cp.async.wait_all;" ::"r"(smem_address(w)), "l"(out),
               "r"(out[0] + 20));
  out[1] = w[0];
}
__global__ void k_cp_async_null_unread(uint32_t* out) {
  __shared__ __align__(16) uint32_t w[64];
  w[0] = 7;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n cp.async.wait_all;" ::"r"(smem_address(w)), "l"(0ull),
               "r"(out[0]));
  out[1] = w[0];
}
__global__ void k_store_parameter(const __grid_constant__ uint64_t param, uint32_t* out) {
  uint64_t a = reinterpret_cast<uint64_t>(&param);
  asm volatile("st.u32 [%0], 1;" ::"l"(a));
  out[1] = 1;
}
__global__ void k_prefetch_null(uint32_t* out) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(uint64_t(out[0])));
  out[1] = 1;
}
__global__ void k_barrier_red_mixed(uint32_t* out) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;");
  else
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 1, 64, p;}"
                 : "=r"(out[1])
                 : "r"(out[0] + 1));
}
__global__ void k_barrier_count_mismatch(uint32_t* out) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;");
  else
    asm volatile("bar.sync 1, 96;");
  out[1] = 1;
}
__global__ void k_syncthreads_in_both_branches(uint32_t* out) {
  if (threadIdx.x % 32 < 7 + out[0]) {
    asm volatile("bar.sync 0;");
    out[1] = 1;
  } else {
    asm volatile("bar.sync 0;");
    out[2] = 1;
  }
}
__global__ void k_brx_out_of_range(uint32_t* out) {
  asm volatile(
      "{\n ts: .branchtargets A, B;\n brx.idx %1, ts;\n A: mov.u32 %0, 10; bra.uni C;\n B: mov.u32 %0, 20;\n C:\n}"
      : "=r"(out[1])
      : "r"(out[0] + 5));
}

struct Broken {
  const char* name;
  std::function<void(uint32_t*)> launch;
};
const Broken kBroken[] = {
#define ONE(name, threads)                                   \
  {                                                          \
#name, [](uint32_t * out) { name<<<1, threads>>>(out); } \
  }
#define TWO(name)                                       \
  {                                                     \
#name, [](uint32_t * out) { name<<<2, 32>>>(out); } \
  }
    ONE(k_trap, 32),
    ONE(k_brkpt, 32),
    ONE(k_barrier_16, 32),
    ONE(k_barrier_count_33, 64),
    ONE(k_barrier_count_16, 32),
    ONE(k_misaligned_global, 32),
    ONE(k_misaligned_shared, 32),
    ONE(k_misaligned_ldmatrix, 32),
    ONE(k_shared_out_of_bounds, 32),
    ONE(k_shared_reserved_read, 32),
    ONE(k_shared_past_static, 32),
    ONE(k_null, 32),
    ONE(k_call_null, 32),
    ONE(k_elect_without_self, 32),
    ONE(k_shfl_without_self, 32),
    ONE(k_syncwarp_without_self, 32),
    TWO(k_cluster_arrive_twice),
    TWO(k_cluster_wait_first),
    TWO(k_cluster_exit_after_arrive),
    TWO(k_rank_out_of_range),
    TWO(k_peer_exited),
    TWO(k_plain_shared_to_peer),
    ONE(k_setmaxnreg_wrong_way, 128),
    ONE(k_cp_async_size, 1),
    ONE(k_cp_async_null_unread, 1),
    {"k_store_parameter", [](uint32_t* out) { k_store_parameter<<<1, 1>>>(5, out); }},
    ONE(k_prefetch_null, 1),
    ONE(k_barrier_red_mixed, 64),
    ONE(k_barrier_count_mismatch, 96),
    ONE(k_syncthreads_in_both_branches, 64),
    ONE(k_brx_out_of_range, 1),
};

void facts() {
  uint64_t* out;
  CHECK(cudaMalloc(&out, 4 * 64 * 8));
  CHECK(cudaMemset(out, 0, 4 * 64 * 8));
  windows<<<4, 1, 4096>>>(out, 1);
  CHECK(cudaDeviceSynchronize());
  uint64_t host[256];
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int r = 0; r < 4; ++r) {
    std::printf("rank %d:", r);
    for (int i = 0; i < 27; ++i) std::printf(" %llx", static_cast<unsigned long long>(host[64 * r + i]));
    std::printf("\n");
  }
  std::printf("device memory at %p\n", static_cast<void*>(out));
  uint32_t *words, *memory;
  CHECK(cudaMalloc(&words, 4096));
  CHECK(cudaMalloc(&memory, 4096));
  CHECK(cudaMemset(words, 0, 4096));
  CHECK(cudaMemset(memory, 0, 4096));
  lanes<<<1, 32>>>(words, memory);
  CHECK(cudaDeviceSynchronize());
  uint32_t w[320];
  CHECK(cudaMemcpy(w, words, sizeof w, cudaMemcpyDeviceToHost));
  const char* titles[] = {"atomicAdd shared, old",         "atomicAdd global, old",
                          "atom.add.f32 global, old",      "all store shared, who stays",
                          "all store global, who stays",   "every third stores shared",
                          "shfl from outside the mask",    "redux.add, lanes 24 on have left",
                          "ballot of odd lanes, likewise", "activemask, likewise"};
  for (int k = 0; k < 10; ++k) {
    std::printf("%-34s", titles[k]);
    for (int t = 0; t < 32; ++t) std::printf(k >= 8 ? " %x" : " %u", w[32 * k + t]);
    std::printf("\n");
  }
}

int fault(const std::string& name) {
  for (const Broken& b : kBroken) {
    if (name != b.name) continue;
    uint32_t* out;
    CHECK(cudaMalloc(&out, 4096));
    CHECK(cudaMemset(out, 0, 4096));
    const auto start = std::chrono::steady_clock::now();
    b.launch(out);
    const cudaError_t launched = cudaGetLastError();
    const cudaError_t e = cudaDeviceSynchronize();
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    uint32_t host[4] = {};
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%-34s launch %s, end %s (%d), out %u %x %x, %.1f ms\n", name.c_str(), cudaGetErrorName(launched),
                cudaGetErrorName(e), int(e), host[0], host[1], host[2], ms);
    return 0;
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "facts")) return facts(), 0;
  if (argc == 2 && !std::strcmp(argv[1], "--list")) {
    for (const Broken& b : kBroken) std::printf("%s\n", b.name);
    return 0;
  }
  if (argc == 3 && !std::strcmp(argv[1], "fault")) return fault(argv[2]);
  std::fprintf(stderr, "edges facts | edges fault NAME | edges --list\n");
  return 2;
}
