// Kernels bound by latency, and tiny ones, which are mostly their launch.
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

__global__ void list(const uint32_t* next, uint32_t* out, uint32_t steps) {
  uint32_t at = threadIdx.x % 32;
  for (uint32_t i = 0; i < steps; ++i) at = next[at];
  out[threadIdx.x] = at;
}
/// Looks a key up in a sorted array: loads that depend on each other, in every thread.
__global__ void search(const uint32_t* sorted, uint32_t* out, uint32_t count) {
  const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x, key = (t * 2654435761u) % (count * 3);
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (sorted[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  out[t] = low;
}
__global__ void fma_chain(float* out, uint32_t steps) {
  float v = float(threadIdx.x);
  for (uint32_t i = 0; i < steps; ++i) v = fmaf(v, 0.5f, 1.0f);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void shared_chain(uint32_t* out, uint32_t steps) {
  __shared__ uint32_t next[256];
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) next[i] = (i * 5 + 3) % 256;
  __syncthreads();
  uint32_t at = threadIdx.x % 256;
  for (uint32_t i = 0; i < steps; ++i) at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
__global__ void shuffle_chain(uint32_t* out, uint32_t steps) {
  uint32_t v = threadIdx.x;
  for (uint32_t i = 0; i < steps; ++i) v = __shfl_sync(0xffffffff, v, (threadIdx.x + 1) % 32);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void nothing() {}
__global__ void add(const float* x, float* y, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += x[i];
}
/// Many CTAs, each short: what starting them takes.
__global__ void short_ctas(uint32_t* out, uint32_t steps) {
  uint32_t v = blockIdx.x;
  for (uint32_t i = 0; i < steps; ++i) v = v * 1664525 + 1013904223;
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}

/// A permutation of one cycle, neighbours far apart: i goes to i + step.
std::vector<uint32_t> cycle(uint32_t places, uint32_t step) {
  std::vector<uint32_t> v(places);
  for (uint32_t i = 0; i < places; ++i) v[i] = (i + step) % places;
  return v;
}

}  // namespace

void add_latencies(Cases& cases) {
  struct List {
    uint32_t kib, steps;
  };
  for (const List l : {List{8, 2000}, List{160, 2000}, List{4096, 1000}, List{131072, 500}}) {
    cases.push_back({text("list/kib:%u", l.kib), "latency", false, [=] {
                       const uint32_t places = l.kib * 256, step = places / 8 * 3 + 33;
                       auto next = buffer_of(cycle(places, step));
                       auto out = empty<uint32_t>(32);
                       return Instance{[=] { list<<<1, 32>>>(next->get(), out->get(), l.steps); },
                                       [=] {
                                         const auto v = out->download();
                                         return compare(
                                             32, 32, 0, [&](size_t i) { return v[i]; },
                                             [=](size_t i) { return (i + uint64_t(l.steps) * step) % places; });
                                       }};
                     }});
  }
  for (const uint32_t count : {4096u, 1u << 20, 1u << 24})
    cases.push_back({text("search/count:%u", count), "latency", false, [=] {
                       std::vector<uint32_t> host(count);
                       for (uint32_t i = 0; i < count; ++i) host[i] = i * 3;
                       auto sorted = buffer_of(host);
                       auto out = empty<uint32_t>(132 * 256);
                       return Instance{
                           [=] { search<<<132, 256>>>(sorted->get(), out->get(), count); },
                           [=] {
                             const auto v = out->download();
                             return compare(
                                 v.size(), 5000, 0, [&](size_t i) { return v[i]; },
                                 [=](size_t i) { return ((uint32_t(i) * 2654435761u) % (count * 3) + 2) / 3; });
                           }};
                     }});
  for (const uint32_t threads : {32u, 512u}) {
    cases.push_back({text("fma_chain/threads:%u", threads), "latency", false, [=] {
                       auto out = empty<float>(132 * threads);
                       return Instance{[=] { fma_chain<<<132, threads>>>(out->get(), 2000); },
                                       [=] {
                                         const auto v = out->download();
                                         return compare(
                                             v.size(), 500, 1e-6, [&](size_t i) { return v[i]; },
                                             [](size_t) { return 2.0; });
                                       }};
                     }});
    cases.push_back({text("shared_chain/threads:%u", threads), "latency", false, [=] {
                       auto out = empty<uint32_t>(132 * threads);
                       return Instance{[=] { shared_chain<<<132, threads>>>(out->get(), 500); },
                                       [=] {
                                         const auto v = out->download();
                                         return compare(
                                             v.size(), 500, 0, [&](size_t i) { return v[i]; },
                                             [=](size_t i) {
                                               uint32_t at = i % threads % 256;
                                               for (int s = 0; s < 500; ++s) at = (at * 5 + 3) % 256;
                                               return at;
                                             });
                                       }};
                     }});
  }
  cases.push_back({"shuffle_chain", "latency", false, [] {
                     auto out = empty<uint32_t>(132 * 64);
                     return Instance{[=] { shuffle_chain<<<132, 64>>>(out->get(), 500); },
                                     [=] {
                                       const auto v = out->download();
                                       return compare(
                                           v.size(), 500, 0, [&](size_t i) { return v[i]; },
                                           [](size_t i) { return i % 64 / 32 * 32 + (i + 500) % 32; });
                                     }};
                   }});
  for (const uint32_t ctas : {1u, 132u, 2112u})
    cases.push_back({text("nothing/ctas:%u", ctas), "tiny", false, [=] {
                       return Instance{[=] { nothing<<<ctas, 128>>>(); }, [] { return std::string(); }};
                     }});
  for (const uint32_t count : {256u, 4096u, 65536u})
    cases.push_back({text("vector_add/count:%u", count), "tiny", false, [=] {
                       auto x = buffer_of(values(count, 1)), y = empty<float>(count);
                       return Instance{[=] { add<<<ceil_div(count, 128), 128>>>(x->get(), y->get(), count); },
                                       [=] {
                                         const auto v = y->download();
                                         return compare(
                                             count, count, 0, [&](size_t i) { return v[i]; },
                                             [](size_t i) { return value_at(i, 1); });
                                       },
                                       [=] { y->fill(0); }};
                     }});
  for (const uint32_t ctas : {1000u, 20000u})
    for (const uint32_t threads : {64u, 512u})
      cases.push_back({text("short_ctas/ctas:%u/threads:%u", ctas, threads), "tiny", false, [=] {
                         auto out = empty<uint32_t>(ctas);
                         return Instance{[=] { short_ctas<<<ctas, threads>>>(out->get(), 20); },
                                         [=] {
                                           const auto v = out->download();
                                           return compare(
                                               ctas, ctas, 0, [&](size_t i) { return v[i]; },
                                               [](size_t i) {
                                                 uint32_t x = uint32_t(i);
                                                 for (int s = 0; s < 20; ++s) x = x * 1664525 + 1013904223;
                                                 return x;
                                               });
                                         }};
                       }});
}

}  // namespace prediction
