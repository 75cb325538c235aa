// Clusters: who is in one, how its CTAs reach each other's shared memory, how they wait for each other, and what they
// save when they load together. Everything here runs on Hopper as well.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "chapters/11_cta_pair/parts.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/pipeline_run.h"
#include "common/harness/stamps.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;

// ---- 1. Ranks

/// What a CTA knows of itself.
struct Who {
  uint32_t cluster, rank, size;
  unsigned long long begun, met;  // nanoseconds
};

__device__ unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

// Nothing in the code says how large a cluster is: the launch does.
__global__ void who(Who* out) {
  Who w{cluster_id(), cluster_ctarank(), cluster_nctarank(), nanoseconds(), 0};
  barrier_cluster_arrive();
  barrier_cluster_wait();  // all CTAs of the cluster have come this far
  w.met = nanoseconds();
  out[blockIdx.y * gridDim.x + blockIdx.x] = w;
}

/// A launch in clusters of `cluster` CTAs. A kernel that works with one size alone has __cluster_dims__ instead.
struct ClusterLaunch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};
  ClusterLaunch(dim3 grid, uint32_t threads, dim3 cluster) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
};

void part_ranks(Report& r) {
  constexpr uint32_t kWide = 8, kHigh = 4;
  DeviceBuffer<Who> out(kWide * kHigh);
  const ClusterLaunch launch(dim3(kWide, kHigh), 32, dim3(4, 2));
  GEN5_CUDA(cudaLaunchKernelEx(&launch.config, who, out.get()));
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = out.download();
  r.say(
      "A grid of 8 x 4 CTAs, launched in clusters of 4 x 2. The grid is cut into clusters, and each CTA has a rank in "
      "its cluster, %cluster_ctarank, counted along x first. c1.r5 is rank 5 of the second cluster along x:");
  std::string picture = "            x = 0      1      2      3      4      5      6      7\n";
  bool ranks = true, together = true;
  for (uint32_t y = 0; y < kHigh; ++y) {
    picture += fmt::format("    y = {}  ", y);
    for (uint32_t x = 0; x < kWide; ++x) {
      const Who& w = seen[y * kWide + x];
      picture += fmt::format("  c{}.r{}", w.cluster, w.rank);
      ranks &= w.size == 8 && w.cluster == x / 4 && w.rank == x % 4 + y % 2 * 4;
      for (uint32_t other = 0; other < kWide * kHigh; ++other)
        if (other % kWide / 4 == x / 4 && other / kWide / 2 == y / 2) together &= seen[other].begun <= w.met;
    }
    picture += "\n";
  }
  r.picture(picture);
  r.check("every CTA's rank is its place in its cluster, along x first", ranks);
  r.check("all CTAs of a cluster run at the same time: none passes the barrier before the last has begun", together);

  r.say(
      "The CTAs of a cluster start together, on SMs of one GPC (a group of SMs that share a part of the network). 8 "
      "CTAs are the portable limit; 16 need cudaFuncAttributeNonPortableClusterSizeAllowed. "
      "cudaOccupancyMaxActiveClusters returns how many clusters fit at once. Here for a kernel whose shared memory "
      "lets one CTA run on each SM:");
  const uint32_t bytes = 200 * 1024;
  GEN5_CUDA(cudaFuncSetAttribute(who, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  GEN5_CUDA(cudaFuncSetAttribute(who, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  Table t({"CTAs in a cluster", "clusters at once", "SMs in use", "of"});
  const int sms = current_device().sms;
  bool fits = true;
  for (uint32_t size : {1u, 2u, 4u, 8u, 16u}) {
    ClusterLaunch l(dim3(256), 32, dim3(size));
    l.config.dynamicSmemBytes = bytes;
    int clusters = 0;
    GEN5_CUDA(cudaOccupancyMaxActiveClusters(&clusters, who, &l.config));
    t.row({std::to_string(size), std::to_string(clusters), std::to_string(clusters * int(size)), std::to_string(sms)});
    fits &= clusters > 0 && clusters * int(size) <= sms;
  }
  r.table(t);
  r.check("each size fits, on no more SMs than there are", fits);
}

// ---- 2. Distributed shared memory

constexpr uint32_t kCtas = 4;

/// What rank 0 found out about the word of each rank.
struct Remote {
  uint32_t address, rank, value;
};

// Every CTA has a `word` of its own, at the same offset. mapa makes the address of another CTA's. Then a sum over the
// cluster: each CTA adds up its quarter of the input, all add up the four partial sums.
__global__ void __cluster_dims__(kCtas) addresses(Remote* out, const uint32_t* input, uint32_t count, uint32_t* sums) {
  __shared__ uint32_t word, partial;
  const uint32_t rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    word = 100 + rank;
    partial = 0;
  }
  __syncthreads();
  uint32_t mine = 0;
  for (uint32_t i = rank * (count / kCtas) + threadIdx.x; i < (rank + 1) * (count / kCtas); i += blockDim.x)
    mine += input[i];
  atomicAdd(&partial, mine);

  // 1. What the others shall read has been written: arrive releases it, wait acquires theirs.
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (rank == 0 && threadIdx.x < kCtas) {
    const uint32_t there = mapa(shared_address(&word), threadIdx.x);
    out[threadIdx.x] = {there, getctarank(there), ld_shared_cluster(there)};
  }
  uint32_t sum = 0;
  for (uint32_t other = 0; other < kCtas; ++other) sum += ld_shared_cluster(mapa(shared_address(&partial), other));
  if (threadIdx.x == 0) sums[rank] = sum;
  // 2. Shared memory lives as long as its CTA: no CTA exits while another may still read.
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

void part_addresses(Report& r) {
  std::vector<uint32_t> host(4096);
  uint32_t want = 0;
  for (uint32_t i = 0; i < host.size(); ++i) want += host[i] = i * 2654435761u;
  DeviceBuffer<uint32_t> input(host), sums(kCtas);
  DeviceBuffer<Remote> out(kCtas);
  addresses<<<kCtas, 128>>>(out.get(), input.get(), uint32_t(host.size()), sums.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = out.download();
  r.say(
      "A cluster's shared memories lie side by side in one window, shared::cluster. A variable has the same offset in "
      "each CTA; mapa adds the rank. What rank 0 reads at mapa(&word, rank):");
  Table t({"rank", "mapa's address", "getctarank of it", "ld.shared::cluster reads"});
  bool values = true;
  for (uint32_t i = 0; i < kCtas; ++i) {
    t.row({std::to_string(i), fmt::format("0x{:08x}", seen[i].address), std::to_string(seen[i].rank),
           std::to_string(seen[i].value)});
    values &= seen[i].rank == i && seen[i].value == 100 + i;
  }
  r.table(t);
  r.say(
      "Bits 31:24 are the rank. The manual calls the address opaque, so use mapa. Ordinary loads, stores and atomics "
      "with .shared::cluster, or with a generic pointer, take it.");
  r.check("mapa, getctarank and a load of every CTA's word agree", values);
  bool all = true;
  for (uint32_t s : sums.download()) all &= s == want;
  r.check("each CTA has the sum over the cluster, from four shared memories", all, fmt::format("0x{:08x}", want));
}

// ---- 3. The cluster's barrier

/// Cycles since the common start.
struct Meeting {
  long long arrived, waits, over, end;
};

__device__ void work(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

// CTA n has 300 + 450 n cycles to do before the others may go on, and 600 that no other CTA needs: behind the barrier,
// or between its two halves.
template <bool kBetween>
__global__ void __cluster_dims__(kCtas) meet(Meeting* out) {
  const uint32_t rank = cluster_ctarank();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const long long start = clock64();
  work(300 + 450 * rank);
  Meeting m{};
  m.arrived = clock64() - start;
  barrier_cluster_arrive();
  if (kBetween) work(600);
  m.waits = kBetween ? clock64() - start : m.arrived;  // without b the arrive itself is a part of the waiting
  barrier_cluster_wait();
  m.over = clock64() - start;
  if (!kBetween) work(600);
  m.end = kBetween ? m.over : clock64() - start;
  if (threadIdx.x == 0) out[rank] = m;
}

Picture picture_of(const std::vector<Meeting>& all, const std::string& title) {
  Picture p{title, {}};
  for (uint32_t i = 0; i < kCtas; ++i) {
    const Meeting& m = all[i];
    Lane lane{fmt::format("CTA {}", i), {}};
    const auto add = [&](long long from, long long to, char mark) {
      if (to > from) lane.spans.push_back({uint64_t(from), uint64_t(to), mark});
    };
    add(0, m.arrived, 'A');
    add(m.arrived, m.waits, 'b');
    add(m.waits, m.over, '.');
    add(m.over, m.end, 'b');
    p.lanes.push_back(lane);
  }
  return p;
}

void part_meet(Report& r) {
  const auto run = [&](auto kernel) {
    DeviceBuffer<Meeting> out(kCtas);
    kernel<<<kCtas, 32>>>(out.get());
    GEN5_CUDA(cudaDeviceSynchronize());
    return out.download();
  };
  const auto behind = run(meet<false>), between = run(meet<true>);
  r.say(
      "barrier.cluster has two halves. arrive reports that this thread has done its part; wait waits until every "
      "thread of the cluster has arrived. Work between the two overlaps the waiting. A: work that the other CTAs wait "
      "for; b: work that they do not wait for; a dot: waiting.");
  r.picture(draw({picture_of(behind, "Arrive and wait, then b:"), picture_of(between, "Arrive, b, then wait:")},
                 {.columns = 60}));
  const auto last = [](const std::vector<Meeting>& all) {
    long long end = 0;
    for (const Meeting& m : all) end = std::max(end, m.end);
    return end;
  };
  bool held = true;
  for (const auto* all : {&behind, &between})
    for (const Meeting& m : *all)
      for (const Meeting& other : *all) held &= m.over >= other.arrived - 100;  // SMs' clocks are not quite the same
  r.check("no thread passes the barrier before all have arrived", held);
  r.check("work between the halves is hidden for all but the last", last(between) <= last(behind) + 100,
          fmt::format("{} and {} cycles", last(behind), last(between)));
  r.say(
      "arrive releases and wait acquires: ordinary loads and stores before the arrive are visible after the wait, in "
      "all CTAs. (arrive.relaxed orders nothing: use it to know only that the other CTAs are there.) Neither covers "
      "asynchronous work: copies and MMAs have their own mbarriers.");
}

// ---- 4. Hand-overs

enum class Way { barrier, arrive, st_async, bulk };
constexpr int kRounds = 16;
constexpr uint32_t kWords = 256, kOfALane = kWords / 32;  // 1 KiB goes there and back

// Two warps in two CTAs pass a kilobyte back and forth; rank 1 adds one to each word.
template <Way kWay>
__global__ void __cluster_dims__(2) pass(uint32_t* out, long long* cycles) {
  __shared__ alignas(128) uint32_t inbox[kWords], outbox[kWords];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t rank = cluster_ctarank(), lane = threadIdx.x, bar = shared_address(&barrier);
  const uint32_t there = mapa(shared_address(inbox), rank ^ 1), bar_there = mapa(bar, rank ^ 1);
  constexpr bool kBytes = kWay == Way::st_async || kWay == Way::bulk;  // the phase counts bytes
  if (lane == 0) {
    mbarrier_init(bar, kBytes ? 1 : 32);
    fence_mbarrier_init();
    if (kBytes) mbarrier_arrive_expect_tx(bar, sizeof inbox);
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();  // both barriers exist
  uint32_t words[kOfALane];
  for (uint32_t i = 0; i < kOfALane; ++i) words[i] = i * 32 + lane;

  const auto send = [&] {
    if constexpr (kWay == Way::st_async) {
      for (uint32_t i = 0; i < kOfALane; i += 4)
        st_async(there + (lane * kOfALane + i) * 4, make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]),
                 bar_there);
    } else if constexpr (kWay == Way::bulk) {
      for (uint32_t i = 0; i < kOfALane; ++i) outbox[lane * kOfALane + i] = words[i];
      fence_proxy_async_shared();
      __syncwarp();
      if (lane == 0) bulk_copy_to_cluster(there, shared_address(outbox), sizeof outbox, bar_there);
    } else {
      for (uint32_t i = 0; i < kOfALane; ++i) st_shared_cluster(there + (lane * kOfALane + i) * 4, words[i]);
      if (kWay == Way::arrive) mbarrier_arrive_cluster(bar_there);  // every lane releases its own stores
    }
  };
  const auto receive = [&](uint32_t parity) {
    if constexpr (kWay != Way::barrier) {
      mbarrier_wait_parity_cluster(bar, parity);
      if (kBytes && lane == 0) mbarrier_arrive_expect_tx(bar, sizeof inbox);  // for the next round
      __syncwarp();
    }
    for (uint32_t i = 0; i < kOfALane; ++i) words[i] = inbox[lane * kOfALane + i] + rank;
    if (kBytes) fence_proxy_async_shared();  // these reads before what the peer sends next
    __syncwarp();
  };
  const auto meet = [] {
    if constexpr (kWay == Way::barrier) {
      barrier_cluster_arrive();
      barrier_cluster_wait();
    }
  };
  const long long start = clock64();
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 0) send();
    meet();
    if (rank == 1) {
      receive(round & 1);
      send();
    }
    meet();
    if (rank == 0) receive(round & 1);
  }
  if (rank == 0) {
    if (lane == 0) *cycles = clock64() - start;
    for (uint32_t i = 0; i < kOfALane; ++i) out[lane * kOfALane + i] = words[i];
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

void part_hand_over(Report& r) {
  r.say(
      "A producer in one CTA, a consumer in another. Four ways to send it a kilobyte and to signal it, each sixteen "
      "times there and back; the cycles are half of a round trip.");
  Table t({"data", "signal", "cycles one way"});
  bool right = true;
  const auto run = [&](auto kernel, const char* data, const char* signal, const char* key) {
    DeviceBuffer<uint32_t> out(kWords);
    DeviceBuffer<long long> cycles(1);
    kernel<<<2, 32>>>(out.get(), cycles.get());
    GEN5_CUDA(cudaDeviceSynchronize());
    const auto words = out.download();
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < kOfALane; ++i) right &= words[lane * kOfALane + i] == i * 32 + lane + kRounds;
    const double each = double(cycles.download()[0]) / (2 * kRounds);
    t.row({data, signal, fmt::format("{:.0f}", each)});
    r.value(key, each);
  };
  run(pass<Way::barrier>, "st.shared::cluster", "barrier.cluster", "barrier_cycles");
  run(pass<Way::arrive>, "st.shared::cluster", "mbarrier.arrive.release.cluster by 32 lanes", "arrive_cycles");
  run(pass<Way::st_async>, "st.async", "its own complete_tx", "st_async_cycles");
  run(pass<Way::bulk>, "cp.async.bulk from shared memory", "its own complete_tx", "bulk_cycles");
  r.table(t);
  r.check("every word came through all rounds, whatever the way", right);
  r.say(
      "The barrier makes all threads of both CTAs wait. An mbarrier makes only the consumer wait; arrive must release "
      "to .cluster, and the wait must acquire from it, because the default scope is the CTA. With st.async and bulk "
      "copies the data carry their own signal, so there is nothing to order. The consumer must expect the next bytes "
      "(expect_tx) before they may come.");
}

// ---- 5. Multicast

constexpr uint32_t kTiles = 16, kStages = 3, kConsumers = 4, kRows = 64, kRowBytes = 128,
                   kTileBytes = kRows * kRowBytes;

// All four CTAs need the same tiles, one after the other, each for its own work (here: a sum). Either each loads each
// tile, or each loads a quarter of it into all four.
template <bool kTogether, bool kStamped>
__global__ void __cluster_dims__(kCtas)
    share(const __grid_constant__ CUtensorMap map, uint32_t* sums, uint64_t* stamps) {
  __shared__ alignas(1024) uint32_t tiles[kStages][kTileBytes / 4];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&full[s]), 1);
      // A producer that writes into four CTAs needs the word of the consumers of all four.
      mbarrier_init(shared_address(&empty[s]), kTogether ? kCtas * kConsumers : kConsumers);
    }
    fence_mbarrier_init();
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (warp == 0) {
    if (lane == 0) {
      Stamps<kStamped> asked(stamps, Moment::asked);
      for (uint32_t i = 0; i < kTiles; ++i) {
        const uint32_t s = i % kStages, bar = shared_address(&full[s]), to = shared_address(tiles[s]);
        mbarrier_wait_parity_cluster(shared_address(&empty[s]), (i / kStages & 1) ^ 1);
        asked.take();
        mbarrier_arrive_expect_tx(bar, kTileBytes);  // a whole tile lands here, whoever asks for it
        if constexpr (kTogether) {
          constexpr uint32_t kQuarter = kRows / kCtas;
          tensor_load_2d_multicast(to + rank * kQuarter * kRowBytes, &map, 0, int(i * kRows + rank * kQuarter), bar,
                                   (1 << kCtas) - 1);
        } else {
          tensor_load_2d(to, &map, 0, int(i * kRows), bar);
        }
      }
    }
  } else {
    const uint32_t thread = threadIdx.x - 32;
    Stamps<kStamped> landed(stamps, Moment::landed, thread == 0), done(stamps, Moment::done, thread == 0);
    for (uint32_t i = 0; i < kTiles; ++i) {
      const uint32_t s = i % kStages;
      mbarrier_wait_parity(shared_address(&full[s]), i / kStages & 1);
      landed.take();
      uint32_t sum = 0;
      for (uint32_t k = thread; k < kTileBytes / 4; k += 32 * kConsumers) sum += tiles[s][k];
      fence_proxy_async_shared();  // these reads before the copies that will overwrite them
      __syncwarp();
      if (kTogether) {
        if (lane < kCtas) mbarrier_arrive_cluster(mapa(shared_address(&empty[s]), lane));  // tell every producer
      } else {
        if (lane == 0) mbarrier_arrive(shared_address(&empty[s]));
      }
      done.take();
      for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
      if (lane == 0) atomicAdd(&sums[rank * kTiles + i], sum);
    }
  }
  __syncwarp();
  barrier_cluster_arrive();  // no CTA exits while tiles or arrivals may still come
  barrier_cluster_wait();
}

template <bool kTogether>
void launch_share(const CUtensorMap& map, uint32_t* sums, uint64_t* stamps) {
  if (stamps)
    share<kTogether, true><<<kCtas, 32 + 32 * kConsumers>>>(map, sums, stamps);
  else
    share<kTogether, false><<<kCtas, 32 + 32 * kConsumers>>>(map, sums, nullptr);
}

/// kTiles tiles below each other, and the sum of each.
struct Tiles {
  std::vector<uint32_t> host, want;
  Tiles() : host(kTiles * kTileBytes / 4), want(kCtas * kTiles) {
    for (uint32_t i = 0; i < host.size(); ++i) {
      host[i] = i * 2246822519u;
      for (uint32_t rank = 0; rank < kCtas; ++rank) want[rank * kTiles + i / (kTileBytes / 4)] += host[i];
    }
  }
  CUtensorMap map(uint32_t* data, uint32_t box_rows) const {
    return matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, data, kTiles * kRows, kRowBytes / 4, kRowBytes / 4, box_rows,
                      kRowBytes / 4, CU_TENSOR_MAP_SWIZZLE_128B);
  }
};

/// One run: its picture, whether the sums are right, and on tinygpu the bytes that it read from L2.
struct SharedRun {
  Pipeline pipeline;
  std::optional<uint64_t> l2_bytes;
  bool right = false;
};

template <class Launch>
SharedRun run_share(const Tiles& tiles, uint32_t box_rows, bool stamps, Launch launch) {
  DeviceBuffer<uint32_t> data(tiles.host), sums(kCtas * kTiles);
  sums.fill(0);
  const CUtensorMap map = tiles.map(data.get(), box_rows);
  const PipelineShape shape{.loads_of_a_block = 1, .stages = kStages, .worker = 1};
  SharedRun run;
  const StampedLaunch start = [&](uint64_t* s) { launch(map, sums.get(), s); };
  run.pipeline = run_pipeline(shape, stamps, start, &run.l2_bytes);
  run.right = sums.download() == tiles.want;
  return run;
}

void part_multicast(Report& r) {
  const Tiles tiles;
  const SharedRun apart = run_share(tiles, kRows, r.stamps(), launch_share<false>);
  const SharedRun together = run_share(tiles, kRows / kCtas, r.stamps(), launch_share<true>);
  r.say(fmt::format(
      "Four CTAs need the same {} tiles of {} KiB, as the CTAs of a GEMM do that share rows of A or columns of B. "
      "Apart, each CTA loads every tile. Together, each loads a quarter, and .multicast::cluster writes it into all "
      "four: bit i of the mask is rank i. It writes the same offset in each CTA and completes on each CTA's own "
      "mbarrier, so each expects a whole tile.",
      kTiles, kTileBytes / 1024));
  const PipelineNames names{.work = "sum", .outputs = ""};
  r.picture(draw({picture_of(apart.pipeline, "Each for itself:", names),
                  picture_of(together.pipeline, "A quarter each, for all:", names)},
                 {.window = 4200}));
  r.say(legend(together.pipeline, names, "tiles") + " Of the first CTA.");
  Table t({"", "a CTA asks for", "lands in a CTA", "all read from L2"});
  const auto row = [&](const char* name, uint32_t asked, const SharedRun& run) {
    t.row({name, with_unit(asked), with_unit(kTiles * kTileBytes), run.l2_bytes ? with_unit(*run.l2_bytes) : "?"});
  };
  row("apart", kTiles * kTileBytes, apart);
  row("together", kTiles * kTileBytes / kCtas, together);
  r.table(t);
  r.check("every CTA has summed every tile, apart and together", apart.right && together.right);
  if (apart.l2_bytes && together.l2_bytes)
    r.check("multicast reads a tile once for all four", *together.l2_bytes * 3 < *apart.l2_bytes);
  r.say(
      "What to see: L2 is read once for four CTAs. Four CTAs alone on the chip hardly gain from that; where all SMs "
      "load at once, they share L2's bandwidth. The price is a wait for the peers: a stage is empty when the consumers "
      "of all four CTAs have arrived at every producer, because each producer writes into all four. The slowest CTA "
      "sets the pace of its cluster.");
}

// ---- Mistakes

// clusters_mistakes.txt says which lines are wrong in which kernel. These run a kernel and say whether its numbers are
// right.

bool addresses_right(void (*kernel)(Remote*, const uint32_t*, uint32_t, uint32_t*)) {
  DeviceBuffer<uint32_t> input(std::vector<uint32_t>(4096, 1)), sums(kCtas);
  DeviceBuffer<Remote> out(kCtas);
  kernel<<<kCtas, 128>>>(out.get(), input.get(), 4096, sums.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = out.download();
  bool right = sums.download() == std::vector<uint32_t>(kCtas, 4096);
  for (uint32_t i = 0; i < kCtas; ++i) right &= seen[i].value == 100 + i;
  return right;
}

bool meet_right(void (*kernel)(Meeting*)) {
  DeviceBuffer<Meeting> out(kCtas);
  kernel<<<kCtas, 32>>>(out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return out.download()[0].over > 0;
}

bool pass_right(void (*kernel)(uint32_t*, long long*)) {
  DeviceBuffer<uint32_t> out(kWords);
  DeviceBuffer<long long> cycles(1);
  kernel<<<2, 32>>>(out.get(), cycles.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return out.download()[0] == kRounds;
}

bool share_right(void (*kernel)(CUtensorMap, uint32_t*, uint64_t*)) {
  const Tiles tiles;
  DeviceBuffer<uint32_t> data(tiles.host), sums(kCtas * kTiles);
  sums.fill(0);
  kernel<<<kCtas, 32 + 32 * kConsumers>>>(tiles.map(data.get(), kRows / kCtas), sums.get(), nullptr);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return sums.download() == tiles.want;
}

#include "clusters_mistakes.inc"

}  // namespace

void add_clusters(Chapter& chapter) {
  chapter.part("ranks", "CTAs that run together", part_ranks);
  chapter.part("addresses", "Distributed shared memory: mapa, and a sum over a cluster", part_addresses);
  chapter.part("meet", "The cluster's barrier, in two halves", part_meet);
  chapter.part("hand_over", "Four ways to hand a kilobyte to another CTA", part_hand_over);
  chapter.part("multicast", "Loading together: multicast and peer barriers", part_multicast);
  chapter.mistakes(kMistakes);
}
