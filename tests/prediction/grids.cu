// Transposes and stencils.
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

__global__ void transpose_plain(const float* in, float* out, uint32_t n) {
  const uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (uint32_t j = 0; j < 32; j += 8) out[uint64_t(x) * n + y + j] = in[uint64_t(y + j) * n + x];
}
/// Pitch 32: all lanes of a column hit one bank. Pitch 33: none do.
template <int Pitch>
__global__ void transpose_tiled(const float* in, float* out, uint32_t n) {
  __shared__ float tile[32][Pitch];
  uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (uint32_t j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[uint64_t(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (uint32_t j = 0; j < 32; j += 8) out[uint64_t(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void stencil_row(const float* in, float* out, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i + 1 < n) out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}
__global__ void stencil_plane(const float* in, float* out, uint32_t n) {
  const uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x > 0 && x + 1 < n && y > 0 && y + 1 < n) {
    const uint64_t i = uint64_t(y) * n + x;
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
  }
}
__global__ void stencil_plane_shared(const float* in, float* out, uint32_t n) {
  __shared__ float tile[10][34];
  const uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const uint64_t i = uint64_t(y) * n + x;
  const uint32_t tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  tile[ty][tx] = in[i];
  if (threadIdx.x == 0 && x > 0) tile[ty][0] = in[i - 1];
  if (threadIdx.x == 31 && x + 1 < n) tile[ty][33] = in[i + 1];
  if (threadIdx.y == 0 && y > 0) tile[0][tx] = in[i - n];
  if (threadIdx.y == 7 && y + 1 < n) tile[9][tx] = in[i + n];
  __syncthreads();
  if (x > 0 && x + 1 < n && y > 0 && y + 1 < n)
    out[i] = 0.2f * (tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}
/// Walks along z with the three planes in registers.
__global__ void stencil_volume(const float* in, float* out, uint32_t n) {
  const uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x == 0 || x + 1 >= n || y == 0 || y + 1 >= n) return;
  const uint64_t plane = uint64_t(n) * n;
  uint64_t i = uint64_t(y) * n + x;
  float below = in[i], here = in[i + plane];
  for (uint32_t z = 1; z + 1 < n; ++z) {
    i += plane;
    const float above = in[i + plane];
    out[i] = 0.125f * (2 * here + below + above + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    below = here, here = above;
  }
}

/// A square matrix or a cube of n a side, whose edges the kernel leaves alone.
template <class Launch, class Want>
Instance over_grid(uint64_t count, uint32_t edge, uint32_t n, int dimensions, Launch launch, Want want) {
  auto in = buffer_of(values(count, 1)), out = empty<float>(count);
  return {[=] { launch(in->get(), out->get()); },
          [=] {
            const auto v = out->download();
            for (uint32_t p = 0; p < 3000; ++p) {
              uint64_t at = 0;
              for (int d = 0; d < dimensions; ++d) at = at * n + edge + hash_at(p, uint64_t(d) + 9) % (n - 2 * edge);
              const double w = want(at);
              if (!(std::fabs(double(v[at]) - w) <= 1e-5))
                return text("element %llu is %g, not %g", (unsigned long long)at, v[at], w);
            }
            return std::string();
          }};
}

}  // namespace

void add_grids(Cases& cases) {
  for (const uint32_t n : {512u, 2048u, 4096u}) {
    const auto add = [&](const char* how, auto kernel) {
      cases.push_back({text("transpose/how:%s/n:%u", how, n), "transpose", false, [=] {
                         return over_grid(
                             uint64_t(n) * n, 0, n, 2,
                             [=](float* in, float* out) { kernel<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(in, out, n); },
                             [=](uint64_t i) { return value_at(i % n * n + i / n, 1); });
                       }});
    };
    add("plain", transpose_plain);
    add("tiled", transpose_tiled<32>);
    add("padded", transpose_tiled<33>);
  }
  for (const uint32_t mib : {2u, 64u}) {
    const uint32_t n = mib << 18;
    cases.push_back(
        {text("stencil_row/mib:%u", mib), "stencil", false, [=] {
           return over_grid(
               n, 1, n, 1, [=](float* in, float* out) { stencil_row<<<ceil_div(n, 256), 256>>>(in, out, n); },
               [](uint64_t i) { return 0.25 * value_at(i - 1, 1) + 0.5 * value_at(i, 1) + 0.25 * value_at(i + 1, 1); });
         }});
  }
  for (const uint32_t n : {512u, 1024u, 4096u}) {
    const auto add = [&](const char* how, auto kernel) {
      cases.push_back({text("stencil_plane/how:%s/n:%u", how, n), "stencil", false, [=] {
                         return over_grid(
                             uint64_t(n) * n, 1, n, 2,
                             [=](float* in, float* out) { kernel<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(in, out, n); },
                             [=](uint64_t i) {
                               return 0.2 * (double(value_at(i, 1)) + value_at(i - 1, 1) + value_at(i + 1, 1) +
                                             value_at(i - n, 1) + value_at(i + n, 1));
                             });
                       }});
    };
    add("global", stencil_plane);
    add("shared", stencil_plane_shared);
  }
  for (const uint32_t n : {128u, 256u})
    cases.push_back(
        {text("stencil_volume/n:%u", n), "stencil", false, [=] {
           const uint64_t plane = uint64_t(n) * n;
           return over_grid(
               plane * n, 1, n, 3,
               [=](float* in, float* out) { stencil_volume<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(in, out, n); },
               [=](uint64_t i) {
                 return 0.125 * (2.0 * value_at(i, 1) + value_at(i - plane, 1) + value_at(i + plane, 1) +
                                 value_at(i - 1, 1) + value_at(i + 1, 1) + value_at(i - n, 1) + value_at(i + n, 1));
               });
         }});
}

}  // namespace prediction
