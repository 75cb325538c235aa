// Kernels that stream through global memory: copies, saxpy, strided copies, gathers and scatters.
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

template <class V>
__global__ void copy(const V* from, V* to, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}
template <class V>
__global__ void copy_grid_stride(const V* from, V* to, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) to[i] = from[i];
}
__global__ void read_only(const float4* from, float* to, uint32_t count) {
  float sum = 0;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void write_only(float4* to, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    to[i] = make_float4(1, 2, 3, float(i));
}
__global__ void saxpy(float a, const float* x, float* y, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i] + y[i];
}
__global__ void strided(const float* from, float* to, uint32_t count, uint32_t stride) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[uint64_t(i) * stride];
}
__global__ void strided_store(const float* from, float* to, uint32_t count, uint32_t stride) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[uint64_t(i) * stride] = from[i];
}
__global__ void gather(const float* table, const uint32_t* index, float* to, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = table[index[i]];
}
__global__ void gather_rows(const float4* table, const uint32_t* index, float4* to, uint32_t row) {
  const float4* from = table + uint64_t(index[blockIdx.x]) * row;
  for (uint32_t i = threadIdx.x; i < row; i += blockDim.x) to[uint64_t(blockIdx.x) * row + i] = from[i];
}
__global__ void scatter(const float* from, const uint32_t* index, float* table, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) table[index[i]] = from[i];
}

std::vector<uint32_t> places(size_t count, uint32_t below) {
  std::vector<uint32_t> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = hash_at(i, 3) % below;
  return v;
}

/// An odd number times the place, modulo a power of two: every place once, far apart.
std::vector<uint32_t> permutation(uint32_t count) {
  std::vector<uint32_t> v(count);
  for (uint32_t i = 0; i < count; ++i) v[i] = (i * 2654435761u) % count;
  return v;
}

constexpr uint32_t kMi = 1 << 20;

template <class V>
void add_copies(Cases& cases, const char* type) {
  for (const uint32_t mib : {1u, 8u, 32u, 128u}) {
    const uint32_t count = mib * (kMi / uint32_t(sizeof(V)));
    const auto made = [=](bool grid_stride) {
      auto in = buffer_of(values(mib * (kMi / 4), 1));
      auto out = empty<float>(mib * (kMi / 4));
      return Instance{[=] {
                        const auto* from = reinterpret_cast<const V*>(in->get());
                        auto* to = reinterpret_cast<V*>(out->get());
                        if (grid_stride)
                          copy_grid_stride<<<132 * 8, 256>>>(from, to, count);
                        else
                          copy<<<ceil_div(count, 256), 256>>>(from, to, count);
                      },
                      [=] {
                        const auto v = out->download();
                        return compare(
                            v.size(), 5000, 0, [&](size_t i) { return v[i]; }, [](size_t i) { return value_at(i, 1); });
                      }};
    };
    cases.push_back({text("copy/type:%s/mib:%u", type, mib), "copy", false, [=] { return made(false); }});
    if (mib >= 32)
      cases.push_back({text("copy_grid_stride/type:%s/mib:%u", type, mib), "copy", false, [=] { return made(true); }});
  }
}

}  // namespace

void add_streams(Cases& cases) {
  add_copies<float>(cases, "f32");
  add_copies<float4>(cases, "f32x4");
  for (const uint32_t mib : {4u, 96u}) {
    cases.push_back(
        {text("read_only/mib:%u", mib), "copy", false, [=] {
           auto in = buffer_of(values(mib * (kMi / 4), 1));
           auto out = empty<float>(132 * 4 * 512);
           return Instance{
               [=] { read_only<<<132 * 4, 512>>>(reinterpret_cast<float4*>(in->get()), out->get(), mib * (kMi / 16)); },
               [=] {
                 double got = 0, want = 0;
                 for (float f : out->download()) got += f;
                 for (uint32_t i = 0; i < mib * (kMi / 4); ++i) want += value_at(i, 1);
                 return std::fabs(got - want) < 1 ? "" : text("the sum is %g, not %g", got, want);
               }};
         }});
    cases.push_back(
        {text("write_only/mib:%u", mib), "copy", false, [=] {
           auto out = empty<float>(mib * (kMi / 4));
           return Instance{
               [=] { write_only<<<132 * 4, 512>>>(reinterpret_cast<float4*>(out->get()), mib * (kMi / 16)); },
               [=] {
                 const auto v = out->download();
                 return compare(
                     mib * (kMi / 16), 5000, 0, [&](size_t i) { return v[4 * i + 3]; },
                     [](size_t i) { return float(i); });
               }};
         }});
    cases.push_back({text("saxpy/mib:%u", mib), "copy", false, [=] {
                       const uint32_t count = mib * (kMi / 4);
                       auto x = buffer_of(values(count, 1)), y = empty<float>(count);
                       return Instance{[=] { saxpy<<<ceil_div(count, 256), 256>>>(2.0f, x->get(), y->get(), count); },
                                       [=] {
                                         const auto v = y->download();
                                         return compare(
                                             count, 5000, 0, [&](size_t i) { return v[i]; },
                                             [](size_t i) { return 2 * value_at(i, 1); });
                                       },
                                       [=] { y->fill(0); }};
                     }});
  }
  for (const uint32_t stride : {2u, 8u, 32u}) {
    const uint32_t count = kMi;
    cases.push_back({text("strided_load/stride:%u", stride), "strided access", false, [=] {
                       auto in = buffer_of(values(size_t(count) * stride, 1)), out = empty<float>(count);
                       return Instance{[=] { strided<<<count / 256, 256>>>(in->get(), out->get(), count, stride); },
                                       [=] {
                                         const auto v = out->download();
                                         return compare(
                                             count, 5000, 0, [&](size_t i) { return v[i]; },
                                             [=](size_t i) { return value_at(i * stride, 1); });
                                       }};
                     }});
    cases.push_back({text("strided_store/stride:%u", stride), "strided access", false, [=] {
                       auto in = buffer_of(values(count, 1)), out = empty<float>(size_t(count) * stride);
                       return Instance{
                           [=] { strided_store<<<count / 256, 256>>>(in->get(), out->get(), count, stride); },
                           [=] {
                             const auto v = out->download();
                             return compare(
                                 count, 5000, 0, [&](size_t i) { return v[i * stride]; },
                                 [](size_t i) { return value_at(i, 1); });
                           }};
                     }});
  }
  for (const uint32_t mib : {1u, 16u, 128u}) {
    const uint32_t count = 4 * kMi, below = mib * (kMi / 4);
    cases.push_back({text("gather/table_mib:%u", mib), "gather", false, [=] {
                       auto table = buffer_of(values(below, 1));
                       const auto index = places(count, below);
                       auto at = buffer_of(index);
                       auto out = empty<float>(count);
                       return Instance{
                           [=] { gather<<<count / 256, 256>>>(table->get(), at->get(), out->get(), count); },
                           [=] {
                             const auto v = out->download();
                             return compare(
                                 count, 5000, 0, [&](size_t i) { return v[i]; },
                                 [&](size_t i) { return value_at(index[i], 1); });
                           }};
                     }});
  }
  for (const uint32_t row : {64u, 512u}) {
    const uint32_t count = 8192, below = 32 * kMi / (row * 16), threads = std::min(row, 128u);
    cases.push_back(
        {text("gather_rows/row_bytes:%u", row * 16), "gather", false, [=] {
           auto table = buffer_of(values(size_t(below) * row * 4, 1));
           const auto index = places(count, below);
           auto at = buffer_of(index);
           auto out = empty<float>(size_t(count) * row * 4);
           return Instance{
               [=] {
                 gather_rows<<<count, threads>>>(reinterpret_cast<float4*>(table->get()), at->get(),
                                                 reinterpret_cast<float4*>(out->get()), row);
               },
               [=] {
                 const auto v = out->download();
                 return compare(
                     v.size(), 5000, 0, [&](size_t i) { return v[i]; },
                     [&](size_t i) { return value_at(uint64_t(index[i / (row * 4)]) * row * 4 + i % (row * 4), 1); });
               }};
         }});
  }
  for (const uint32_t mib : {4u, 32u})
    cases.push_back({text("scatter/table_mib:%u", mib), "gather", false, [=] {
                       const uint32_t count = mib * (kMi / 4);
                       auto in = buffer_of(values(count, 1)), table = empty<float>(count);
                       const auto index = permutation(count);
                       auto at = buffer_of(index);
                       return Instance{
                           [=] { scatter<<<count / 256, 256>>>(in->get(), at->get(), table->get(), count); },
                           [=] {
                             const auto v = table->download();
                             return compare(
                                 count, 5000, 0, [&](size_t i) { return v[index[i]]; },
                                 [](size_t i) { return value_at(i, 1); });
                           }};
                     }});
}

}  // namespace prediction
