// Asks a GPU what the manual leaves open about the order of effects: each question is tried many times, and what was
// seen is printed. "Never seen" proves nothing; "seen" does.
//
//   ordering [--trials N] [QUESTION …]
//
// scripts/hardware runs it. Every question is a process of its own, because a launch failure ends a process's work.
#include <cuda.h>
#include <cuda_runtime.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/harness/cuda_check.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"

namespace {

using namespace gen5::ptx;
using gen5::harness::DeviceBuffer;

__device__ uint32_t load_shared(uint32_t address) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}

/// %clock64, not moved across memory operations.
__device__ int64_t clock_now() {
  int64_t t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}

void finish() {
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
}

// ---- a generic read, an arrival, and the TMA load that it permits: no proxy fence between

constexpr uint32_t kWarWords = 2048;

__global__ void war(const uint32_t* patterns, uint32_t rounds, uint32_t* wrong) {
  __shared__ alignas(128) uint32_t box[kWarWords];
  __shared__ uint64_t full, empty;
  const uint32_t f = shared_address(&full), e = shared_address(&empty), b = shared_address(box);
  if (threadIdx.x == 0) {
    mbarrier_init(f, 1);
    mbarrier_init(e, 256);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 256) {
    for (uint32_t i = 0; i < rounds; ++i) {
      mbarrier_wait_parity(e, i & 1 ^ 1);
      mbarrier_arrive_expect_tx(f, sizeof box);
      bulk_load(b, patterns + (i & 1) * kWarWords, sizeof box, f);
    }
  } else if (threadIdx.x < 256) {
    uint32_t bad = 0;
    for (uint32_t i = 0; i < rounds; ++i) {
      mbarrier_wait_parity(f, i & 1);
      uint32_t v[8];
#pragma unroll
      for (uint32_t k = 0; k < 8; ++k) v[k] = load_shared(b + (k * 256 + threadIdx.x) * 4);
      mbarrier_arrive(e);
#pragma unroll
      for (uint32_t k = 0; k < 8; ++k) bad += v[k] != (i & 1);
    }
    if (bad) atomicAdd(wrong, bad);
  }
}

std::string ask_war(uint32_t trials) {
  std::vector<uint32_t> words(2 * kWarWords, 0);
  std::fill(words.begin() + kWarWords, words.end(), 1);
  DeviceBuffer<uint32_t> patterns(words), wrong(1);
  wrong.fill(0);
  war<<<4, 288>>>(patterns.get(), trials, wrong.get());
  finish();
  return fmt::format("{} of {} words read were the next load's", wrong.download()[0], uint64_t(trials) * 4 * kWarWords);
}

// ---- data handed to another CTA by a remote arrive of default scope (release.cta) and a default wait

template <bool Cluster>
__global__ void __cluster_dims__(2, 1, 1) handoff(uint32_t* global, uint32_t rounds, uint32_t* stale) {
  __shared__ uint32_t slot[32];
  __shared__ uint64_t ready, taken;
  const uint32_t rank = cluster_ctarank(), lane = threadIdx.x;
  global += blockIdx.x / 2 * 32;
  if (lane == 0) {
    mbarrier_init(shared_address(&ready), 32);
    mbarrier_init(shared_address(&taken), 32);
    fence_mbarrier_init();
  }
  slot[lane] = ~0u;
  __syncwarp();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const uint32_t there = mapa(shared_address(&slot[lane]), rank ^ 1);
  uint32_t stale_shared = 0, stale_global = 0;
  for (uint32_t i = 0; i < rounds; ++i) {
    if (rank == 0) {
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(i) : "memory");
      asm volatile("st.global.u32 [%0], %1;" ::"l"(global + lane), "r"(i) : "memory");
      const uint32_t bar = mapa(shared_address(&ready), 1);
      if (Cluster)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
      else
        mbarrier_arrive_remote(bar);
      mbarrier_wait_parity(shared_address(&taken), i & 1);
    } else {
      if (Cluster)
        mbarrier_wait_parity_cluster(shared_address(&ready), i & 1);
      else
        mbarrier_wait_parity(shared_address(&ready), i & 1);
      stale_shared += load_shared(shared_address(&slot[lane])) != i;
      uint32_t v;
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(global + lane) : "memory");
      stale_global += v != i;
      mbarrier_arrive_remote(mapa(shared_address(&taken), 0));
    }
  }
  if (stale_shared) atomicAdd(&stale[0], stale_shared);
  if (stale_global) atomicAdd(&stale[1], stale_global);
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

std::string ask_handoff(uint32_t trials) {
  constexpr uint32_t kClusters = 8;
  std::string out;
  for (const bool cluster : {false, true}) {
    DeviceBuffer<uint32_t> global(32 * kClusters), stale(2);
    stale.fill(0);
    if (cluster)
      handoff<true><<<2 * kClusters, 32>>>(global.get(), trials, stale.get());
    else
      handoff<false><<<2 * kClusters, 32>>>(global.get(), trials, stale.get());
    finish();
    out += fmt::format("{}{}: stale {} in shared memory, {} in global memory, of {} words each", cluster ? "; " : "",
                       cluster ? "release.cluster, acquire.cluster" : "default scopes", stale.download()[0],
                       stale.download()[1], uint64_t(trials) * 32 * kClusters);
  }
  return out;
}

// ---- does a bulk load complete its bytes at once or in parts?

__global__ void parts(const uint8_t* from, uint32_t bytes, uint32_t rounds, uint32_t* seen) {
  extern __shared__ __align__(128) uint8_t box[];
  __shared__ uint64_t bar;
  const uint32_t b = shared_address(&bar);
  mbarrier_init(b, 1);
  fence_mbarrier_init();
  uint32_t most = 0;
  for (uint32_t i = 0; i < rounds; ++i) {
    mbarrier_expect_tx(b, bytes);
    bulk_load(shared_address(box), from, bytes, b);
    // An arrive of 0 changes nothing and returns the state: bits 41:32 are the bytes outstanding in units of 2 KiB. The
    // phase stays open, for the arrival is still to come.
    uint32_t states = 0, last = ~0u, word;
    do {
      uint64_t token;
      asm volatile("mbarrier.arrive.shared.b64 %0, [%1], %2;" : "=l"(token) : "r"(b), "r"(0) : "memory");
      word = uint32_t(token >> 32) & 0x3ff;
      states += word != last;
      last = word;
    } while (word != 0);
    most = max(most, states);
    mbarrier_arrive(b);
    mbarrier_wait_parity(b, i & 1);
  }
  *seen = most;
}

std::string ask_parts(uint32_t trials) {
  constexpr uint32_t kBytes = 65536;
  DeviceBuffer<uint8_t> from(kBytes);
  from.fill(0);
  DeviceBuffer<uint32_t> seen(1);
  GEN5_CUDA(cudaFuncSetAttribute(parts, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  parts<<<1, 1, kBytes>>>(from.get(), kBytes, trials, seen.get());
  finish();
  return fmt::format("up to {} different counts of outstanding bytes seen during one load of {} bytes",
                     seen.download()[0], kBytes);
}

// ---- do loads of one thread complete in the order of issue?

__global__ void completion_order(const uint8_t* from, uint32_t first_bytes, uint32_t second_bytes, uint32_t rounds,
                                 uint32_t* overtakes) {
  extern __shared__ __align__(128) uint8_t box[];
  __shared__ uint64_t first, second;
  const uint32_t a = shared_address(&first), b = shared_address(&second);
  mbarrier_init(a, 1);
  mbarrier_init(b, 1);
  fence_mbarrier_init();
  uint32_t count = 0;
  for (uint32_t i = 0; i < rounds; ++i) {
    mbarrier_arrive_expect_tx(a, first_bytes);
    mbarrier_arrive_expect_tx(b, second_bytes);
    bulk_load(shared_address(box), from + i % 64 * 65536, first_bytes, a);
    bulk_load(shared_address(box) + first_bytes, from + i % 64 * 65536 + 32768, second_bytes, b);
    // The second's state is read before the first's: if that says done and this does not, it was overtaken.
    for (;;) {
      const bool second_done = mbarrier_test_wait_parity(b, i & 1), first_done = mbarrier_test_wait_parity(a, i & 1);
      if (second_done && !first_done) {
        ++count;
        break;
      }
      if (first_done) break;
    }
    mbarrier_wait_parity(a, i & 1);
    mbarrier_wait_parity(b, i & 1);
  }
  *overtakes = count;
}

std::string ask_completion_order(uint32_t trials) {
  DeviceBuffer<uint8_t> from(64 * 65536);
  from.fill(0);
  DeviceBuffer<uint32_t> overtakes(1);
  GEN5_CUDA(cudaFuncSetAttribute(completion_order, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  std::string out;
  for (const auto& [first, second] : {std::pair{32768u, 16u}, {4096u, 4096u}, {16u, 16u}}) {
    completion_order<<<1, 1, 65536>>>(from.get(), first, second, trials, overtakes.get());
    finish();
    out += fmt::format("{}{} bytes, then {}: the second was complete first in {} of {}", out.empty() ? "" : "; ", first,
                       second, overtakes.download()[0], trials);
  }
  return out;
}

// ---- how far apart do the CTAs of a cluster see a multicast complete?

__global__ void __cluster_dims__(2, 1, 1) multicast(const uint8_t* from, uint32_t bytes, uint32_t rounds, int64_t* at) {
  extern __shared__ __align__(128) uint8_t box[];
  __shared__ uint64_t bar;
  const uint32_t rank = cluster_ctarank(), b = shared_address(&bar);
  mbarrier_init(b, 1);
  fence_mbarrier_init();
  for (uint32_t i = 0; i < rounds; ++i) {
    mbarrier_arrive_expect_tx(b, bytes);
    barrier_cluster_arrive();
    barrier_cluster_wait();
    const int64_t together = clock_now();  // the SMs' clocks differ: both leave the cluster barrier at about one time
    if (rank == 0)
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
          "%4;" ::"r"(shared_address(box)),
          "l"(from), "r"(bytes), "r"(b), "h"(uint16_t(3))
          : "memory");
    while (!mbarrier_test_wait_parity(b, i & 1)) {
    }
    at[i * 2 + rank] = clock_now() - together;
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

std::string ask_multicast(uint32_t trials) {
  constexpr uint32_t kBytes = 16384;
  const uint32_t rounds = std::min(trials, 2000u);
  DeviceBuffer<uint8_t> from(kBytes);
  from.fill(0);
  DeviceBuffer<int64_t> at(2 * rounds);
  multicast<<<2, 1, kBytes>>>(from.get(), kBytes, rounds, at.get());
  finish();
  const std::vector<int64_t> t = at.download();
  std::vector<int64_t> skew;
  for (uint32_t i = rounds / 10; i < rounds; ++i) skew.push_back(t[2 * i + 1] - t[2 * i]);
  std::sort(skew.begin(), skew.end());
  return fmt::format("{} bytes to two CTAs: the other one sees them {} to {} cycles later, median {}", kBytes,
                     skew.front(), skew.back(), skew[skew.size() / 2]);
}

// ---- shared memory of a CTA that has exited while its bulk store still reads it

constexpr uint32_t kExitBytes = 98304;

__global__ void exit_early(uint32_t* to) {
  extern __shared__ __align__(128) uint32_t source[];
  for (uint32_t i = threadIdx.x; i < kExitBytes / 4; i += blockDim.x) source[i] = blockIdx.x;
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(to + blockIdx.x * size_t(kExitBytes / 4), shared_address(source), kExitBytes);
    bulk_commit_group();
  }
}

std::string ask_exit(uint32_t trials) {
  const uint32_t ctas = std::min(trials, 8192u);
  DeviceBuffer<uint32_t> to(ctas * size_t(kExitBytes / 4));
  to.fill(0xff);
  GEN5_CUDA(cudaFuncSetAttribute(exit_early, cudaFuncAttributeMaxDynamicSharedMemorySize, int(kExitBytes)));
  exit_early<<<ctas, 256, kExitBytes>>>(to.get());
  finish();
  const std::vector<uint32_t> got = to.download();
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) wrong += got[i] != i / (kExitBytes / 4);
  return fmt::format("{} wrong words of {}, from {} CTAs that exited behind their stores", wrong, got.size(), ctas);
}

// ---- what a dependent grid sees of the primary's stores before griddepcontrol.wait

template <bool Fence>
__global__ void primary(uint32_t* data, uint32_t epoch, uint64_t linger, uint32_t* ended) {
  data[threadIdx.x] = epoch;
  if (Fence) __threadfence();
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const int64_t from = clock_now();
  while (uint64_t(clock_now() - from) < linger) {
  }
  if (threadIdx.x == 0) *reinterpret_cast<volatile uint32_t*>(ended) = epoch;
}

__global__ void dependent(const uint32_t* data, uint32_t epoch, const uint32_t* ended, uint32_t* stale,
                          uint32_t* early) {
  uint32_t v, e;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(data + threadIdx.x) : "memory");
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(e) : "l"(ended) : "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (v != epoch) atomicAdd(stale, 1);
  if (e != epoch && threadIdx.x == 0) atomicAdd(early, 1);
}

std::string ask_dependents(uint32_t trials) {
  const uint32_t rounds = std::min(trials, 5000u);
  std::string out;
  for (const bool fence : {false, true}) {
    DeviceBuffer<uint32_t> data(256), ended(1), counts(2);
    for (DeviceBuffer<uint32_t>* b : {&data, &ended, &counts}) b->fill(0);
    for (uint32_t epoch = 1; epoch <= rounds; ++epoch) {
      if (fence)
        primary<true><<<1, 256>>>(data.get(), epoch, 20000, ended.get());
      else
        primary<false><<<1, 256>>>(data.get(), epoch, 20000, ended.get());
      cudaLaunchAttribute attribute{};
      attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attribute.val.programmaticStreamSerializationAllowed = 1;
      cudaLaunchConfig_t config{};
      config.gridDim = 1;
      config.blockDim = 256;
      config.attrs = &attribute;
      config.numAttrs = 1;
      GEN5_CUDA(cudaLaunchKernelEx(&config, dependent, const_cast<const uint32_t*>(data.get()), epoch,
                                   const_cast<const uint32_t*>(ended.get()), counts.get(), counts.get() + 1));
    }
    finish();
    const std::vector<uint32_t> c = counts.download();
    out +=
        fmt::format("{}{}: {} of {} words stale, {} of {} dependents began before the primary's end", fence ? "; " : "",
                    fence ? "behind a fence" : "without a fence", c[0], rounds * 256, c[1], rounds);
  }
  return out;
}

// ---- bulk.wait_group with more groups allowed than there are

__global__ void wait_groups(uint8_t* to, int64_t* cycles) {
  __shared__ alignas(128) uint8_t source[16384];
  fence_proxy_async_shared();
  for (int i = 0; i < 3; ++i) {
    bulk_store(to, shared_address(source), sizeof source);
    bulk_commit_group();
    const int64_t t0 = clock_now();
    bulk_wait_group<3>();
    const int64_t t1 = clock_now();
    bulk_wait_group<0>();
    const int64_t t2 = clock_now();
    cycles[0] = t1 - t0;
    cycles[1] = t2 - t1;
  }
}

std::string ask_wait_groups(uint32_t) {
  DeviceBuffer<uint8_t> to(16384);
  DeviceBuffer<int64_t> cycles(2);
  wait_groups<<<1, 1>>>(to.get(), cycles.get());
  finish();
  const auto c = cycles.download();
  return fmt::format("one group pending: wait_group 3 returns after {} cycles, wait_group 0 after {} more", c[0], c[1]);
}

// ---- where a tensor copy's box may begin in shared memory

__global__ void box_at(const __grid_constant__ CUtensorMap map, uint32_t offset, uint32_t* out) {
  __shared__ alignas(1024) uint8_t box[4096];
  __shared__ uint64_t bar;
  const uint32_t b = shared_address(&bar);
  mbarrier_init(b, 1);
  fence_mbarrier_init();
  mbarrier_arrive_expect_tx(b, 1024);
  tensor_load_2d(shared_address(box) + offset, &map, 0, 0, b);
  mbarrier_wait_parity(b, 0);
  uint32_t right = 0;
  for (uint32_t i = 0; i < 256; ++i) right += load_shared(shared_address(box) + offset + i * 4) == i;
  *out = right;
}

template <uint32_t Offset>
std::string ask_box(uint32_t) {
  std::vector<uint32_t> words(256);
  for (uint32_t i = 0; i < 256; ++i) words[i] = i;
  DeviceBuffer<uint32_t> data(words), out(1);
  const CUtensorMap map = gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, data.get(), 16, 16, 16, 16, 16,
                                                    CU_TENSOR_MAP_SWIZZLE_NONE);
  box_at<<<1, 1>>>(map, Offset, out.get());
  finish();
  return fmt::format("{} of 256 words at their places", out.download()[0]);
}

// ---- how large a cluster may be

__global__ void any_size(uint32_t* ranks) { ranks[blockIdx.x] = cluster_nctarank(); }

std::string ask_cluster_sizes(uint32_t) {
  GEN5_CUDA(cudaFuncSetAttribute(any_size, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  DeviceBuffer<uint32_t> ranks(64);
  std::string out;
  for (uint32_t size = 1; size <= 20; ++size) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {size, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = size;
    config.blockDim = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    ranks.fill(0);
    const cudaError_t e = cudaLaunchKernelEx(&config, any_size, ranks.get());
    if (e == cudaSuccess) {
      finish();
      out += fmt::format(" {}", ranks.download()[0]);
    } else {
      out += fmt::format(" {}:{}", size, cudaGetErrorName(e));
      cudaGetLastError();
    }
  }
  return "clusters launched, non-portable sizes allowed:" + out;
}

struct Question {
  std::string name, text;
  std::function<std::string(uint32_t)> ask;
};

const std::vector<Question>& questions() {
  static const std::vector<Question> all = {
      {"war", "ld.shared, arrive, wait, TMA load over it without a proxy fence: is the new data ever read?", ask_war},
      {"handoff", "data behind a remote arrive of default scope: is it ever stale?", ask_handoff},
      {"parts", "does a bulk load complete its bytes in parts?", ask_parts},
      {"completion_order", "do one thread's bulk loads complete in order?", ask_completion_order},
      {"multicast", "how far apart does a multicast complete?", ask_multicast},
      {"exit", "a CTA exits while its bulk store reads its shared memory: is the data safe?", ask_exit},
      {"dependents", "does a dependent grid see the primary's stores before griddepcontrol.wait?", ask_dependents},
      {"wait_groups", "wait_group with more groups allowed than pending", ask_wait_groups},
      {"box_16", "an unswizzled box at 16 bytes past a multiple of 128", ask_box<16>},
      {"box_32", "at 32 bytes past", ask_box<32>},
      {"box_64", "at 64 bytes past", ask_box<64>},
      {"box_128", "at 128 bytes past a multiple of 1024", ask_box<128>},
      {"cluster_sizes", "which cluster sizes launch?", ask_cluster_sizes},
  };
  return all;
}

/// Asks in a child process and prints the answer, which may be an error.
bool ask(const Question& q, uint32_t trials) {
  fmt::print("{}: {}\n  ", q.name, q.text);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    try {
      fmt::print("{}\n", q.ask(trials));
    } catch (const gen5::harness::CudaError& e) {
      fmt::print("{}\n", e.what());
    }
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What a GPU does where the manual leaves the order of effects open");
  uint32_t trials = 100000;
  std::vector<std::string> names;
  app.add_option("--trials", trials, "Rounds of each question")->check(CLI::Range(100u, 100000000u));
  app.add_option("questions", names, "Only these");
  CLI11_PARSE(app, argc, argv);
  size_t asked = 0;
  bool answered = true;
  for (const Question& q : questions()) {
    if (!names.empty() && std::find(names.begin(), names.end(), q.name) == names.end()) continue;
    answered &= ask(q, trials);
    ++asked;
  }
  fmt::print("{} questions asked\n", asked);
  return answered && asked ? 0 : 1;
}
