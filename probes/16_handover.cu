// Probe 16: what it takes until one part of a program goes on with what another part has made. By a counter in global
// memory (red.release, ld.acquire) between CTAs of one grid; by a page of shared memory between a loader and its
// readers; by the end of a grid in a graph, with and without dependent launches.
//
//   probe_16_handover [--benchmark_format=json]
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/counter.h"
#include "common/ptx/fence.h"
#include "common/ptx/launch_control.h"
#include "common/ptx/mbarrier.h"
#include "probes/grid_chain.h"
#include "probes/level.h"
#include "probes/median.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr int kThreads = 128, kFew = 8, kMany = 24;
constexpr uint32_t kLine = 32;                    // words: a counter has a line of its own
constexpr uint32_t kWholeSm = 200 * 1024;         // shared memory with which a CTA is alone on its SM
constexpr uint32_t kPage = 16 * 1024, kMost = 8;  // pages of a ring
constexpr uint32_t kMostLoads = 11, kSource = 256 << 20;

int sms() { return gen5::harness::current_device().sms; }

template <class Kernel>
void alone(Kernel* kernel) {
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(kWholeSm)));
}

/// Zeros, of which each launch has its own.
uint32_t* counters() {
  static gen5::harness::DeviceBuffer<uint32_t> memory(1 << 20);
  memory.fill(0);
  return memory.get();
}

/// Cycles of one more round, the median over what `run(rounds)` returns.
template <class Run>
double of_a_round(Run run) {
  const auto few = run(kFew), many = run(kMany);
  std::vector<double> rounds;
  for (size_t i = 0; i < few.size(); ++i) rounds.push_back(double(many[i] - few[i]) / (kMany - kFew));
  return median(rounds);
}

__device__ void wait_for(const uint32_t* counter, uint32_t target) {
  while (counter_read(counter) < target) {
  }
}

// ---- Counters

/// CTAs 2i and 2i + 1 hand each other a turn, with `words` words that each thread stores and its partner reads.
template <int words>
__global__ void takes_turns(uint32_t* memory, long long* cycles, int rounds) {
  const uint32_t pair = blockIdx.x / 2, mine = blockIdx.x % 2;
  uint32_t* const turn = memory + pair * 2 * kLine;
  uint32_t* const data = memory + (1 << 18) + pair * kThreads * 4;
  uint32_t sum = threadIdx.x;
  __syncthreads();
  const long long t0 = ticks();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (mine || r) {
      if (threadIdx.x == 0) wait_for(turn + (mine ^ 1) * kLine, uint32_t(r) + mine);
      __syncthreads();
#pragma unroll
      for (int w = 0; w < words; ++w) sum += data[w * kThreads + threadIdx.x];
    }
#pragma unroll
    for (int w = 0; w < words; ++w) data[w * kThreads + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) counter_raise(turn + mine * kLine);
  }
  if (threadIdx.x == 0 && mine == 0) cycles[pair] = ticks() - t0;
}
/// One hand-over, which is half a round. `pairs`: beside each other.
template <int words>
void counter(benchmark::State& state) {
  const int pairs = state.range(0) ? int(state.range(0)) : sms() / 2;
  alone(takes_turns<words>);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
                    return measured(size_t(pairs), [&](long long* c) {
                      takes_turns<words><<<pairs * 2, kThreads, kWholeSm>>>(counters(), c, rounds);
                    });
                  }) / 2);
}
void by_pairs(benchmark::internal::Benchmark* b) {
  b->ArgNames({"pairs"})->Arg(1)->Arg(0);  // 0: as many as there is room for
  by_cycles(b);
}
BENCHMARK(counter<0>)->Name("counter/words:0")->Apply(by_pairs);
BENCHMARK(counter<1>)->Name("counter/words:1")->Apply(by_pairs);
BENCHMARK(counter<4>)->Name("counter/words:4")->Apply(by_pairs);

/// One raises a counter that all others wait for, and waits for a counter that all others raise.
__global__ void all_answer(uint32_t* memory, long long* cycles, int rounds) {
  uint32_t *const asked = memory, *const answered = memory + kLine;
  const uint32_t others = gridDim.x - 1;
  const long long t0 = ticks();
#pragma unroll 1
  for (uint32_t r = 1; r <= uint32_t(rounds); ++r) {
    if (blockIdx.x == 0) {
      counter_raise(asked);
      wait_for(answered, r * others);
    } else {
      wait_for(asked, r);
      counter_raise(answered);
    }
  }
  if (blockIdx.x == 0) cycles[0] = ticks() - t0;
}
void counter_all(benchmark::State& state) {
  const int ctas = state.range(0) ? int(state.range(0)) : sms();
  alone(all_answer);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
             return measured(1, [&](long long* c) { all_answer<<<ctas, 1, kWholeSm>>>(counters(), c, rounds); });
           }));
}
BENCHMARK(counter_all)->ArgNames({"ctas"})->Arg(2)->Arg(9)->Arg(33)->Arg(0)->Apply(by_cycles);

/// A thread of each CTA raises a counter again and again, its own or one that all share, with or without release.
__global__ void raises(uint32_t* memory, long long* cycles, int rounds, bool shared, bool releases) {
  uint32_t* const counter = memory + (shared ? 0 : blockIdx.x * kLine);
  const long long t0 = ticks();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (releases)
      counter_raise(counter);
    else
      asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
  }
  wait_for(counter, shared ? uint32_t(rounds) * gridDim.x : uint32_t(rounds));
  cycles[blockIdx.x] = ticks() - t0;
}
void raise(benchmark::State& state) {
  const int ctas = state.range(0) ? int(state.range(0)) : sms();
  alone(raises);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
                    return measured(size_t(ctas), [&](long long* c) {
                      raises<<<ctas, 1, kWholeSm>>>(counters(), c, rounds * 4, state.range(1) != 0,
                                                    state.range(2) != 0);
                    });
                  }) / 4);
}
BENCHMARK(raise)->ArgNames({"ctas", "shared", "release"})->ArgsProduct({{1, 0}, {0, 1}, {0, 1}})->Apply(by_cycles);

// ---- What a hand-over is made of

enum class Read { relaxed, acquire };

template <Read read>
__device__ uint32_t value_of(const uint32_t* counter) {
  if constexpr (read == Read::acquire) return counter_read(counter);
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}
template <bool releases>
__device__ void raised(uint32_t* counter) {
  if constexpr (releases)
    counter_raise(counter);
  else
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

/// What `turns` does between two reads of a counter that nobody changes.
enum class Between { nothing, red, release, fence, load };

/// A thread reads a counter again and again, each read behind the one before, and does something in between.
template <Read read, Between between>
__global__ void turns(uint32_t* memory, long long* cycles, int rounds) {
  uint32_t* const counter = memory + blockIdx.x * 2 * kLine;
  uint32_t sum = 0;
  const long long t0 = ticks();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint32_t is = value_of<read>(counter + sum);  // zero
    sum += is;
    if (is) continue;
    if (between == Between::red) raised<false>(counter + kLine);
    if (between == Between::release) raised<true>(counter + kLine);
    if (between == Between::fence) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    if (between == Between::load) sum += *const_cast<volatile uint32_t*>(counter + (1 << 18));
  }
  wait_for_value(sum, 0xfffffffe);
  cycles[blockIdx.x] = ticks() - t0;
}
template <Read read, Between between>
void turn(benchmark::State& state) {
  const int ctas = state.range(0) ? int(state.range(0)) : sms();
  alone(turns<read, between>);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
                    return measured(size_t(ctas), [&](long long* c) {
                      turns<read, between><<<ctas, 1, kWholeSm>>>(counters(), c, rounds * 4);
                    });
                  }) / 4);
}
void by_ctas(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ctas"})->Arg(1)->Arg(0);
  by_cycles(b);
}
BENCHMARK(turn<Read::relaxed, Between::nothing>)->Name("turn/relaxed")->Apply(by_ctas);
BENCHMARK(turn<Read::acquire, Between::nothing>)->Name("turn/acquire")->Apply(by_ctas);
BENCHMARK(turn<Read::relaxed, Between::red>)->Name("turn/relaxed/red")->Apply(by_ctas);
BENCHMARK(turn<Read::acquire, Between::red>)->Name("turn/acquire/red")->Apply(by_ctas);
BENCHMARK(turn<Read::relaxed, Between::release>)->Name("turn/relaxed/release")->Apply(by_ctas);
BENCHMARK(turn<Read::acquire, Between::release>)->Name("turn/acquire/release")->Apply(by_ctas);
BENCHMARK(turn<Read::relaxed, Between::fence>)->Name("turn/relaxed/fence")->Apply(by_ctas);
BENCHMARK(turn<Read::acquire, Between::fence>)->Name("turn/acquire/fence")->Apply(by_ctas);
BENCHMARK(turn<Read::relaxed, Between::load>)->Name("turn/relaxed/load")->Apply(by_ctas);
BENCHMARK(turn<Read::acquire, Between::load>)->Name("turn/acquire/load")->Apply(by_ctas);

/// One of two threads that hand each other a turn, number `mine`. Cycles of all rounds.
template <bool releases, Read read>
__device__ long long pass_turns(uint32_t* turn, uint32_t mine, int rounds) {
  const long long t0 = ticks();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (mine || r)
      while (value_of<read>(turn + (mine ^ 1) * kLine) < uint32_t(r) + mine) {
      }
    raised<releases>(turn + mine * kLine);
  }
  return ticks() - t0;
}

/// CTAs 2i and 2i + 1 hand each other a turn, a thread each and no words; with and without release and acquire.
template <bool releases, Read read>
__global__ void passes_turn(uint32_t* memory, long long* cycles, int rounds) {
  const uint32_t pair = blockIdx.x / 2, mine = blockIdx.x % 2;
  const long long took = pass_turns<releases, read>(memory + pair * 2 * kLine, mine, rounds);
  if (mine == 0) cycles[pair] = took;
}
template <bool releases, Read read>
void passed(benchmark::State& state) {
  const int pairs = state.range(0) ? int(state.range(0)) : sms() / 2;
  alone(passes_turn<releases, read>);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
                    return measured(size_t(pairs), [&](long long* c) {
                      passes_turn<releases, read><<<pairs * 2, 1, kWholeSm>>>(counters(), c, rounds);
                    });
                  }) / 2);
}
BENCHMARK(passed<false, Read::relaxed>)->Name("passed/red/relaxed")->Apply(by_pairs);
BENCHMARK(passed<false, Read::acquire>)->Name("passed/red/acquire")->Apply(by_pairs);
BENCHMARK(passed<true, Read::relaxed>)->Name("passed/release/relaxed")->Apply(by_pairs);
BENCHMARK(passed<true, Read::acquire>)->Name("passed/release/acquire")->Apply(by_pairs);

/// A thread that keeps `pages` loads of a page out of device memory on their way until `over()`. It is number `mine` of
/// `all` that do so, each with pages of its own.
template <class Over>
__device__ void keep_loading(const uint8_t* from, uint8_t* shared, uint64_t* full, uint32_t pages, uint32_t mine,
                             uint32_t all, Over over) {
  // The page that is asked for in turn t is waited for in turn t + pages.
  uint32_t stage = 0, parity = 1, left = pages;
  for (uint32_t turn = 0; left; ++turn) {
    const uint32_t bar = shared_address(&full[stage]);
    if (turn >= pages) mbarrier_wait_parity(bar, parity);
    if (left < pages || over()) {
      --left;
    } else {
      mbarrier_arrive_expect_tx(bar, kPage);
      const uint32_t at = (turn * all + mine) % (kSource / kPage);
      bulk_load(shared_address(shared + stage * kPage), from + size_t(at) * kPage, kPage, bar);
    }
    if (++stage == pages) stage = 0, parity ^= 1;
  }
}

/// CTAs 0 and 1 hand each other a turn, while each other CTA keeps `pages` loads of a page out of device memory on
/// their way, until the turns are over.
template <bool releases, Read read>
__global__ void passes_beside(uint32_t* memory, long long* cycles, int rounds, const uint8_t* from, uint32_t pages) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ alignas(8) uint64_t full[kMostLoads];
  uint32_t *const over = memory + 2 * kLine, *const begun = memory + 3 * kLine;
  if (blockIdx.x < 2) {
    const uint32_t mine = blockIdx.x;
    while (value_of<Read::relaxed>(begun) < gridDim.x - 2) {
    }
    const long long took = pass_turns<releases, read>(memory, mine, rounds);
    if (mine == 0) cycles[0] = took;
    if (mine) raised<false>(over);
    return;
  }
  for (uint32_t i = 0; i < pages; ++i) mbarrier_init(shared_address(&full[i]), 1);
  fence_mbarrier_init();
  raised<false>(begun);
  keep_loading(from, shared, full, pages, blockIdx.x - 2, gridDim.x - 2,
               [&] { return value_of<Read::relaxed>(over) != 0; });
}

/// 256 MB that no cache holds.
const uint8_t* pages_of_memory() {
  static gen5::harness::DeviceBuffer<uint8_t> source(kSource);
  return source.get();
}
template <bool releases, Read read>
void beside(benchmark::State& state) {
  const auto pages = uint32_t(state.range(0));
  const auto kernel = passes_beside<releases, read>;
  alone(kernel);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
                    return measured(1, [&](long long* c) {
                      kernel<<<sms(), 1, kWholeSm>>>(counters(), c, rounds, pages_of_memory(), pages);
                    });
                  }) / 2);
}
void by_pages(benchmark::internal::Benchmark* b) {
  b->ArgNames({"pages"})->Arg(1)->Arg(2)->Arg(4)->Arg(11);
  by_cycles(b);
}
BENCHMARK(beside<false, Read::relaxed>)->Name("beside/red/relaxed")->Apply(by_pages);
BENCHMARK(beside<true, Read::acquire>)->Name("beside/release/acquire")->Apply(by_pages);

/// What a thread does again and again, each behind the one before, while another thread of its CTA keeps loads of pages
/// on their way, on all SMs: read a word out of L2; a fence; store a word and release it; load a kilobyte by TMA out of
/// L2; hand CTA 2i or 2i + 1 a turn, by red, by release and acquire, or by storing a word that the other reads.
enum class Act { read, fence, release, bulk, red_turn, release_turn, word_turn };

template <Act act>
__global__ void acts_within(uint32_t* memory, long long* cycles, int rounds, const uint8_t* from, uint32_t pages) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ alignas(8) uint64_t full[kMostLoads], mine_there;
  __shared__ uint32_t over;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < pages; ++i) mbarrier_init(shared_address(&full[i]), 1);
    mbarrier_init(shared_address(&mine_there), 1);
    fence_mbarrier_init();
    over = 0;
  }
  __syncthreads();
  if (threadIdx.x == 32)
    return keep_loading(from, shared, full, pages, blockIdx.x, gridDim.x,
                        [&] { return *const_cast<volatile uint32_t*>(&over) != 0; });
  if (threadIdx.x) return;
  uint32_t* const own = memory + (gridDim.x + blockIdx.x) * 2 * kLine;
  const uint32_t mine = blockIdx.x % 2;
  uint32_t* const turn = memory + blockIdx.x / 2 * 2 * kLine;
  uint32_t sum = 0;
  const long long t0 = ticks();
  if constexpr (act == Act::red_turn) pass_turns<false, Read::relaxed>(turn, mine, rounds);
  if constexpr (act == Act::release_turn) pass_turns<true, Read::acquire>(turn, mine, rounds);
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (act == Act::read) sum += value_of<Read::relaxed>(own + sum);
    if (act == Act::fence) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    if (act == Act::release) {
      own[1] = uint32_t(r);
      counter_raise(own);
    }
    if (act == Act::bulk) {
      const uint32_t bar = shared_address(&mine_there);
      mbarrier_arrive_expect_tx(bar, 1024);
      bulk_load(shared_address(shared + kMostLoads * kPage), own, 1024, bar);
      mbarrier_wait_parity(bar, uint32_t(r) & 1);
    }
    if (act == Act::word_turn) {
      if (mine || r)
        while (word_read(turn + (mine ^ 1) * kLine) < uint32_t(r) + mine) {
        }
      word_store(turn + mine * kLine, uint32_t(r) + 1);
    }
  }
  wait_for_value(sum, 0xfffffffe);
  cycles[blockIdx.x] = ticks() - t0;
  *const_cast<volatile uint32_t*>(&over) = 1;
}
template <Act act>
void within(benchmark::State& state) {
  const auto pages = uint32_t(state.range(0));
  alone(acts_within<act>);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
                    return measured(size_t(sms()), [&](long long* c) {
                      acts_within<act><<<sms(), 64, kWholeSm>>>(counters(), c, rounds, pages_of_memory(), pages);
                    });
                  }) / (act >= Act::red_turn ? 2 : 1));
}
void by_few_pages(benchmark::internal::Benchmark* b) {
  b->ArgNames({"pages"})->Arg(0)->Arg(1)->Arg(3)->Arg(11);
  by_cycles(b);
}
BENCHMARK(within<Act::read>)->Name("within/read")->Apply(by_few_pages);
BENCHMARK(within<Act::fence>)->Name("within/fence")->Apply(by_few_pages);
BENCHMARK(within<Act::release>)->Name("within/release")->Apply(by_few_pages);
BENCHMARK(within<Act::bulk>)->Name("within/bulk")->Apply(by_few_pages);
BENCHMARK(within<Act::red_turn>)->Name("within/red_turn")->Apply(by_few_pages);
BENCHMARK(within<Act::release_turn>)->Name("within/release_turn")->Apply(by_few_pages);
BENCHMARK(within<Act::word_turn>)->Name("within/word_turn")->Apply(by_few_pages);

/// What a thread that fences now and then beside loads of pages leaves: when each fence began and ended, when each page
/// was asked for and seen to be there (in their order), all by the SM's clock, and how many pages.
struct Log {
  static constexpr uint32_t kFences = 12, kPages = 1000;
  uint32_t begin[kFences], end[kFences], asked[kPages], there[kPages], pages;
};
constexpr uint32_t kWarmUp = 20000, kBetweenFences = 16000;  // cycles

/// `refilled`: the loader goes on while the other thread fences; if not, what is on its way then lands and nothing else
/// is asked for until the fence is over. Without pages, and refilled: it brings pages into L2 and waits for nothing.
__global__ void fences_logged(Log* logs, const uint8_t* from, uint32_t pages, bool refilled) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ alignas(8) uint64_t full[kMostLoads];
  __shared__ uint32_t over, fencing;
  Log& log = *reinterpret_cast<Log*>(shared + kMostLoads * kPage);
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < pages; ++i) mbarrier_init(shared_address(&full[i]), 1);
    fence_mbarrier_init();
    over = fencing = log.pages = 0;
  }
  __syncthreads();
  const auto flag = [](uint32_t & f) -> volatile uint32_t& { return f; };
  if (threadIdx.x == 32 && pages) {
    uint32_t asked = 0, there = 0;
    for (;;) {
      const bool stops = flag(over) || asked == Log::kPages, waits = !refilled && flag(fencing);
      if (!stops && !waits && asked - there < pages) {
        const uint32_t stage = asked % pages, bar = shared_address(&full[stage]);
        log.asked[asked] = uint32_t(ticks());
        mbarrier_arrive_expect_tx(bar, kPage);
        const uint32_t at = (asked * gridDim.x + blockIdx.x) % (kSource / kPage);
        bulk_load(shared_address(shared + stage * kPage), from + size_t(at) * kPage, kPage, bar);
        ++asked;
      } else if (there < asked) {
        mbarrier_wait_parity(shared_address(&full[there % pages]), there / pages % 2);
        log.there[there++] = uint32_t(ticks());
      } else if (stops) {
        break;
      }
    }
    log.pages = there;
  }
  if (threadIdx.x == 32 && !pages && refilled)
    for (uint32_t page = blockIdx.x; !flag(over); page += gridDim.x) {
      const uint8_t* const at = from + size_t(page % (kSource / kPage)) * kPage;
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(at), "r"(kPage) : "memory");
      const long long asked = ticks();
      while (ticks() - asked < 1400) {
      }
    }
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < Log::kFences; ++i) {
      // Not all SMs at a time, nor always at the same moment of a page's way.
      const uint32_t pause = (i ? kBetweenFences : kWarmUp) + (i * 397 + blockIdx.x * 211) % 4096;
      const long long idle = ticks();
      while (ticks() - idle < pause) {
      }
      flag(fencing) = 1;
      const uint32_t t0 = uint32_t(ticks());
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
      log.begin[i] = t0;
      log.end[i] = uint32_t(ticks());
      flag(fencing) = 0;
    }
    flag(over) = 1;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < sizeof(Log) / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(logs + blockIdx.x)[i] = reinterpret_cast<const uint32_t*>(&log)[i];
}

/// What is told of the logs: what a fence takes; what a page takes from its request until it is there; and how long
/// behind the last page that was asked for before it a fence ends. Means of an SM, and of these the median.
enum class Of { fence, page, behind };
double of_log(const Log& log, Of what) {
  double sum = 0, count = 0;
  if (what == Of::page)
    for (uint32_t p = log.pages / 4; p < log.pages; ++p) sum += log.there[p] - log.asked[p], ++count;
  for (uint32_t i = 0; i < Log::kFences && what != Of::page; ++i) {
    uint32_t from = log.begin[i];
    for (uint32_t p = 0; p < log.pages && what == Of::behind; ++p)
      if (int32_t(log.asked[p] - log.begin[i]) < 0) from = log.there[p];
    sum += int32_t(log.end[i] - from), ++count;
  }
  return count ? sum / count : 0;
}

template <Of what>
void logged(benchmark::State& state) {
  const auto pages = uint32_t(state.range(0));
  constexpr int kBytes = int(kMostLoads * kPage + sizeof(Log));
  GEN5_CUDA(cudaFuncSetAttribute(fences_logged, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  for (auto _ : state) {
    gen5::harness::DeviceBuffer<Log> logs{size_t(sms())};
    fences_logged<<<sms(), 64, kBytes>>>(logs.get(), pages_of_memory(), pages, state.range(1) != 0);
    GEN5_CUDA(cudaGetLastError());
    GEN5_CUDA(cudaDeviceSynchronize());
    std::vector<double> of_sm;
    for (const Log& log : logs.download()) of_sm.push_back(of_log(log, what));
    report(state, median(of_sm));
  }
}
void by_ring(benchmark::internal::Benchmark* b) {
  b->ArgNames({"pages", "refilled"})->ArgsProduct({{1, 2, 3, 5, 11}, {1}});
  by_cycles(b);
}
void by_ring_and_none(benchmark::internal::Benchmark* b) {
  by_ring(b);
  b->ArgsProduct({{1, 2, 3, 5, 11}, {0}})->ArgsProduct({{0}, {1}});
}
BENCHMARK(logged<Of::page>)->Name("log/page")->Apply(by_ring);
BENCHMARK(logged<Of::fence>)->Name("log/fence")->Apply(by_ring_and_none);
BENCHMARK(logged<Of::behind>)->Name("log/fence_behind")->Apply(by_ring);

/// A fence right behind a load by another thread of the CTA, or by TMA; `pause`: cycles between them. The fence alone.
enum class Behind { nothing, load, other_warp, bulk, cached };

template <Behind behind>
__global__ void fences_behind(uint32_t* memory, long long* cycles, int rounds, int pause) {
  __shared__ __align__(128) uint8_t there[1024];
  __shared__ alignas(8) uint64_t bar_there;
  const uint32_t bar = shared_address(&bar_there);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  uint32_t* const own = memory + blockIdx.x * 8 * kLine;
  long long all = 0;
  uint32_t sum = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (behind == Behind::load && threadIdx.x == 0) sum += value_of<Read::relaxed>(own);
    if (behind == Behind::cached && threadIdx.x == 0) {
      uint32_t word;
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(word) : "l"(own) : "memory");
      sum += word;
    }
    if (behind == Behind::other_warp && threadIdx.x == 32) sum += value_of<Read::relaxed>(own);
    if (behind == Behind::bulk && threadIdx.x == 32) {
      mbarrier_arrive_expect_tx(bar, 1024);
      bulk_load(shared_address(there), own, 1024, bar);
      mbarrier_wait_parity(bar, uint32_t(r) & 1);
    }
    wait_for_value(sum, 0xfffffffe);
    __syncthreads();
    if (threadIdx.x == 0) {
      const long long begin = ticks();
      while (ticks() - begin < pause) {
      }
      const long long t0 = ticks();
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
      all += ticks() - t0;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) cycles[blockIdx.x] = all;
}
template <Behind behind>
void fence_behind(benchmark::State& state) {
  alone(fences_behind<behind>);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
             return measured(size_t(sms()), [&](long long* c) {
               fences_behind<behind><<<sms(), 64, kWholeSm>>>(counters(), c, rounds, int(state.range(0)));
             });
           }));
}
void by_pause(benchmark::internal::Benchmark* b) {
  b->ArgNames({"pause"})->Arg(0)->Arg(3000);
  by_cycles(b);
}
BENCHMARK(fence_behind<Behind::nothing>)->Name("fence_behind/nothing")->Apply(by_pause);
BENCHMARK(fence_behind<Behind::load>)->Name("fence_behind/load")->Apply(by_pause);
BENCHMARK(fence_behind<Behind::other_warp>)->Name("fence_behind/other_warp")->Apply(by_pause);
BENCHMARK(fence_behind<Behind::bulk>)->Name("fence_behind/bulk")->Apply(by_pause);
BENCHMARK(fence_behind<Behind::cached>)->Name("fence_behind/cached")->Apply(by_pause);

/// A thread raises a counter, and reads it until it sees that.
template <Read read>
__global__ void sees_own(uint32_t* memory, long long* cycles, int rounds) {
  uint32_t* const counter = memory + blockIdx.x * kLine;
  const long long t0 = ticks();
#pragma unroll 1
  for (int r = 1; r <= rounds; ++r) {
    raised<false>(counter);
    while (value_of<read>(counter) < uint32_t(r)) {
    }
  }
  cycles[blockIdx.x] = ticks() - t0;
}
template <Read read>
void own(benchmark::State& state) {
  const int ctas = state.range(0) ? int(state.range(0)) : sms();
  alone(sees_own<read>);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
             return measured(size_t(ctas),
                             [&](long long* c) { sees_own<read><<<ctas, 1, kWholeSm>>>(counters(), c, rounds); });
           }));
}
BENCHMARK(own<Read::relaxed>)->Name("own/relaxed")->Apply(by_ctas);
BENCHMARK(own<Read::acquire>)->Name("own/acquire")->Apply(by_ctas);

// ---- Pages of shared memory

/// A thread loads pages out of L2 by bulk copies; `warps` warps read a word a lane and give the page back, an arrival a
/// warp. Cycles of all pages.
__global__ void passes_pages(const uint8_t* from, long long* cycles, int pages, uint32_t stages, uint32_t never) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ alignas(8) uint64_t full[kMost], empty[kMost];
  const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32 - 1;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < stages; ++i) {
      mbarrier_init(shared_address(&full[i]), 1);
      mbarrier_init(shared_address(&empty[i]), warps);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  const long long t0 = ticks();
  uint32_t stage = 0, parity = 0, sum = 0;
  if (warp == warps) {
    if (threadIdx.x % 32) return;
    for (int page = 0; page < pages; ++page) {
      const uint32_t bar = shared_address(&full[stage]);
      mbarrier_wait_parity(shared_address(&empty[stage]), parity ^ 1);
      mbarrier_arrive_expect_tx(bar, kPage);
      bulk_load(shared_address(memory + stage * kPage), from + uint32_t(page) % 16 * kPage, kPage, bar);
      if (++stage == stages) stage = 0, parity ^= 1;
    }
    return;
  }
  for (int page = 0; page < pages; ++page) {
    mbarrier_wait_parity(shared_address(&full[stage]), parity);
    sum += *reinterpret_cast<const volatile uint32_t*>(memory + stage * kPage + threadIdx.x * 4);
    fence_proxy_async_shared();
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&empty[stage]));
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  wait_for_value(sum, never);
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
}
void page(benchmark::State& state) {
  const auto stages = uint32_t(state.range(0));
  const int threads = 32 * (int(state.range(1)) + 1);
  alone(passes_pages);
  for (auto _ : state)
    report(state, of_a_round([&](int rounds) {
                    return measured(1, [&](long long* c) {
                      passes_pages<<<1, threads, kWholeSm>>>(source_memory(), c, rounds * 8, stages, 0xfffffffe);
                    });
                  }) / 8);
}
BENCHMARK(page)->ArgNames({"stages", "warps"})->ArgsProduct({{1, 2, 8}, {1, 4}})->Apply(by_cycles);

// ---- Grids of a graph (probe 12 has those of a stream)

/// Leaves the time at which it may use what the grid before has made.
__global__ void follows(long long* nanoseconds, int number, bool dependent) {
  if (dependent) {
    griddepcontrol_launch_dependents();
    griddepcontrol_wait();
  }
  const long long now = nanoseconds_now();
  if (threadIdx.x == 0 && blockIdx.x == 0) nanoseconds[number] = now;
}
/// From one grid to the next, of many small ones behind each other.
template <bool dependent>
void grid(benchmark::State& state) {
  constexpr int kGrids = 33;
  static const double cycles_of_a_nanosecond = gen5::harness::current_device().clock_ghz;
  for (auto _ : state) {
    std::vector<long long> t;
    for (int launch = 0; launch < 2; ++launch)
      t = measured(kGrids, [&](long long* nanoseconds) {
        run_graph(
            kGrids, dependent, follows,
            [](int) {
              return ChainShape{sms(), kThreads, 0};
            },
            [&](int i) { return std::tuple(nanoseconds, i, dependent); });
      });
    report(state, double(t[kGrids - 1] - t[1]) / (kGrids - 2) * cycles_of_a_nanosecond);
  }
}
/// A CTA of a grid that loads pages of its own ahead of what the grid before has made: nanoseconds of its moments.
struct Moments {
  long long passed, ended;
};
/// `dependent`: it begins beside the grid before it. A thread loads `pages` pages; another one waits for the grid
/// before, reads a word, waits for the pages, stores a word and, if `releases`, raises a counter.
__global__ void follows_loading(Moments* moments, uint32_t* memory, const uint8_t* from, uint32_t pages, int number,
                                bool dependent, bool releases) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ alignas(8) uint64_t full;
  Moments mine{};
  if (dependent) griddepcontrol_launch_dependents();
  const uint32_t bar = shared_address(&full);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    mbarrier_arrive_expect_tx(bar, pages * kPage);
    for (uint32_t i = 0; i < pages; ++i) {
      const size_t at = (uint32_t(number) * pages + i) * gridDim.x + blockIdx.x;
      bulk_load(shared_address(shared + i * kPage), from + at % (kSource / kPage) * kPage, kPage, bar);
    }
  }
  if (threadIdx.x) return;
  if (dependent) griddepcontrol_wait();
  mine.passed = nanoseconds_now();
  uint32_t* const word = memory + blockIdx.x * kLine;
  wait_for_value(value_of<Read::relaxed>(word), 0xfffffffe);
  mbarrier_wait_parity(bar, 0);
  *const_cast<volatile uint32_t*>(word) = uint32_t(number);
  if (releases) counter_raise(memory + (gridDim.x + blockIdx.x) * kLine);
  mine.ended = nanoseconds_now();
  moments[uint32_t(number) * gridDim.x + blockIdx.x] = mine;
}
/// Of grids of a graph, each with `pages` pages on each SM: from one to the next; and from a grid's last thread's end
/// until one of the next grid's is let past its wait. Medians over the grids.
enum class Part { next, passed };
template <Part part>
void loading(benchmark::State& state) {
  constexpr int kGrids = 25;
  static const double cycles_of_a_nanosecond = gen5::harness::current_device().clock_ghz;
  const bool dependent = state.range(0) != 0, releases = state.range(1) != 0;
  const auto pages = uint32_t(state.range(2));
  const int ctas = sms(), bytes = int(std::max(pages, 1u) * kPage);
  GEN5_CUDA(cudaFuncSetAttribute(follows_loading, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  for (auto _ : state) {
    std::vector<Moments> t;
    for (int launch = 0; launch < 2; ++launch) {
      gen5::harness::DeviceBuffer<Moments> moments{size_t(kGrids) * size_t(ctas)};
      const uint8_t* const from = pages_of_memory();
      uint32_t* const memory = counters();
      run_graph(
          kGrids, dependent, follows_loading,
          [&](int) {
            return ChainShape{ctas, 64, bytes};
          },
          [&](int i) { return std::tuple(moments.get(), memory, from, pages, i, dependent, releases); });
      t = moments.download();
    }
    std::vector<double> of_grid;
    for (int i = 4; i < kGrids; ++i) {
      long long before_ended = 0, before_passed = 0, first_passed = 0;
      for (int c = 0; c < ctas; ++c) {
        const Moments &before = t[size_t((i - 1) * ctas + c)], &now = t[size_t(i * ctas + c)];
        before_ended = std::max(before_ended, before.ended);
        before_passed = c ? std::min(before_passed, before.passed) : before.passed;
        first_passed = c ? std::min(first_passed, now.passed) : now.passed;
      }
      of_grid.push_back(double(first_passed - (part == Part::next ? before_passed : before_ended)));
    }
    report(state, median(of_grid) * cycles_of_a_nanosecond);
  }
}
void by_loads(benchmark::internal::Benchmark* b) {
  b->ArgNames({"dependent", "releases", "pages"})->ArgsProduct({{0, 1}, {0, 1}, {0, 1, 3, 5}});
  by_cycles(b);
}
BENCHMARK(loading<Part::next>)->Name("grid_loading/next")->Apply(by_loads);
BENCHMARK(loading<Part::passed>)->Name("grid_loading/passed")->Apply(by_loads);
BENCHMARK(grid<false>)->Name("grid_graph")->Apply(by_cycles);
BENCHMARK(grid<true>)->Name("grid_dependent_graph")->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
