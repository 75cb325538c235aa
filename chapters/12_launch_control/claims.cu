// clusterlaunchcontrol: a CTA asks for the work of a CTA that has not started. Blackwell only.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chapters/12_launch_control/device.cuh"
#include "chapters/12_launch_control/parts.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/launch_control.h"
#include "common/ptx/mbarrier.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;

bool has_launch_control(Report& r) {
  if (current_device().major >= 10) return true;
  r.say("Cluster launch control needs a Blackwell; this device is none. Skipped.");
  return false;
}

/// So much dynamic shared memory that an SM has room for one CTA.
constexpr uint32_t kAlone = 200 * 1024;

template <class Kernel>
void alone_on_its_sm(Kernel kernel) {
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kAlone));
}

// ---- 1. A request

/// What a tile's number was got by.
struct Done {
  uint32_t by, times;  // the CTA that did it; how often it was done
  uint4 answer;        // of the request that claimed it
};

struct alignas(16) Mailbox {
  uint4 answer;
  uint64_t barrier;
};

// Every CTA does the tile of its own number, then asks for another one until there are none. `refused`: the answer that
// ended it.
__global__ void request(Done* done, uint4* refused) {
  __shared__ Mailbox mail;
  const uint32_t answer = shared_address(&mail.answer), bar = shared_address(&mail.barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  uint32_t tile = blockIdx.x;
  uint4 words{};
  for (uint32_t round = 0;; ++round) {
    if (threadIdx.x == 0) {
      atomicAdd(&done[tile].times, 1);
      done[tile].by = blockIdx.x;
      done[tile].answer = words;
      mbarrier_arrive_expect_tx(bar, sizeof(uint4));
      clc_try_cancel(answer, bar);
    }
    mbarrier_wait_parity(bar, round & 1);
    const Claim claim = clc_query(answer);
    words = mail.answer;
    fence_proxy_async_shared();  // these reads before the next answer's write
    __syncthreads();
    if (!claim.granted) break;
    tile = claim.x;
  }
  if (threadIdx.x == 0) refused[blockIdx.x] = words;
}

std::string words_of(uint4 w) { return fmt::format("{:08x} {:08x} {:08x} {:08x}", w.x, w.y, w.z, w.w); }

void part_request(Report& r) {
  if (!has_launch_control(r)) return;
  const auto sms = uint32_t(current_device().sms), tiles = sms + 5;
  DeviceBuffer<Done> done(tiles);
  DeviceBuffer<uint4> refused(tiles);
  done.fill(0);
  alone_on_its_sm(request);
  request<<<tiles, 32, kAlone>>>(done.get(), refused.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = done.download();
  r.say(fmt::format(
      "A grid of {} CTAs, one to an SM, on {} SMs: {} CTAs have to wait for room. A running CTA claims one of them: "
      "clusterlaunchcontrol.try_cancel takes it out of the grid, and it will never start. The CTA that asked does its "
      "work. The answer comes later: 16 bytes in shared memory, which complete on an mbarrier:",
      tiles, sms, tiles - sms));
  Table t({"tile", "done by CTA", "the answer's words", "is_canceled, first ctaid.x"});
  uint32_t claimed = 0;
  bool once = true;
  for (uint32_t i = 0; i < tiles; ++i) {
    once &= seen[i].times == 1;
    if (seen[i].by == i) continue;
    ++claimed;
    t.row({std::to_string(i), std::to_string(seen[i].by), words_of(seen[i].answer), fmt::format("yes, {}", i)});
  }
  t.row({"-", std::to_string(seen[sms].by), words_of(refused.download()[seen[sms].by]), "no"});
  r.table(t);
  r.check("every tile was done once", once);
  r.check("some of the grid was claimed", claimed > 0, fmt::format("{} CTAs never started", claimed));
  r.say(
      "query_cancel decodes the answer, whose layout is not documented. The last row is a refusal: the grid has no CTA "
      "left. (Or the request came at a bad moment: the manual does not say that a refusal means the end. It does say "
      "that a CTA must not ask again after a refusal.)");
}

// ---- 2. Asking ahead

/// Where all CTAs' spans go, for a picture.
struct Log {
  Ran* ran;
  uint32_t* count;
};

constexpr uint32_t kMost = 48;

/// One CTA's spans: kept in shared memory while it works, written out at its end, all by thread 0.
struct Spans {
  Ran* const ran;
  uint32_t count = 0;

  __device__ void add(unsigned long long begin, uint32_t what) {
    if (threadIdx.x == 0 && count < kMost) ran[count++] = {begin, nanoseconds(), sm_id(), what};
  }
  __device__ void write(const Log& log) const {
    if (threadIdx.x != 0) return;
    const uint32_t at = atomicAdd(log.count, count);
    for (uint32_t i = 0; i < count; ++i) log.ran[at + i] = ran[i];
  }
};
constexpr uint32_t kSetup = ~0u, kWaits = ~0u - 1;

/// How long tile `t` takes.
__host__ __device__ constexpr uint32_t cycles_of(uint32_t t) {
  const uint32_t h = t * 2654435761u >> 16;
  return h % 8 == 0 ? 6000 : 1000 + h % 4 * 500;
}
constexpr uint32_t kSetupCycles = 1500;
constexpr unsigned long long kShown = 150;  // nanoseconds: shorter waits are left out of the picture

// Persistent CTAs that claim one tile after the other. kAhead: the request for the next tile is out while this one is
// worked on; the answer has been there for long when it is needed.
template <bool kAhead>
__global__ void claiming(Log log, uint32_t* times) {
  __shared__ Mailbox mail;
  __shared__ Ran ran[kMost];
  const uint32_t answer = shared_address(&mail.answer), bar = shared_address(&mail.barrier);
  unsigned long long since = nanoseconds();
  Spans spans{ran};
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  work(kSetupCycles);
  __syncthreads();
  spans.add(since, kSetup);
  const auto ask = [&] {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(bar, sizeof(uint4));
      clc_try_cancel(answer, bar);
    }
  };
  uint32_t tile = blockIdx.x;
  for (uint32_t round = 0;; ++round) {
    if (kAhead) ask();
    since = nanoseconds();
    work(cycles_of(tile));
    if (threadIdx.x == 0) atomicAdd(&times[tile], 1);
    spans.add(since, tile);
    since = nanoseconds();
    if (!kAhead) ask();
    mbarrier_wait_parity(bar, round & 1);
    const Claim claim = clc_query(answer);
    fence_proxy_async_shared();
    __syncthreads();
    spans.add(since, kWaits);
    if (!claim.granted) break;
    tile = claim.x;
  }
  spans.write(log);
}

// The two older ways. One CTA a tile: whichever SM is free takes the next, and every CTA sets itself up.
__global__ void one_each(Log log, uint32_t* times) {
  __shared__ Ran ran[kMost];
  Spans spans{ran};
  unsigned long long since = nanoseconds();
  work(kSetupCycles);
  spans.add(since, kSetup);
  since = nanoseconds();
  work(cycles_of(blockIdx.x));
  if (threadIdx.x == 0) atomicAdd(&times[blockIdx.x], 1);
  spans.add(since, blockIdx.x);
  spans.write(log);
}
// One CTA an SM, tiles dealt out beforehand.
__global__ void dealt(Log log, uint32_t* times, uint32_t tiles) {
  __shared__ Ran ran[kMost];
  Spans spans{ran};
  unsigned long long since = nanoseconds();
  work(kSetupCycles);
  spans.add(since, kSetup);
  for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    since = nanoseconds();
    work(cycles_of(tile));
    if (threadIdx.x == 0) atomicAdd(&times[tile], 1);
    spans.add(since, tile);
  }
  spans.write(log);
}

/// What a way of scheduling came to.
struct Schedule {
  std::string title;
  std::vector<Ran> ran;
  uint32_t started = 0;  // CTAs
  unsigned long long begin = ~0ull, end = 0;
  bool once = true;  // every tile

  double cycles() const { return current_device().cycles(double(end - begin) / 1000); }
};

template <class Launch>
Schedule schedule(const std::string& title, uint32_t tiles, Launch launch) {
  DeviceBuffer<Ran> ran(4 * tiles + 4);
  DeviceBuffer<uint32_t> count(1), times(tiles);
  count.fill(0);
  times.fill(0);
  launch(Log{ran.get(), count.get()}, times.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  Schedule s;
  s.title = title;
  s.ran = ran.download();
  s.ran.resize(count.download()[0]);
  for (const Ran& one : s.ran) {
    s.started += one.what == kSetup;
    s.begin = std::min(s.begin, one.begin);
    if (one.what != kWaits) s.end = std::max(s.end, one.end);
  }
  for (uint32_t n : times.download()) s.once &= n == 1;
  return s;
}

/// Some SMs of it: the one that ends last, and others by number.
Picture picture_of(const Schedule& s, uint32_t sms) {
  std::map<uint32_t, unsigned long long> ends;
  for (const Ran& one : s.ran)
    if (one.what != kWaits) ends[one.sm] = std::max(ends[one.sm], one.end);
  uint32_t last = 0;
  for (const auto& [sm, end] : ends)
    if (end == s.end) last = sm;
  std::vector<uint32_t> shown;
  for (const auto& [sm, end] : ends)
    if (shown.size() + 1 < sms && sm != last) shown.push_back(sm);
  shown.push_back(last);
  std::sort(shown.begin(), shown.end());
  Picture p{s.title, {}};
  const auto at = [&](unsigned long long t) {
    return uint64_t(current_device().cycles(double(std::max(t, s.begin) - s.begin) / 1000));
  };
  for (const uint32_t sm : shown) {
    Lane lane{fmt::format("SM {}", sm), {}};
    for (const Ran& one : s.ran)
      if (one.sm == sm && (one.what != kWaits || one.end > one.begin + kShown))
        lane.spans.push_back({at(one.begin), at(one.end),
                              one.what == kSetup   ? 's'
                              : one.what == kWaits ? '.'
                                                   : digit(one.what)});
    p.lanes.push_back(lane);
  }
  return p;
}

void part_ahead(Report& r) {
  if (!has_launch_control(r)) return;
  const uint32_t tiles = uint32_t(current_device().sms) * 3;
  const auto run = [&](const char* title, auto kernel) {
    alone_on_its_sm(kernel);
    return schedule(title, tiles, [&](Log log, uint32_t* times) { kernel<<<tiles, 32, kAlone>>>(log, times); });
  };
  const Schedule after = run("It asks when a tile is done:", claiming<false>);
  const Schedule ahead = run("It asks ahead:", claiming<true>);
  r.say(
      "An answer takes time: the request leaves the SM and comes back. So a kernel asks for its next tile before it "
      "works on this one. s: setup; a digit: a tile, by its last digit; a dot: waiting for the answer.");
  r.picture(draw({picture_of(after, 4), picture_of(ahead, 4)}));
  r.check("every tile was done once, both ways", after.once && ahead.once, fmt::format("{} tiles", tiles));
  r.value("after_cycles", after.cycles());
  r.value("ahead_cycles", ahead.cycles());
  r.say(
      "One tile is claimed ahead of its time: at the end an SM may hold a tile that another SM could start at once. "
      "Asking further ahead makes that worse.");
}

// ---- 3. Uneven tiles

void part_tail(Report& r) {
  if (!has_launch_control(r)) return;
  const uint32_t sms = uint32_t(current_device().sms), tiles = sms * 6;
  alone_on_its_sm(one_each);
  alone_on_its_sm(dealt);
  alone_on_its_sm(claiming<true>);
  const Schedule each = schedule("A CTA for each tile:", tiles,
                                 [&](Log log, uint32_t* times) { one_each<<<tiles, 32, kAlone>>>(log, times); });
  const Schedule even = schedule("Persistent, dealt out beforehand:", tiles,
                                 [&](Log log, uint32_t* times) { dealt<<<sms, 32, kAlone>>>(log, times, tiles); });
  const Schedule claim = schedule("Persistent, claimed:", tiles,
                                  [&](Log log, uint32_t* times) { claiming<true><<<tiles, 32, kAlone>>>(log, times); });
  r.say(fmt::format(
      "{} tiles of uneven size on {} SMs; a CTA needs {} cycles for its setup (mbarriers, Tensor Memory, tables). With "
      "a CTA for each tile every tile pays the setup, but an SM that is done takes the next tile. Persistent CTAs pay "
      "once; if tiles are dealt out beforehand, one SM may get the large ones. Persistent CTAs that claim tiles have "
      "both advantages.",
      tiles, sms, with_commas(kSetupCycles)));
  r.picture(draw({picture_of(each, 4), picture_of(even, 4), picture_of(claim, 4)}));
  Table t({"", "CTAs that started", "cycles", "of them all SMs work"});
  double sum = 0;
  for (uint32_t i = 0; i < tiles; ++i) sum += cycles_of(i);
  for (const Schedule* s : {&each, &even, &claim})
    t.row({s->title.substr(0, s->title.size() - 1), with_commas(s->started), with_commas(uint64_t(s->cycles())),
           fmt::format("{:.0f} %", 100 * sum / sms / s->cycles())});
  r.table(t);
  r.check("every tile was done once, all three ways", each.once && even.once && claim.once);
  r.check("one CTA for each tile; or one an SM", each.started == tiles && even.started == sms);
  r.value("each_cycles", each.cycles());
  r.value("dealt_cycles", even.cycles());
  r.value("claimed_cycles", claim.cycles());
  r.say(
      "The grid of the third way is as large as that of the first: its CTAs are the list of work. No counter in global "
      "memory has to be cleared beforehand, and other kernels can get SMs in between, because CTAs end when nothing is "
      "left to claim.");
}

// ---- 4. Clusters

struct alignas(16) ClusterMail {
  uint4 answer;
  uint64_t full, empty;
};

// A request is for a whole cluster. One thread of rank 0 asks; .multicast::cluster::all answers every CTA, and each
// adds its own rank to the first CTA's number. Rank 0 asks again when both have read the answer.
__global__ void __cluster_dims__(2) claim_clusters(uint32_t* times, uint32_t* by) {
  __shared__ ClusterMail mail;
  const uint32_t rank = cluster_ctarank(), answer = shared_address(&mail.answer);
  const uint32_t full = shared_address(&mail.full), empty = shared_address(&mail.empty);
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);
    mbarrier_init(empty, cluster_nctarank());
    fence_mbarrier_init();
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
  uint32_t tile = blockIdx.x;
  for (uint32_t round = 0;; ++round) {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(full, sizeof(uint4));  // each CTA expects its own copy of the answer
      if (rank == 0) {
        mbarrier_wait_parity_cluster(empty, (round & 1) ^ 1);
        clc_try_cancel_all(answer, full);
      }
      atomicAdd(&times[tile], 1);
      by[tile] = blockIdx.x;
    }
    mbarrier_wait_parity(full, round & 1);
    const Claim claim = clc_query(answer);
    fence_proxy_async_shared();
    __syncthreads();
    if (!claim.granted) break;
    if (threadIdx.x == 0) mbarrier_arrive_cluster(mapa(empty, 0));
    tile = claim.x + rank;
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

void part_clusters(Report& r) {
  if (!has_launch_control(r)) return;
  const uint32_t tiles = (uint32_t(current_device().sms) / 2 + 3) * 2;
  DeviceBuffer<uint32_t> times(tiles), by(tiles);
  times.fill(0);
  alone_on_its_sm(claim_clusters);
  claim_clusters<<<tiles, 32, kAlone>>>(times.get(), by.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto who = by.download();
  bool once = true, together = true;
  for (uint32_t n : times.download()) once &= n == 1;
  Table t({"tiles", "done by CTAs"});
  for (uint32_t i = 0; i < tiles; i += 2) {
    together &= who[i] / 2 == who[i + 1] / 2 && who[i] % 2 == 0 && who[i + 1] % 2 == 1;
    if (who[i] != i) t.row({fmt::format("{}, {}", i, i + 1), fmt::format("{}, {}", who[i], who[i + 1])});
  }
  r.say(
      "A kernel in clusters claims clusters: the answer names the first CTA of one. One thread asks for all; "
      ".multicast::cluster::all writes the answer to every CTA and completes its bytes on every CTA's mbarrier; a CTA "
      "adds its rank. As with multicast loads, the asking thread must know that all CTAs have read the answer before.");
  r.table(t);
  r.check("every tile was done once", once);
  r.check("a claimed cluster's tiles went to one cluster, rank by rank", together);
}

// ---- Mistakes

/// Runs it with five CTAs more than there are SMs: was every tile done once?
bool request_right(void (*kernel)(Done*, uint4*)) {
  const uint32_t tiles = uint32_t(current_device().sms) + 5;
  DeviceBuffer<Done> done(tiles);
  DeviceBuffer<uint4> refused(tiles);
  done.fill(0);
  alone_on_its_sm(kernel);
  kernel<<<tiles, 32, kAlone>>>(done.get(), refused.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  bool once = true;
  for (const Done& one : done.download()) once &= one.times == 1;
  return once;
}

/// The same with three clusters more.
bool clusters_right(void (*kernel)(uint32_t*, uint32_t*)) {
  const uint32_t tiles = (uint32_t(current_device().sms) / 2 + 3) * 2;
  DeviceBuffer<uint32_t> times(tiles), by(tiles);
  times.fill(0);
  alone_on_its_sm(kernel);
  kernel<<<tiles, 32, kAlone>>>(times.get(), by.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  bool once = true;
  for (uint32_t n : times.download()) once &= n == 1;
  return once;
}

#include "claims_mistakes.inc"

}  // namespace

void add_claims(Chapter& chapter) {
  chapter.part("request", "A CTA takes the work of one that has not started", part_request);
  chapter.part("ahead", "Asking before the answer is needed", part_ahead);
  chapter.part("tail", "Uneven tiles: one CTA each, dealt out, claimed", part_tail);
  chapter.part("clusters", "A cluster claims clusters", part_clusters);
  chapter.mistakes(kMistakes);
}
