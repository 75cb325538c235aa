// Chapter 00: order. Who sees what, and when.
//
//   scripts/run 00_order                        the table: what every pair of steps needs, and what happens without it
//   scripts/run 00_order --mistake no_copy_wait one of its cells, as a lesson
//
// Threads, the copy unit and the tensor core work side by side, and nothing is in order by itself. Each kernel here
// does two things, A and then B, and between the two stands what makes B see A. mistakes.txt takes it away. Read the
// kernels as a list to come back to: each is short, and names the chapter that teaches its instructions.
// notes/00_order.md beside it.
#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "chapters/tensor_kernel.cuh"
#include "common/harness/chapter.h"
#include "common/harness/child.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/mistake.h"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;
using gen5::layout::at_address;

constexpr uint32_t kThreads = 128;

// ---- 1. Threads of a block: a barrier of threads, or an mbarrier

/// A: a thread stores to shared memory. B: another one reads it.
__global__ void threads(uint32_t* out) {
  __shared__ uint32_t words[kThreads];
  words[threadIdx.x] = threadIdx.x * 3;
  __syncthreads();
  out[threadIdx.x] = words[kThreads - 1 - threadIdx.x];
}

// ---- 2. Threads and the copy unit: two proxies (chapter 02)

/// A: threads store to shared memory. B: a bulk copy reads it, through the async proxy.
__global__ void store(uint32_t* out) {
  __shared__ alignas(128) uint32_t words[kThreads];
  words[threadIdx.x] = threadIdx.x * 3;
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(out, shared_address(words), sizeof words);
    bulk_commit_group();
    bulk_wait_group<0>();
  }
}

/// A: a bulk copy writes shared memory. B: threads read it. No fence: the mbarrier's phase has seen the bytes.
__global__ void load(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t words[kThreads];
  __shared__ alignas(8) uint64_t landed;
  const uint32_t bar = shared_address(&landed);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(bar, sizeof words);
    bulk_load(shared_address(words), from, sizeof words, bar);
  }
  __syncthreads();
  mbarrier_wait_parity(bar, 0);
  out[threadIdx.x] = words[threadIdx.x];
}

/// A: threads read shared memory. B: a bulk copy overwrites it. The reads, too, belong to the other proxy.
__global__ void refill(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t words[kThreads];
  __shared__ alignas(8) uint64_t landed;
  const uint32_t bar = shared_address(&landed);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  for (uint32_t round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(bar, sizeof words);
      bulk_load(shared_address(words), from + round * kThreads, sizeof words, bar);
    }
    mbarrier_wait_parity(bar, round);
    out[round * kThreads + threadIdx.x] = words[threadIdx.x];
    fence_proxy_async_shared();
    __syncthreads();
  }
}

/// A: a bulk copy reads shared memory. B: a thread overwrites it.
__global__ void reuse(uint32_t* out) {
  __shared__ alignas(128) uint32_t words[4];
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < 4; ++i) words[i] = round * 4 + i;
    fence_proxy_async_shared();
    bulk_store(out + round * 4, shared_address(words), sizeof words);
    bulk_commit_group();
    bulk_wait_group_read<0>();
  }
}

/// A: a bulk copy writes global memory. B: the thread that asked for it reads that.
__global__ void return_trip(uint32_t* scratch, uint32_t* out) {
  __shared__ alignas(128) uint32_t words[4];
  for (uint32_t i = 0; i < 4; ++i) words[i] = i + 1;
  fence_proxy_async_shared();
  bulk_store(scratch, shared_address(words), sizeof words);
  bulk_commit_group();
  bulk_wait_group<0>();
  for (uint32_t i = 0; i < 4; ++i) out[i] = scratch[i];
}

// ---- 3. The tensor core (chapter 05)

constexpr uint32_t kM = 128, kN = 16, kK = 16;
constexpr uint32_t kInstruction = gen5::layout::instruction_descriptor({.m = kM, .n = kN});
template <uint32_t kRows>
constexpr uint64_t kOperand =
    gen5::layout::smem_descriptor({.swizzle = gen5::layout::Swizzle::none, .leading = kRows * 16, .stride = 128});

/// A: threads store operands. B: tcgen05.mma reads them. Then A: it reads them. B: threads overwrite them. And A: it
/// writes Tensor Memory. B: tcgen05.ld reads that.
__global__ void multiply(uint32_t* out) {
  __shared__ alignas(128) uint16_t a[kM * kK], b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t d = tensor_kernel::begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += kThreads) a[i] = 0x3f80;  // 1.0
  for (uint32_t i = threadIdx.x; i < kN * kK; i += kThreads) b[i] = 0x3f80;
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tcgen05_mma_f16(d, at_address(kOperand<kM>, shared_address(a)), at_address(kOperand<kN>, shared_address(b)),
                    kInstruction, false);
    tcgen05_commit(shared_address(&barrier));
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);  // the operands have been read, and D is there
  a[threadIdx.x] = 0;
  tcgen05_fence_after_thread_sync();
  uint32_t r[1];
  tcgen05_ld_32x32b(r, d + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  out[threadIdx.x] = r[0];
  tensor_kernel::end(d, 32);
}

// ---- 4. Tensor Memory and threads (chapter 04)

/// A: tcgen05.st. B: tcgen05.ld by the same warp. Then A: the load. B: its registers are used.
__global__ void cells(uint32_t* out) {
  __shared__ uint32_t slot;
  tcgen05_alloc(shared_address(&slot), 32);
  __syncwarp();
  const uint32_t address = slot, put[1] = {threadIdx.x * 3};
  uint32_t got[1];
  tcgen05_st_32x32b(address, put);
  tcgen05_wait_st();
  tcgen05_ld_32x32b(got, address);
  tcgen05_wait_ld();
  out[threadIdx.x] = got[0];
  tcgen05_dealloc(address, 32);
}

/// A: tcgen05.st. B: tcgen05.ld by another warp: a wait, and a fence on either side of the barrier.
__global__ void cells_of_another(uint32_t* out) {
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  if (threadIdx.x < 32) {
    const uint32_t put[1] = {threadIdx.x * 3};
    tcgen05_st_32x32b(address, put);
    tcgen05_wait_st();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x >= 128) {
    uint32_t got[1];
    tcgen05_ld_32x32b(got, address);
    tcgen05_wait_ld();
    out[threadIdx.x - 128] = got[0];
  }
  tensor_kernel::end(address, 32);
}

/// A: tcgen05.ld. B: the cells are written again, by another warp.
__global__ void cells_again(uint32_t* out) {
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = tensor_kernel::begin(&slot, &barrier, 32);
  uint32_t r[1] = {7};
  if (threadIdx.x < 32) {
    tcgen05_st_32x32b(address, r);
    tcgen05_wait_st();
    tcgen05_ld_32x32b(r, address);
    tcgen05_wait_ld();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x >= 128) {
    const uint32_t other[1] = {9};
    tcgen05_st_32x32b(address, other);
    tcgen05_wait_st();
  }
  if (threadIdx.x < 32) out[threadIdx.x] = r[0];
  tensor_kernel::end(address, 32);
}

// ---- 5. Blocks: scopes (chapters 11 and 12)

/// A: a block stores to global memory and raises a flag. B: another one sees the flag and reads.
__global__ void flag(uint32_t* data, uint32_t* flag, uint32_t* out) {
  if (blockIdx.x == 0) {
    *data = 42;
    asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
    uint32_t seen = 0;
    while (!seen) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    *out = *data;
  }
}

/// A: a block of a cluster stores into the other's shared memory. B: the other reads it.
__global__ void __cluster_dims__(2) peer(uint32_t* out) {
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t word;
  const uint32_t bar = shared_address(&barrier), rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (rank == 1 && threadIdx.x == 0) {
    st_shared_cluster(mapa(shared_address(&word), 0), 42);
    mbarrier_arrive_cluster(mapa(bar, 0));
  }
  if (rank == 0 && threadIdx.x == 0) {
    mbarrier_wait_parity_cluster(bar, 0);
    *out = word;
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

// ---- Each runs a kernel and says whether its numbers are right

bool counts(const std::vector<uint32_t>& got, uint32_t step, bool backward = false) {
  for (uint32_t i = 0; i < got.size(); ++i)
    if (got[i] != step * (backward ? uint32_t(got.size()) - 1 - i : i)) return false;
  return true;
}

template <class Launch>
std::vector<uint32_t> results(size_t count, Launch launch) {
  DeviceBuffer<uint32_t> out(count);
  out.fill(0xff);
  launch(out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return out.download();
}

std::vector<uint32_t> threes(size_t count) {
  std::vector<uint32_t> words(count);
  for (uint32_t i = 0; i < count; ++i) words[i] = 3 * i;
  return words;
}

bool threads_right(void (*kernel)(uint32_t*)) {
  return counts(results(kThreads, [&](uint32_t* out) { kernel<<<1, kThreads>>>(out); }), 3, true);
}
bool store_right(void (*kernel)(uint32_t*)) {
  return counts(results(kThreads, [&](uint32_t* out) { kernel<<<1, kThreads>>>(out); }), 3);
}
bool load_right(void (*kernel)(const uint32_t*, uint32_t*), uint32_t rounds) {
  DeviceBuffer<uint32_t> from(threes(rounds * kThreads));
  return counts(results(rounds * kThreads, [&](uint32_t* out) { kernel<<<1, kThreads>>>(from.get(), out); }), 3);
}
bool reuse_right(void (*kernel)(uint32_t*)) {
  return counts(results(8, [&](uint32_t* out) { kernel<<<1, 1>>>(out); }), 1);
}
bool return_right(void (*kernel)(uint32_t*, uint32_t*)) {
  DeviceBuffer<uint32_t> scratch(4);
  scratch.fill(0);
  const auto got = results(4, [&](uint32_t* out) { kernel<<<1, 1>>>(scratch.get(), out); });
  return got == std::vector<uint32_t>{1, 2, 3, 4};
}
bool multiply_right(void (*kernel)(uint32_t*)) {
  const auto got = results(kThreads, [&](uint32_t* out) { kernel<<<1, kThreads>>>(out); });
  return got == std::vector<uint32_t>(kThreads, std::bit_cast<uint32_t>(float(kK)));
}
bool cells_right(void (*kernel)(uint32_t*), uint32_t threads) {
  return counts(results(32, [&](uint32_t* out) { kernel<<<1, threads>>>(out); }), 3);
}
bool cells_again_right(void (*kernel)(uint32_t*)) {
  return results(32, [&](uint32_t* out) { kernel<<<1, 160>>>(out); }) == std::vector<uint32_t>(32, 7);
}
bool flag_right(void (*kernel)(uint32_t*, uint32_t*, uint32_t*)) {
  DeviceBuffer<uint32_t> data(1), flag(1);
  data.fill(0);
  flag.fill(0);
  return results(1, [&](uint32_t* out) { kernel<<<2, 1>>>(data.get(), flag.get(), out); })[0] == 42;
}
bool peer_right(void (*kernel)(uint32_t*)) {
  return results(1, [&](uint32_t* out) { kernel<<<2, 32>>>(out); })[0] == 42;
}

#include "mistakes.inc"

// ---- The table

struct Cell {
  const char *a, *b, *needs;
  const char* mistake;  // takes it away; null: nothing is needed
};
constexpr Cell kCells[] = {
    {"st.shared", "ld.shared of another thread", "a barrier, or arrive and wait", "no_barrier"},
    {"st.shared", "bulk copy reads", "fence.proxy.async, then a barrier", "no_store_fence"},
    {"bulk copy writes shared", "ld.shared", "a wait on its mbarrier", "no_copy_wait"},
    {"ld.shared", "bulk copy overwrites", "fence.proxy.async, then a barrier", "no_refill_fence"},
    {"bulk copy reads shared", "st.shared", "wait_group.read", "no_group_wait"},
    {"bulk copy writes global", "ld.global", "wait_group", "read_wait_only"},
    {"st.shared", "tcgen05.mma reads", "fence.proxy.async, then a barrier", "no_operand_fence"},
    {"tcgen05.mma reads", "st.shared", "commit, a wait on its mbarrier", "operands_early"},
    {"tcgen05.mma writes D", "tcgen05.ld", "commit, wait, fence::after", "result_early"},
    {"tcgen05.st", "tcgen05.ld, same warp", "wait::st", "no_st_wait"},
    {"tcgen05.st", "tcgen05.ld, other warp", "wait::st, fence::before, barrier, fence::after", "no_tmem_fences"},
    {"tcgen05.ld", "the cells written again", "wait::ld, fence::before, barrier, fence::after", "no_ld_wait"},
    {"st.global, a flag", "the flag, ld.global, other block", "st.release.gpu, ld.acquire.gpu", "relaxed_flag"},
    {"st.shared::cluster", "ld.shared, other block", "arrive.release.cluster, wait.acquire.cluster", "own_scope"},
};

const Mistake& mistake_of(const Cell& cell) {
  for (const Mistake& m : kMistakes)
    if (m.name == cell.mistake) return m;
  throw std::runtime_error(fmt::format("there is no mistake {}", cell.mistake));
}

void part_table(Report& r) {
  r.say(
      "Each line: A, then B, and what must stand between the two so that B comes after A. The last columns show the "
      "same kernel without it, run with effects as late as is allowed (GEN5_ORDER=late).");
  const bool tinygpu = current_device().tinygpu;
  Table t({"A", "then B", "needs", "without it: numbers", "tinygpu says", "--mistake"}, 6);
  bool all_right = true, all_told = true;
  for (const Cell& cell : kCells) {
    const Mistake& m = mistake_of(cell);
    all_right &= m.right();
    std::string numbers = "not run", codes = "-";
    if (tinygpu) {
      std::vector<std::string> settings = {"GEN5_ORDER=late"};
      if (!m.set.empty()) settings.push_back(m.set);
      const Child child = run_again({"--mistake", m.name, "--kernel", "wrong"}, settings, 60);
      numbers = child.status == 0 ? "right, by luck" : child.status == 1 ? "wrong" : "none";
      const auto found = codes_in(child.errors);
      const auto promised = listed(m.says);
      codes = promised.empty() ? "" : promised[0];
      all_told &= !promised.empty() && std::ranges::find(found, promised[0]) != found.end();
    }
    t.row({cell.a, cell.b, cell.needs, numbers, codes, m.name});
  }
  r.table(t);
  r.check("with what it needs, every kernel gives the right numbers", all_right);
  if (tinygpu) r.check("without it, every kernel is diagnosed", all_told);
  r.say(
      "Some instructions keep their order without a wait or fence: tcgen05.mma and tcgen05.mma into the same "
      "accumulator, and tcgen05.cp and a later tcgen05.mma (one thread, same cta_group). The same holds for a bulk "
      "copy whose mbarrier has been waited for and the tcgen05.mma that reads its bytes: both use the async proxy.");
}

void part_words(Report& r) {
  r.say(
      "Four words. A proxy is a path to memory: ordinary loads and stores use the generic proxy, TMA and the tensor "
      "core the async proxy; fence.proxy.async makes ordinary accesses visible to the async proxy. Release and acquire "
      "order threads: a thread that acquires sees what another thread did before its release, within a scope: .cta, "
      ".cluster, .gpu. A completion says that a unit is done: the end of an mbarrier's phase (loads complete their "
      "bytes, tcgen05.commit arrives), a bulk group, tcgen05.wait. And tcgen05.fence carries tcgen05 work across a "
      "synchronisation of threads: ::before in the thread that did the work, ::after in the thread that continues.");
  Table t({"signal", "sent by", "waited for by", "orders"}, 4);
  t.row({"barrier (bar.sync)", "threads of a block", "the same threads", "their accesses, generic proxy"});
  t.row({"mbarrier, arrive", "any thread of the cluster", "threads of its block", "the arriver's accesses, by scope"});
  t.row({"mbarrier, complete_tx", "a bulk load", "threads of its block", "the copied bytes"});
  t.row(
      {"mbarrier, commit", "the tensor core", "threads of its block", "MMAs, cp, shift of the thread that committed"});
  t.row({"bulk group", "bulk stores of a thread", "that thread", ".read: sources free; else: written"});
  t.row({"tcgen05.wait::ld, ::st", "a warp's ld and st", "that warp", "its registers; its cells"});
  r.table(t);
}

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("00", "order", "What must stand between A and B so that B sees A.");
  chapter.part("words", "Four words", part_words);
  chapter.part("table", "A, then B", part_table);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}
