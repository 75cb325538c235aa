// Kernels over the rows of a matrix: softmax, layer norm, RMS norm; a warp or a CTA a row.
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

__device__ inline float warp_sum(float v) {
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  return v;
}
__device__ inline float warp_max(float v) {
  for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
  return v;
}
template <bool Maximum>
__device__ inline float cta_all(float v) {
  __shared__ float parts[32];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  v = Maximum ? warp_max(v) : warp_sum(v);
  __syncthreads();
  if (lane == 0) parts[warp] = v;
  __syncthreads();
  v = lane < warps ? parts[lane] : Maximum ? -INFINITY : 0;
  return Maximum ? warp_max(v) : warp_sum(v);
}

/// A warp a row: every lane keeps Words values.
template <int Words>
__global__ void softmax_warp(const float* in, float* out, uint32_t rows) {
  const uint32_t row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* from = in + uint64_t(row) * Words * 32 + lane;
  float v[Words], most = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < Words; ++i) most = fmaxf(most, v[i] = from[i * 32]);
  most = warp_max(most);
#pragma unroll
  for (int i = 0; i < Words; ++i) sum += v[i] = __expf(v[i] - most);
  sum = 1 / warp_sum(sum);
#pragma unroll
  for (int i = 0; i < Words; ++i) out[uint64_t(row) * Words * 32 + lane + i * 32] = v[i] * sum;
}

/// A CTA a row, in three passes over it.
__global__ void softmax_cta(const float* in, float* out, uint32_t columns) {
  const float* from = in + uint64_t(blockIdx.x) * columns;
  float* to = out + uint64_t(blockIdx.x) * columns;
  float most = -INFINITY, sum = 0;
  for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, from[i]);
  most = cta_all<true>(most);
  for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(from[i] - most);
  sum = 1 / cta_all<false>(sum);
  for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) to[i] = __expf(from[i] - most) * sum;
}

__global__ void layer_norm(const float4* in, const float4* weight, float4* out, uint32_t columns) {
  const uint32_t n = columns / 4;
  const float4* from = in + uint64_t(blockIdx.x) * n;
  float sum = 0, squares = 0;
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
    const float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
    squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  const float mean = cta_all<false>(sum) / columns;
  const float scale = rsqrtf(cta_all<false>(squares) / columns - mean * mean + 1e-5f);
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
    const float4 v = from[i], w = weight[i];
    out[uint64_t(blockIdx.x) * n + i] = make_float4((v.x - mean) * scale * w.x, (v.y - mean) * scale * w.y,
                                                    (v.z - mean) * scale * w.z, (v.w - mean) * scale * w.w);
  }
}

/// The row stays in shared memory between the two passes.
__global__ void rms_norm(const float* in, float* out, uint32_t columns) {
  extern __shared__ float row[];
  float squares = 0;
  for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float v = row[i] = in[uint64_t(blockIdx.x) * columns + i];
    squares += v * v;
  }
  const float scale = rsqrtf(cta_all<false>(squares) / columns + 1e-5f);
  for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) out[uint64_t(blockIdx.x) * columns + i] = row[i] * scale;
}

enum class How { softmax, layer_norm, rms_norm };

std::string check_rows(How how, const std::vector<float>& got, uint32_t rows, uint32_t columns) {
  for (const uint32_t r : {0u, rows / 3, rows - 1}) {
    std::vector<double> x(columns), want(columns);
    double most = -INFINITY, sum = 0, squares = 0, exps = 0;
    for (uint32_t i = 0; i < columns; ++i) {
      x[i] = value_at(uint64_t(r) * columns + i, 1);
      most = std::max(most, x[i]), sum += x[i], squares += x[i] * x[i];
    }
    for (double v : x) exps += std::exp(v - most);
    const double mean = sum / columns;
    for (uint32_t i = 0; i < columns; ++i)
      want[i] = how == How::softmax ? std::exp(x[i] - most) / exps
                : how == How::layer_norm
                    ? (x[i] - mean) / std::sqrt(squares / columns - mean * mean + 1e-5) * value_at(i, 2)
                    : x[i] / std::sqrt(squares / columns + 1e-5);
    const auto wrong = compare(
        columns, columns, 1e-4, [&](size_t i) { return got[size_t(r) * columns + i]; },
        [&](size_t i) { return want[i]; });
    if (!wrong.empty()) return text("row %u: ", r) + wrong;
  }
  return "";
}

template <class Launch>
Instance over_rows(How how, uint32_t rows, uint32_t columns, Launch launch) {
  auto in = buffer_of(values(size_t(rows) * columns, 1)), out = empty<float>(size_t(rows) * columns);
  return {[=] { launch(in->get(), out->get()); }, [=] { return check_rows(how, out->download(), rows, columns); }};
}

template <int Words>
void add_warp_softmax(Cases& cases, uint32_t rows) {
  cases.push_back({text("softmax_warp/rows:%u/columns:%d", rows, Words * 32), "softmax", false, [=] {
                     return over_rows(How::softmax, rows, Words * 32, [=](float* in, float* out) {
                       softmax_warp<Words><<<rows / 8, 256>>>(in, out, rows);
                     });
                   }});
}

}  // namespace

void add_rows(Cases& cases) {
  for (const uint32_t rows : {1024u, 16384u}) {
    add_warp_softmax<4>(cases, rows);
    add_warp_softmax<32>(cases, rows);
  }
  struct Size {
    uint32_t rows, columns;
  };
  for (const Size s : {Size{512, 4096}, Size{4096, 1024}, Size{4096, 8192}, Size{128, 65536}}) {
    cases.push_back({text("softmax_cta/rows:%u/columns:%u", s.rows, s.columns), "softmax", false, [=] {
                       return over_rows(How::softmax, s.rows, s.columns, [=](float* in, float* out) {
                         softmax_cta<<<s.rows, 256>>>(in, out, s.columns);
                       });
                     }});
    cases.push_back({text("layer_norm/rows:%u/columns:%u", s.rows, s.columns), "norm", false, [=] {
                       auto weight = buffer_of(values(s.columns, 2));
                       return over_rows(How::layer_norm, s.rows, s.columns, [=](float* in, float* out) {
                         layer_norm<<<s.rows, 256>>>(reinterpret_cast<float4*>(in),
                                                     reinterpret_cast<float4*>(weight->get()),
                                                     reinterpret_cast<float4*>(out), s.columns);
                       });
                     }});
    if (s.columns <= 8192)
      cases.push_back({text("rms_norm/rows:%u/columns:%u", s.rows, s.columns), "norm", false, [=] {
                         return over_rows(How::rms_norm, s.rows, s.columns, [=](float* in, float* out) {
                           rms_norm<<<s.rows, 512, s.columns * 4>>>(in, out, s.columns);
                         });
                       }});
  }
}

}  // namespace prediction
