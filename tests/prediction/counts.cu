// Reductions, scans, histograms and atomics.
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

__device__ inline int warp_sum(int v) {
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  return v;
}

/// Every CTA sums a part, thread 0 adds it to the result.
__global__ void reduce_atomic(const int4* in, int* out, uint32_t count) {
  __shared__ int parts[32];
  int sum = 0;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int4 v = in[i];
    sum += v.x + v.y + v.z + v.w;
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}
/// A tree in shared memory, a value a thread; the CTAs' sums go side by side.
__global__ void reduce_tree(const int* in, int* out) {
  extern __shared__ int tree[];
  tree[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (uint32_t d = blockDim.x / 2; d; d /= 2) {
    if (threadIdx.x < d) tree[threadIdx.x] += tree[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, tree[0]);
}

/// Inclusive sums within a CTA's 1024 values, by shuffles.
__global__ void scan_shuffle(const int* in, int* out) {
  __shared__ int totals[32];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * 1024 + threadIdx.x;
  int v = in[i];
  for (uint32_t d = 1; d < 32; d *= 2) {
    const int other = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v += other;
  }
  if (lane == 31) totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = totals[lane];
    for (uint32_t d = 1; d < 32; d *= 2) {
      const int other = __shfl_up_sync(0xffffffff, t, d);
      if (lane >= d) t += other;
    }
    totals[lane] = t;
  }
  __syncthreads();
  out[i] = v + (warp ? totals[warp - 1] : 0);
}
/// The same in shared memory, two buffers and a barrier a step.
__global__ void scan_shared(const int* in, int* out) {
  __shared__ int buffer[2][1024];
  const uint32_t t = threadIdx.x, i = blockIdx.x * 1024 + t;
  buffer[0][t] = in[i];
  __syncthreads();
  int from = 0;
  for (uint32_t d = 1; d < 1024; d *= 2, from ^= 1) {
    buffer[from ^ 1][t] = buffer[from][t] + (t >= d ? buffer[from][t - d] : 0);
    __syncthreads();
  }
  out[i] = buffer[from][t];
}

__global__ void histogram_shared(const uint32_t* in, uint32_t* bins, uint32_t count) {
  __shared__ uint32_t own[256];
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const uint32_t v = in[i];
    atomicAdd(&own[v & 255], 1);
    atomicAdd(&own[v >> 8 & 255], 1);
    atomicAdd(&own[v >> 16 & 255], 1);
    atomicAdd(&own[v >> 24], 1);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}
__global__ void histogram_global(const uint32_t* in, uint32_t* bins, uint32_t count, uint32_t mask) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[in[i] & mask], 1);
}

/// Every thread adds `rounds` times to the place that its number has modulo `places`.
__global__ void add_spread(uint32_t* memory, uint32_t places, uint32_t rounds) {
  const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t r = 0; r < rounds; ++r) atomicAdd(&memory[(t * 7 + r * 31) % places], 1);
}
/// The same, and the next addition needs what this one returns.
__global__ void add_returning(uint32_t* memory, uint32_t places, uint32_t rounds) {
  uint32_t at = (blockIdx.x * blockDim.x + threadIdx.x) % places;
  for (uint32_t r = 0; r < rounds; ++r) at = (at + (atomicAdd(&memory[at], 1) & 0) + 37) % places;
}
__global__ void add_float(float* memory, uint32_t places, uint32_t rounds) {
  const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t r = 0; r < rounds; ++r) atomicAdd(&memory[(t + r * 64) % places], 1.0f);
}
__global__ void take_lock(uint32_t* lock, uint32_t* count) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);
    __threadfence();
    *reinterpret_cast<volatile uint32_t*>(count) = *reinterpret_cast<volatile uint32_t*>(count) + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

std::vector<int> ints(size_t count) {
  std::vector<int> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = int(hash_at(i, 1) % 1000) - 500;
  return v;
}

std::vector<uint32_t> words(uint32_t count, bool skewed) {
  std::vector<uint32_t> v(count);
  for (uint32_t i = 0; i < count; ++i) v[i] = skewed && i % 8 ? 0x07070707 : hash_at(i, 5) ^ hash_at(i, 6) << 16;
  return v;
}

/// Additions to a zeroed array: they must sum up to `total`.
template <class T, class Launch>
Instance additions(uint32_t places, double total, Launch launch) {
  auto memory = empty<T>(places);
  return {[=] { launch(memory->get()); },
          [=] {
            double sum = 0;
            for (T v : memory->download()) sum += v;
            return sum == total ? "" : text("%.0f additions arrived, not %.0f", sum, total);
          },
          [=] { memory->fill(0); }};
}

}  // namespace

void add_counts(Cases& cases) {
  for (const uint32_t mib : {1u, 16u, 128u}) {
    const uint32_t count = mib << 18;
    const auto add = [&](const char* how, auto launch) {
      cases.push_back({text("reduce_%s/mib:%u", how, mib), "reduction", false, [=] {
                         const auto host = ints(count);
                         auto in = buffer_of(host), out = empty<int>(1);
                         return Instance{[=] { launch(in->get(), out->get()); },
                                         [=] {
                                           int want = 0;
                                           for (int v : host) want += v;
                                           const int got = out->download()[0];
                                           return got == want ? "" : text("the sum is %d, not %d", got, want);
                                         },
                                         [=] { out->fill(0); }};
                       }});
    };
    add("atomic",
        [=](int* in, int* out) { reduce_atomic<<<132 * 4, 256>>>(reinterpret_cast<int4*>(in), out, count / 4); });
    add("tree", [=](int* in, int* out) { reduce_tree<<<count / 512, 512, 512 * 4>>>(in, out); });
    const auto add_scan = [&](const char* how, auto kernel) {
      cases.push_back({text("scan_%s/mib:%u", how, mib), "scan", false, [=] {
                         const auto host = ints(count);
                         auto in = buffer_of(host), out = empty<int>(count);
                         return Instance{[=] { kernel<<<count / 1024, 1024>>>(in->get(), out->get()); },
                                         [=] {
                                           const auto got = out->download();
                                           int sum = 0;
                                           for (uint32_t i = 0; i < count; ++i) {
                                             sum = (i % 1024 ? sum : 0) + host[i];
                                             if (got[i] != sum) return text("sum %u is %d, not %d", i, got[i], sum);
                                           }
                                           return std::string();
                                         }};
                       }});
    };
    if (mib <= 16) {
      add_scan("shuffle", scan_shuffle);
      add_scan("shared", scan_shared);
    }
  }
  for (const bool skewed : {false, true})
    for (const uint32_t mib : {2u, 32u}) {
      const uint32_t count = mib << 18;
      cases.push_back(
          {text("histogram_shared/data:%s/mib:%u", skewed ? "skewed" : "even", mib), "histogram", false, [=] {
             auto in = buffer_of(words(count, skewed));
             return additions<uint32_t>(
                 256, 4.0 * count, [=](uint32_t* bins) { histogram_shared<<<132 * 4, 256>>>(in->get(), bins, count); });
           }});
    }
  for (const uint32_t bins : {256u, 65536u})
    for (const bool skewed : {false, true})
      cases.push_back(
          {text("histogram_global/bins:%u/data:%s", bins, skewed ? "skewed" : "even"), "histogram", false, [=] {
             const uint32_t count = 1 << 19;
             auto in = buffer_of(words(count, skewed));
             return additions<uint32_t>(bins, count, [=](uint32_t* at) {
               histogram_global<<<132 * 2, 256>>>(in->get(), at, count, bins - 1);
             });
           }});
  for (const uint32_t places : {1u, 32u, 1024u, 1u << 20}) {
    cases.push_back({text("atomic_add/places:%u", places), "atomics", false, [=] {
                       return additions<uint32_t>(places, 132.0 * 256 * 16,
                                                  [=](uint32_t* m) { add_spread<<<132, 256>>>(m, places, 16); });
                     }});
    cases.push_back({text("atomic_add_returning/places:%u", places), "atomics", false, [=] {
                       return additions<uint32_t>(places, 132.0 * 64 * 16,
                                                  [=](uint32_t* m) { add_returning<<<132, 64>>>(m, places, 16); });
                     }});
  }
  for (const uint32_t places : {64u, 1u << 18})
    cases.push_back({text("atomic_add_float/places:%u", places), "atomics", false, [=] {
                       return additions<float>(places, 132.0 * 256 * 8,
                                               [=](float* m) { add_float<<<132, 256>>>(m, places, 8); });
                     }});
  cases.push_back({"atomic_lock/ctas:132", "atomics", false, [] {
                     auto lock = empty<uint32_t>(1);
                     auto counter = additions<uint32_t>(
                         1, 132, [=](uint32_t* count) { take_lock<<<132, 32>>>(lock->get(), count); });
                     const auto reset = counter.reset;
                     counter.reset = [=] {
                       reset();
                       lock->fill(0);
                     };
                     return counter;
                   }});
}

}  // namespace prediction
