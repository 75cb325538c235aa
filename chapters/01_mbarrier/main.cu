// Chapter 01: mbarrier.
//
//   scripts/run 01_mbarrier                        every part
//   scripts/run 01_mbarrier --part ring            one of them
//   scripts/run 01_mbarrier --mistake parity       a kernel that breaks a rule, and what is said about it
//
// An mbarrier is 8 bytes of shared memory that count arrivals and bytes. Every asynchronous unit of Hopper and
// Blackwell (bulk copies, the tensor core, cp.async) reports to one, so everything later in this book waits on them.
// Runs on Hopper too. Read this file from the top, notes/01_mbarrier.md beside it.
#include <fmt/core.h>

#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/pipeline_run.h"
#include "common/harness/stamps.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/elect.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;

// ---- 1. Phases

struct Step {
  uint32_t pending, even_done, odd_done;
};

/// What the object says about itself: the arrivals pending now, and whether the phases of either parity are over. An
/// arrive with a count of 0 returns the state and changes nothing.
__device__ Step look(uint32_t bar) {
  Step s;
  s.pending = mbarrier_pending_count(mbarrier_arrive_no_complete(bar, 0));
  s.even_done = mbarrier_test_wait_parity(bar, 0);
  s.odd_done = mbarrier_test_wait_parity(bar, 1);
  return s;
}

// One thread, a barrier of two arrivals: look after every arrive.
__global__ void phases(Step* out) {
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  mbarrier_init(bar, 2);
  out[0] = look(bar);
  for (int i = 1; i <= 5; ++i) {
    mbarrier_arrive(bar);
    out[i] = look(bar);
  }
  mbarrier_inval(bar);
}

void part_phases(Report& r) {
  DeviceBuffer<Step> out(6);
  phases<<<1, 1>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto steps = out.download();
  r.say(
      "An mbarrier with a count of two ends a phase at every second arrive and starts the next phase by itself. A "
      "thread cannot ask for the number of the phase, only for its parity: test_wait.parity p is true when the latest "
      "phase of parity p has ended, that is, when the current phase has the other parity. So a fresh mbarrier returns "
      "true for parity 1.");
  Table t({"after", "arrivals missing", "parity 0 ended?", "parity 1 ended?", "so the phase is"});
  bool holds = true;
  for (uint32_t i = 0; i < 6; ++i) {
    const Step& s = steps[i];
    t.row({i ? fmt::format("arrive {}", i) : "init", std::to_string(s.pending), s.even_done ? "yes" : "no",
           s.odd_done ? "yes" : "no", std::to_string(i / 2)});
    holds &= s.pending == 2 - i % 2 && s.even_done == (i / 2 % 2 == 1) && s.odd_done == (i / 2 % 2 == 0);
  }
  r.table(t);
  r.check("a phase ends with its last arrival, and the next begins", holds);
}

// ---- 2. Arrivals and what they return

struct Arrivals {
  uint64_t token[3];
  uint32_t done[4];
  uint32_t after_drop;
};

// Three threads' worth of arrivals: by one, by two at once, and one that leaves for good.
__global__ void arrivals(Arrivals* out) {
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  mbarrier_init(bar, 4);
  out->token[0] = mbarrier_arrive(bar);     // 3 missing
  out->token[1] = mbarrier_arrive(bar, 2);  // 1 missing
  out->done[0] = mbarrier_test_wait(bar, out->token[0]);
  out->token[2] = mbarrier_arrive_drop(bar);  // the last of this phase; later phases expect 3
  for (int i = 0; i < 3; ++i) out->done[1 + i] = mbarrier_test_wait(bar, out->token[i]);
  out->after_drop = mbarrier_pending_count(mbarrier_arrive_no_complete(bar, 0));
}

void part_arrivals(Report& r) {
  DeviceBuffer<Arrivals> out(1);
  arrivals<<<1, 1>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const Arrivals a = out.download()[0];
  r.say(
      "arrive returns the state of the phase in which it arrived: a token, which test_wait and try_wait take instead "
      "of a parity. arrive_drop arrives and lowers the count of all later phases by one.");
  r.check("the phase has not ended while an arrival is missing", a.done[0] == 0);
  r.check("all tokens of the phase say so when it ends", a.done[1] && a.done[2] && a.done[3]);
  r.check("after arrive_drop the next phase expects 3 instead of 4", a.after_drop == 3,
          fmt::format("pending {}", a.after_drop));
}

// ---- 3. Transactions

struct Transactions {
  uint32_t over[5];
  uint32_t data[4];
};

// Bytes count beside arrivals: a phase ends when no arrival is missing and no expected byte either.
__global__ void transactions(const uint32_t* from, Transactions* out) {
  __shared__ alignas(16) uint32_t buffer[64];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  mbarrier_init(bar, 1);
  mbarrier_expect_tx(bar, 48);
  mbarrier_arrive(bar);
  out->over[0] = mbarrier_test_wait_parity(bar, 0);  // 48 bytes missing
  mbarrier_complete_tx(bar, 32);
  out->over[1] = mbarrier_test_wait_parity(bar, 0);  // 16 bytes missing
  mbarrier_complete_tx(bar, 16);
  out->over[2] = mbarrier_test_wait_parity(bar, 0);
  // The other way round is fine too: bytes may land before anybody expects them.
  mbarrier_complete_tx(bar, 16);
  out->over[3] = mbarrier_test_wait_parity(bar, 1);
  mbarrier_arrive_expect_tx(bar, 16);
  out->over[4] = mbarrier_test_wait_parity(bar, 1);
  // And what it is for: a copy that reports its own bytes.
  fence_proxy_async_shared();
  mbarrier_arrive_expect_tx(bar, sizeof buffer);
  bulk_load(shared_address(buffer), from, sizeof buffer, bar);
  mbarrier_wait_parity(bar, 0);
  for (int i = 0; i < 4; ++i) out->data[i] = buffer[i * 21];
}

void part_transactions(Report& r) {
  std::vector<uint32_t> host(64);
  for (uint32_t i = 0; i < 64; ++i) host[i] = i * i;
  DeviceBuffer<uint32_t> from(host);
  DeviceBuffer<Transactions> out(1);
  transactions<<<1, 1>>>(from.get(), out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const Transactions t = out.download()[0];
  r.say(
      "expect_tx adds bytes to the transaction count, complete_tx subtracts them. A bulk copy does the complete_tx by "
      "itself when its bytes have landed, so the thread that starts the copy expects the bytes, and arrives.");
  r.check("the last arrival does not end a phase while bytes are missing", !t.over[0] && !t.over[1]);
  r.check("the last byte does", t.over[2]);
  r.check("bytes that land before their expect_tx keep the phase open until both have come", !t.over[3] && t.over[4]);
  bool copied = true;
  for (uint32_t i = 0; i < 4; ++i) copied &= t.data[i] == host[i * 21];
  r.check("after the wait the copied bytes are there", copied);
}

// ---- 4. A ring

constexpr int kItems = 64, kChunk = 256;  // words

template <int kStages>
struct Ring {
  uint64_t full[kStages], empty[kStages];
};

// A producer warp copies chunks into a ring of stages, a consumer warp sums them. full[s] says that a chunk has landed,
// empty[s] that it has been read. The producer's first wait on empty[s] must pass on a fresh barrier: it starts with
// parity 1. (The Stamps are for the timeline on a GPU: clock readings, or nothing.)
template <int kStages, bool kStamped>
__global__ void ring(const uint32_t* from, uint32_t* sums, uint64_t* stamps) {
  __shared__ alignas(128) uint32_t buffer[kStages][kChunk];
  __shared__ Ring<kStages> barriers;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&barriers.full[s]), 1);
      mbarrier_init(shared_address(&barriers.empty[s]), 32);  // every lane of the consumer reads
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (warp == 0) {
    if (lane != 0) return;
    Stamps<kStamped> asked(stamps, Moment::asked);
    for (int i = 0; i < kItems; ++i) {
      const int stage = i % kStages;
      const uint32_t round = uint32_t(i / kStages);
      const uint32_t full = shared_address(&barriers.full[stage]), empty = shared_address(&barriers.empty[stage]);
      mbarrier_wait_parity(empty, (round & 1) ^ 1);
      asked.take();
      mbarrier_arrive_expect_tx(full, kChunk * 4);
      bulk_load(shared_address(buffer[stage]), from + i * kChunk, kChunk * 4, full);
    }
  } else {
    Stamps<kStamped> landed(stamps, Moment::landed, lane == 0), done(stamps, Moment::done, lane == 0);
    for (int i = 0; i < kItems; ++i) {
      const int stage = i % kStages;
      const uint32_t round = uint32_t(i / kStages);
      const uint32_t full = shared_address(&barriers.full[stage]), empty = shared_address(&barriers.empty[stage]);
      mbarrier_wait_parity(full, round & 1);
      landed.take();
      uint32_t sum = 0;
      for (uint32_t k = lane; k < kChunk; k += 32) sum += buffer[stage][k];
      fence_proxy_async_shared();  // these reads before the copy that will overwrite them
      mbarrier_arrive(empty);
      done.take();
      for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
      if (lane == 0) sums[i] = sum;
    }
  }
}

template <int kStages>
void launch_ring(const uint32_t* from, uint32_t* sums, uint64_t* stamps) {
  if (stamps)
    ring<kStages, true><<<1, 64>>>(from, sums, stamps);
  else
    ring<kStages, false><<<1, 64>>>(from, sums, nullptr);
}

void part_ring(Report& r) {
  constexpr int kStages = 4;
  std::vector<uint32_t> host(kItems * kChunk), want(kItems);
  for (uint32_t i = 0; i < host.size(); ++i) {
    host[i] = i * 2654435761u;
    want[i / kChunk] += host[i];
  }
  DeviceBuffer<uint32_t> from(host), sums(kItems);
  const PipelineShape shape{.load = "cp.async.bulk load", .loads_of_a_block = 1, .worker = 1};
  const auto run = [&](auto launch) {
    sums.fill(0xff);
    const Pipeline p =
        run_pipeline(shape, r.stamps(), [&](uint64_t* stamps) { launch(from.get(), sums.get(), stamps); });
    return std::pair(p, sums.download() == want);
  };
  const auto [one, one_right] = run(launch_ring<1>);
  const auto [four, four_right] = run(launch_ring<kStages>);
  r.say(
      fmt::format("{} chunks of {} bytes through {} stages. Round n of a stage waits for parity n mod 2 on full, and "
                  "for the other parity on empty: in the producer's first round a wait for parity 1 on empty[s] passes "
                  "at once.",
                  kItems, kChunk * 4, kStages));
  r.check("every chunk arrived whole, in order, and none was overwritten while it was read", four_right);
  r.check("with one stage, too", one_right);
  r.say("");
  const PipelineNames names{.loads = "bulk copy", .work = "consumer", .outputs = ""};
  r.picture(draw({picture_of(one, "One stage:", names), picture_of(four, "Four stages:", names)}, {.window = 4200}));
  r.say(legend(four, names, "chunks"));
  r.say(
      "What to see: with one stage the consumer waits for a whole copy after each chunk, and the copy waits for the "
      "consumer. With four stages the next copies are on their way while the consumer sums a chunk: the latency is "
      "paid once.");
}

// ---- 5. Another CTA's barrier

// Both CTAs of a cluster arrive on rank 0's barrier; only rank 0 can wait on it.
__global__ void __cluster_dims__(2) remote(uint32_t* out) {
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t mailbox[2];
  const uint32_t rank = cluster_ctarank();
  const uint32_t bar = shared_address(&barrier);
  if (threadIdx.x == 0 && rank == 0) {
    mbarrier_init(bar, 2);
    fence_mbarrier_init();
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (threadIdx.x == 0) {
    const uint32_t there = mapa(shared_address(&mailbox[rank]), 0);
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(100 + rank) : "memory");
    mbarrier_arrive_cluster(mapa(bar, 0));  // releases the store to the cluster
    if (rank == 0) {
      mbarrier_wait_parity_cluster(bar, 0);
      out[0] = mailbox[0];
      out[1] = mailbox[1];
      out[2] = mapa(bar, 1) - mapa(bar, 0);
    }
  }
  barrier_cluster_arrive();  // no CTA exits while its shared memory may be accessed
  barrier_cluster_wait();
}

void part_remote(Report& r) {
  DeviceBuffer<uint32_t> out(3);
  remote<<<2, 32>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = out.download();
  r.say(
      "mapa turns a shared address into that of another CTA of the cluster: bits 31:24 are the rank. arrive, "
      "arrive_drop, expect_tx and complete_tx take such an address, return no token, and must release to .cluster. "
      "Waiting is possible only in the mbarrier's own CTA.");
  r.check("rank 0 saw both CTAs' stores", seen[0] == 100 && seen[1] == 101);
  r.check("the addresses of two ranks differ by 1 << 24", seen[2] == 1u << 24, fmt::format("0x{:08x}", seen[2]));
}

// ---- Mistakes

// mistakes.txt says which lines are wrong in which kernel. These run a kernel and say whether its numbers are right.

bool phases_right(void (*kernel)(Step*)) {
  DeviceBuffer<Step> out(6);
  kernel<<<1, 1>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto steps = out.download();
  for (uint32_t i = 0; i < 6; ++i)
    if (steps[i].pending != 2 - i % 2 || steps[i].even_done != i / 2 % 2) return false;
  return true;
}

bool transactions_right(void (*kernel)(const uint32_t*, Transactions*)) {
  DeviceBuffer<uint32_t> from(std::vector<uint32_t>(64, 7));
  DeviceBuffer<Transactions> out(1);
  kernel<<<1, 1>>>(from.get(), out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const Transactions t = out.download()[0];
  return !t.over[0] && !t.over[1] && t.over[2] && t.data[3] == 7;
}

bool ring_right(void (*kernel)(const uint32_t*, uint32_t*, uint64_t*)) {
  std::vector<uint32_t> host(kItems * kChunk), want(kItems);
  for (uint32_t i = 0; i < host.size(); ++i) want[i / kChunk] += host[i] = i * 2654435761u;
  DeviceBuffer<uint32_t> from(host), sums(kItems);
  kernel<<<1, 64>>>(from.get(), sums.get(), nullptr);
  GEN5_CUDA(cudaDeviceSynchronize());
  return sums.download() == want;
}

bool remote_right(void (*kernel)(uint32_t*)) {
  DeviceBuffer<uint32_t> out(3);
  kernel<<<2, 32>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = out.download();
  return seen[0] == 100 && seen[1] == 101;
}

#include "mistakes.inc"

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("01", "mbarrier", "Eight bytes that count arrivals and landed bytes, in phases.");
  chapter.part("phases", "A phase ends with its last arrival; a thread can ask only for its parity", part_phases);
  chapter.part("arrivals", "Tokens, several arrivals at once, and arriving for the last time", part_arrivals);
  chapter.part("transactions", "Bytes count beside arrivals", part_transactions);
  chapter.part("ring", "Producer and consumer over a ring of stages", part_ring);
  chapter.part("remote", "Arriving at another CTA's mbarrier", part_remote);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}
