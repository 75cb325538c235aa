// Probe 00: shared memory. Latencies; what the port charges a warp's access of 32, 64 and 128 bits a lane, by stride,
// pattern and random addresses, for loads and stores; transposes.
//
//   probe_00_shared_memory [--benchmark_format=json]
//
// Every figure is a difference of two runs that differ in the number of accesses alone.
#include <array>
#include <utility>

#include "common/ptx/address.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr int kBatch = 8;           // accesses whose results are waited for together
constexpr int kFew = 4, kMany = 8;  // batches
constexpr int kWarps = 16;          // they keep the port busy
constexpr uint32_t kBytes = 40 * 1024, kSpan = 16 * 1024;

// ---- The clock itself

__global__ void clocks(long long* cycles) {
  for (int round = 0; round < 2; ++round) {  // the second time from the instruction cache
    const long long t0 = ticks();
    const long long t1 = ticks();
    cycles[0] = t1 - t0;
  }
}
void clock_reads(benchmark::State& state) {
  for (auto _ : state) report(state, double(measured(1, [](long long* c) { clocks<<<1, 1>>>(c); })[0]));
}
// Two reads of the clock with nothing between them.
BENCHMARK(clock_reads)->Name("clock")->Apply(by_cycles);

// ---- Latency: one warp, each access needs the result of the one before

/// Lane i works at i * stride words.
template <int width, bool stores, int n>
__global__ void chained(uint32_t stride, long long* cycles) {
  __shared__ alignas(16) uint32_t words[32 * 32];
  uint32_t r[width];
#pragma unroll
  for (uint32_t& word : r) word = shared_address(&words[threadIdx.x * stride]);
  words[threadIdx.x * stride] = r[0];
  __syncwarp();
  // Volatile: ptxas would load no more words than are used, and take a stored value for the loaded one.
  timed<n>(cycles, r[0], [&](int) {
    if constexpr (width == 1) {
      if constexpr (stores) asm volatile("st.volatile.shared.u32 [%0], %0;" ::"r"(r[0]) : "memory");
      asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(r[0])::"memory");
    } else if constexpr (width == 2) {
      if constexpr (stores) asm volatile("st.volatile.shared.v2.u32 [%0], {%0, %1};" ::"r"(r[0]), "r"(r[1]) : "memory");
      asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%0];" : "+r"(r[0]), "=r"(r[1])::"memory");
    } else {
      if constexpr (stores)
        asm volatile("st.volatile.shared.v4.u32 [%0], {%0, %1, %2, %3};" ::"r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                     : "memory");
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%0];"
                   : "+r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])::"memory");
    }
  });
}

template <int width, bool stores>
double chain_cycles(uint32_t stride) {
  const auto few = measured(1, [=](long long* c) { chained<width, stores, 32><<<1, 32>>>(stride, c); });
  const auto many = measured(1, [=](long long* c) { chained<width, stores, 64><<<1, 32>>>(stride, c); });
  return double(many[0] - few[0]) / 32;
}

template <bool stores>
void latency(benchmark::State& state) {
  const uint32_t stride = uint32_t(state.range(1));
  for (auto _ : state)
    report(state, state.range(0) == 32   ? chain_cycles<1, stores>(stride)
                  : state.range(0) == 64 ? chain_cycles<2, stores>(stride)
                                         : chain_cycles<4, stores>(stride));
}
void latencies(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"bits", "stride"});
  for (int stride : {1, 2, 4, 8, 16, 32}) b->Args({32, stride});
  for (int stride : {2, 4, 8, 32}) b->Args({64, stride});
  for (int stride : {4, 8, 32}) b->Args({128, stride});
}
// A load after the one that gave its address; a store, then the load of what it wrote.
BENCHMARK(latency<false>)->Name("latency")->Apply(latencies);
BENCHMARK(latency<true>)->Name("store_to_load")->Apply(latencies);

// ---- What the port charges: independent accesses of 16 warps

/// One access of `width` words a lane. Its number is part of the address, so that no two are the same.
template <int width, int number>
__device__ __forceinline__ void load(uint32_t at, float (&r)[width]) {
  if constexpr (width == 1)
    asm volatile("ld.shared.f32 %0, [%1+%2];" : "=f"(r[0]) : "r"(at), "n"(number * 128) : "memory");
  else if constexpr (width == 2)
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2+%3];"
                 : "=f"(r[0]), "=f"(r[1])
                 : "r"(at), "n"(number * 128)
                 : "memory");
  else
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4+%5];"
                 : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
                 : "r"(at), "n"(number * 128)
                 : "memory");
}

template <int width, int number>
__device__ __forceinline__ void store(uint32_t at, const float (&v)[width]) {
  if constexpr (width == 1)
    asm volatile("st.shared.f32 [%0+%1], %2;" ::"r"(at), "n"(number * 128), "f"(v[0]) : "memory");
  else if constexpr (width == 2)
    asm volatile("st.shared.v2.f32 [%0+%1], {%2, %3};" ::"r"(at), "n"(number * 128), "f"(v[0]), "f"(v[1]) : "memory");
  else
    asm volatile("st.shared.v4.f32 [%0+%1], {%2, %3, %4, %5};" ::"r"(at), "n"(number * 128), "f"(v[0]), "f"(v[1]),
                 "f"(v[2]), "f"(v[3])
                 : "memory");
}

/// Uses the words of load `i` of a batch with few instructions: an FMA for two words, of two loads that have one each.
template <int width>
__device__ __forceinline__ void fold(const float (&r)[kBatch][width], int i, float& sum) {
  if (width == 1 && i % 2 == 0) return;
#pragma unroll
  for (int k = 0; k < width; k += 2) {
    const float a = width == 1 ? r[i - 1][0] : r[i][k], b = width == 1 ? r[i][0] : r[i][k + 1];
    asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));
  }
}
template <int width>
__device__ __forceinline__ void fold(const float (&r)[kBatch][width], float& sum) {
#pragma unroll
  for (int i = 0; i < kBatch; ++i) fold<width>(r, i, sum);
}

/// Loads a batch into `r` and uses, between the loads, the words of `before`, the one before it, if there is one.
template <int width, int... number>
__device__ __forceinline__ void load_batch(uint32_t at, float (&r)[kBatch][width], const float (*before)[kBatch][width],
                                           float& sum, std::integer_sequence<int, number...>) {
  const auto one = [&]<int n>(std::integral_constant<int, n>) {
    load<width, n>(at, r[n]);
    if (before) fold<width>(*before, n, sum);
  };
  (one(std::integral_constant<int, number>()), ...);
}
template <int width, int... number>
__device__ __forceinline__ void store_batch(uint32_t at, const float (&v)[width],
                                            std::integer_sequence<int, number...>) {
  (store<width, number>(at, v), ...);
}

/// offsets: of the 32 lanes; active: those that take part.
template <int width, bool stores, bool all, int batches>
__global__ void accesses(const uint32_t* offsets, uint32_t active, long long* cycles) {
  __shared__ alignas(1024) float words[kBytes / 4];
  for (uint32_t i = threadIdx.x; i < kBytes / 4; i += blockDim.x) words[i] = 0;
  __syncthreads();
  const uint32_t first = shared_address(words) + offsets[threadIdx.x % 32];
  float sum = 0, value[width];
  [[maybe_unused]] float r[2][kBatch][width];
  load<width, 0>(first, value);  // so that nobody knows what the stores write
  const bool takes_part = active >> threadIdx.x % 32 & 1;
  timed<batches>(cycles, reinterpret_cast<uint32_t&>(sum), [&](int batch) {
    constexpr std::make_integer_sequence<int, kBatch> numbers;
    const uint32_t at = first + uint32_t(batch) * kBatch * 128;
    if (!all && !takes_part) return;
    if constexpr (stores) {
      store_batch<width>(at, value, numbers);
    } else {
      // The words of one batch are used while those of the next are under way.
      load_batch<width>(at, r[batch % 2], batch > 0 ? &r[(batch + 1) % 2] : nullptr, sum, numbers);
      if (batch == batches - 1) fold<width>(r[batch % 2], sum);
    }
  });
}

using Offsets = std::array<uint32_t, 32>;

struct Access {
  Offsets at;
  uint32_t active = ~0u;
  int warps = kWarps;
};

template <int width, bool stores, bool all>
double port_cycles(const Access& a) {
  const gen5::harness::DeviceBuffer<uint32_t> at(std::vector<uint32_t>(a.at.begin(), a.at.end()));
  const auto few = measured(
      1, [&](long long* c) { accesses<width, stores, all, kFew><<<1, a.warps * 32>>>(at.get(), a.active, c); });
  const auto many = measured(
      1, [&](long long* c) { accesses<width, stores, all, kMany><<<1, a.warps * 32>>>(at.get(), a.active, c); });
  return double(many[0] - few[0]) / (a.warps * kBatch * (kMany - kFew));
}
template <int width, bool stores>
double port_cycles(const Access& a) {
  return a.active == ~0u ? port_cycles<width, stores, true>(a) : port_cycles<width, stores, false>(a);
}

template <bool stores>
void report_port(benchmark::State& state, int64_t bits, const Access& access) {
  for (auto _ : state) {
    const double cycles = bits == 32   ? port_cycles<1, stores>(access)
                          : bits == 64 ? port_cycles<2, stores>(access)
                                       : port_cycles<4, stores>(access);
    report(state, cycles);
    state.counters["bytes_per_cycle"] = double(bits) * 4 / cycles;
  }
}

Offsets strided(uint32_t words) {
  Offsets at;
  for (uint32_t i = 0; i < 32; ++i) at[i] = i * words * 4;
  return at;
}

// Lane i at i * stride words; stride 0: all lanes at one place.
template <bool stores>
void by_stride(benchmark::State& state) {
  report_port<stores>(state, state.range(0), {strided(uint32_t(state.range(1)))});
}
void strides(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"bits", "stride"});
  for (int stride : {0, 1, 2, 3, 4, 5, 8, 16, 32, 33}) b->Args({32, stride});
  for (int stride : {0, 2, 4, 6, 8, 16, 32, 34, 66}) b->Args({64, stride});
  for (int stride : {0, 4, 8, 12, 16, 20, 32, 36, 64, 128}) b->Args({128, stride});
}
BENCHMARK(by_stride<false>)->Name("load")->Apply(strides);
BENCHMARK(by_stride<true>)->Name("store")->Apply(strides);

// Lanes that share places: lane i at place i / 2, i / 4, i / 8 (neighbours) or i % 16, i % 8, i % 4 (groups).
template <bool stores>
void by_sharing(benchmark::State& state) {
  const uint32_t width = uint32_t(state.range(0)) / 8, neighbours = uint32_t(state.range(1)),
                 places = uint32_t(state.range(2));
  Offsets at;
  for (uint32_t i = 0; i < 32; ++i) at[i] = i / neighbours % places * width;
  report_port<stores>(state, state.range(0), {at});
}
void sharings(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"bits", "neighbours", "places"});
  for (int bits : {32, 64, 128})
    for (const auto& [neighbours, places] : {std::pair{2, 16}, {4, 8}, {8, 4}, {1, 16}, {1, 8}, {1, 4}})
      b->Args({bits, neighbours, places});
}
BENCHMARK(by_sharing<false>)->Name("load_shared")->Apply(sharings);
BENCHMARK(by_sharing<true>)->Name("store_shared")->Apply(sharings);

// Lanes that share places two by two, and how: lane i with lane i ^ 1, 2, 4 … 16; the places `stride` words apart.
// `odd` lanes go to a place of their own.
template <bool stores>
void by_pairs(benchmark::State& state) {
  const uint32_t partner = uint32_t(state.range(1)), stride = uint32_t(state.range(2)), odd = uint32_t(state.range(3));
  Offsets at;
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t low = i & (partner - 1), high = i / (2 * partner) * partner;  // i without the partner's bit
    at[i] = (i < odd ? 16 + i : low | high) * stride * 4;
  }
  report_port<stores>(state, state.range(0), {at});
}
void pairs(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"bits", "partner", "stride", "odd"});
  for (int words : {2, 4}) {
    for (int partner : {1, 2, 4, 8, 16}) b->Args({32 * words, partner, words, 0});
    for (int partner : {1, 2}) b->Args({32 * words, partner, 2 * words, 0})->Args({32 * words, partner, 32, 0});
    b->Args({32 * words, 1, words, 1})->Args({32 * words, 2, words, 1});
  }
}
BENCHMARK(by_pairs<false>)->Name("load_pairs")->Apply(pairs);

// Some lanes only; lane i at i * bits.
template <bool stores>
void by_lanes(benchmark::State& state) {
  report_port<stores>(state, state.range(0), {strided(uint32_t(state.range(0)) / 32), uint32_t(state.range(1))});
}
void masks(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"bits", "lanes"});
  for (int bits : {32, 64, 128})
    for (int64_t lanes : {0x1ll, 0xffll, 0xffffll, 0x55555555ll, 0x33333333ll, 0xf0f0f0fll, 0x11111111ll})
      b->Args({bits, lanes});
}
BENCHMARK(by_lanes<false>)->Name("load_lanes")->Apply(masks);
BENCHMARK(by_lanes<true>)->Name("store_lanes")->Apply(masks);

// Fewer warps: what one sub-partition can do, cycles of one warp's access divided by the warps.
template <bool stores>
void by_warps(benchmark::State& state) {
  const uint32_t stride = uint32_t(state.range(1));
  report_port<stores>(state, state.range(0), {strided(stride), ~0u, int(state.range(2))});
}
void some_warps(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"bits", "stride", "warps"});
  for (int warps : {1, 2, 4, 8}) b->Args({32, 1, warps})->Args({32, 8, warps})->Args({128, 4, warps});
}
BENCHMARK(by_warps<false>)->Name("load_warps")->Apply(some_warps);
BENCHMARK(by_warps<true>)->Name("store_warps")->Apply(some_warps);

// Random places: of the whole buffer, or of one piece of 1 KiB, where lanes meet more often.
template <bool stores>
void by_chance(benchmark::State& state) {
  const uint32_t width = uint32_t(state.range(0)) / 8, span = uint32_t(state.range(1));
  uint64_t random = uint64_t(state.range(2));
  Offsets at;
  for (uint32_t& a : at) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    a = uint32_t(random >> 33) % (span / width) * width;
  }
  report_port<stores>(state, state.range(0), {at});
}
void chances(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"bits", "span", "seed"});
  b->ArgsProduct({{32, 64, 128}, {1024, int64_t(kSpan)}, {1, 2, 3, 4}});
}
BENCHMARK(by_chance<false>)->Name("load_random")->Apply(chances);
BENCHMARK(by_chance<true>)->Name("store_random")->Apply(chances);

// ---- Transposes: every warp writes a 32 × 32 tile of words by rows and reads it by columns

enum Layout { naive, padded, swizzled };  // pitch 32 words; 33 words; 32 words, column XOR row

constexpr uint32_t kTileWords = 32 * 33;
constexpr int kTiles = 8;

template <int layout, int... row>
__device__ __forceinline__ void write_rows(uint32_t tile, uint32_t lane, std::integer_sequence<int, row...>) {
  constexpr uint32_t pitch = layout == padded ? 132 : 128;
  const auto one = [&]<int r>(std::integral_constant<int, r>) {
    const uint32_t at = layout == swizzled ? tile + (lane ^ uint32_t(r)) * 4 : tile + lane * 4;
    asm volatile("st.shared.u32 [%0+%1], %2;" ::"r"(at), "n"(r * pitch), "r"(lane) : "memory");
  };
  (one(std::integral_constant<int, row>()), ...);
}

template <int layout, int first, int... column>
__device__ __forceinline__ void read_columns(uint32_t tile, uint32_t lane, float& sum,
                                             std::integer_sequence<int, column...>) {
  constexpr uint32_t pitch = layout == padded ? 132 : 128;
  float r[kBatch][1];
  const auto one = [&]<int c>(std::integral_constant<int, c>) {
    if constexpr (layout == swizzled)
      asm volatile("ld.shared.f32 %0, [%1];"
                   : "=f"(r[c - first][0])
                   : "r"(tile + lane * 128 + (lane ^ c) * 4)
                   : "memory");
    else
      asm volatile("ld.shared.f32 %0, [%1+%2];"
                   : "=f"(r[c - first][0])
                   : "r"(tile + lane * pitch), "n"(c * 4)
                   : "memory");
  };
  (one(std::integral_constant<int, first + column>()), ...);
  fold<1>(r, sum);
}

template <int layout, int n>
__global__ void transposes(long long* cycles) {
  __shared__ alignas(128) uint32_t tiles[kTiles * kTileWords];
  const uint32_t lane = threadIdx.x % 32, tile = shared_address(&tiles[threadIdx.x / 32 * kTileWords]);
  float sum = 0;
  timed<n>(cycles, reinterpret_cast<uint32_t&>(sum), [&](int) {
    constexpr std::make_integer_sequence<int, kBatch> batch;
    write_rows<layout>(tile, lane, std::make_integer_sequence<int, 32>());
    __syncwarp();
    read_columns<layout, 0>(tile, lane, sum, batch);
    read_columns<layout, 8>(tile, lane, sum, batch);
    read_columns<layout, 16>(tile, lane, sum, batch);
    read_columns<layout, 24>(tile, lane, sum, batch);
    __syncwarp();
  });
}

// Port cycles of one access, of the 64 that a tile takes.
template <int layout>
void transpose(benchmark::State& state) {
  for (auto _ : state) {
    const auto few = measured(1, [](long long* c) { transposes<layout, 2><<<1, kTiles * 32>>>(c); });
    const auto many = measured(1, [](long long* c) { transposes<layout, 4><<<1, kTiles * 32>>>(c); });
    report(state, double(many[0] - few[0]) / (2 * kTiles * 64));
  }
}
BENCHMARK(transpose<naive>)->Name("transpose/naive")->Apply(by_cycles);
BENCHMARK(transpose<padded>)->Name("transpose/padded")->Apply(by_cycles);
BENCHMARK(transpose<swizzled>)->Name("transpose/swizzled")->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
