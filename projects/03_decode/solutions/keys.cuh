// What the reference solutions share: a warp goes through keys, one after the other, with 4 of the 128 dimensions to a
// lane, for all 8 queries; and the sums of several warps or CTAs are brought together.
#pragma once
#include <cuda_bf16.h>

#include <algorithm>

#include "projects/project.h"

namespace decode {

constexpr uint32_t kDim = project::Decode::kDim, kGroup = project::Decode::kGroup, kWarps = 8;
constexpr uint32_t kAll = 0xffffffff;

__device__ inline float4 floats(uint2 words) {
  const float2 low = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&words.x)),
               high = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&words.y));
  return {low.x, low.y, high.x, high.y};
}

/// What a row of weights has come to, for 8 queries: lane l has largest and sum of query l / 4, and of all queries the
/// dimensions 4 l to 4 l + 3.
struct Sums {
  float largest = -INFINITY, sum = 0;
  float o[kGroup][4] = {};
};

/// Eight numbers a lane become eight sums over the warp: lane l has that of number l / 4. Each step adds half of the
/// numbers of the lanes opposite.
__device__ inline float sums_of_eight(float (&x)[kGroup], uint32_t lane) {
#pragma unroll
  for (uint32_t half = 4, other = 16; half >= 1; half /= 2, other /= 2)
#pragma unroll
    for (uint32_t i = 0; i < half; ++i) {
      const bool high = lane & other;
      const float send = high ? x[i] : x[i + half], keep = high ? x[i + half] : x[i];
      x[i] = keep + __shfl_xor_sync(kAll, send, other);
    }
  float s = x[0];
  s += __shfl_xor_sync(kAll, s, 2);
  return s + __shfl_xor_sync(kAll, s, 1);
}

/// Keys first, first + step … below end.
__device__ inline Sums attend(const project::Decode& p, uint32_t head, uint32_t first, uint32_t step, uint32_t end) {
  constexpr uint32_t kBatch = 4;
  const uint32_t lane = threadIdx.x % 32;
  const float scale = 0.08838834764831845f * 1.4426950408889634f;  // log2(e) / √128
  float q[kGroup][4];
  for (uint32_t g = 0; g < kGroup; ++g) {
    const float4 w = floats(reinterpret_cast<const uint2*>(p.q + (head * kGroup + g) * kDim)[lane]);
    q[g][0] = w.x * scale, q[g][1] = w.y * scale, q[g][2] = w.z * scale, q[g][3] = w.w * scale;
  }
  const uint2* keys = reinterpret_cast<const uint2*>(p.k + size_t(head) * p.most * kDim) + lane;
  const uint2* values = reinterpret_cast<const uint2*>(p.v + size_t(head) * p.most * kDim) + lane;
  Sums sums;
  for (uint32_t begin = first; begin < end; begin += kBatch * step) {
    uint2 k[kBatch], v[kBatch];
#pragma unroll
    for (uint32_t i = 0; i < kBatch; ++i) {
      // A key behind the end is read again as the last one, and weighs nothing.
      const uint32_t key = min(begin + i * step, end - 1);
      k[i] = keys[size_t(key) * (kDim / 4)];
      v[i] = values[size_t(key) * (kDim / 4)];
    }
    float s[kBatch], most = sums.largest;
#pragma unroll
    for (uint32_t i = 0; i < kBatch; ++i) {
      const float4 w = floats(k[i]);
      float part[kGroup];
#pragma unroll
      for (uint32_t g = 0; g < kGroup; ++g)
        part[g] = fmaf(q[g][0], w.x, fmaf(q[g][1], w.y, fmaf(q[g][2], w.z, q[g][3] * w.w)));
      s[i] = begin + i * step < end ? sums_of_eight(part, lane) : -INFINITY;
      most = fmaxf(most, s[i]);
    }
    const float factor = exp2f(sums.largest - most);
    sums.largest = most;
    sums.sum *= factor;
    if (__any_sync(kAll, factor != 1))
#pragma unroll
      for (uint32_t g = 0; g < kGroup; ++g) {
        const float f = __shfl_sync(kAll, factor, 4 * g);
        for (float& x : sums.o[g]) x *= f;
      }
#pragma unroll
    for (uint32_t i = 0; i < kBatch; ++i) {
      const float weight = exp2f(s[i] - sums.largest);
      sums.sum += weight;
      const float4 w = floats(v[i]);
#pragma unroll
      for (uint32_t g = 0; g < kGroup; ++g) {
        const float x = __shfl_sync(kAll, weight, 4 * g);
        sums.o[g][0] = fmaf(x, w.x, sums.o[g][0]);
        sums.o[g][1] = fmaf(x, w.y, sums.o[g][1]);
        sums.o[g][2] = fmaf(x, w.z, sums.o[g][2]);
        sums.o[g][3] = fmaf(x, w.w, sums.o[g][3]);
      }
    }
  }
  return sums;
}

/// Sums of several parts of a row's keys, as they lie in memory.
struct Part {
  float largest[kGroup], sum[kGroup];
  float o[kGroup][kDim];
};

__device__ inline void keep(Part& part, const Sums& sums) {
  const uint32_t lane = threadIdx.x % 32;
  if (lane % 4 == 0) {
    part.largest[lane / 4] = sums.largest;
    part.sum[lane / 4] = sums.sum;
  }
  for (uint32_t g = 0; g < kGroup; ++g)
    *reinterpret_cast<float4*>(&part.o[g][4 * lane]) = {sums.o[g][0], sums.o[g][1], sums.o[g][2], sums.o[g][3]};
}

/// Warp g of the CTA brings query g of `count` parts together. `to`: query g's 128 numbers, divided by the sum if
/// `last`; else a part.
template <bool Last>
__device__ void combine(const Part* parts, uint32_t count, Part* part, float* o) {
  const uint32_t lane = threadIdx.x % 32, g = threadIdx.x / 32;
  float largest = -INFINITY, sum = 0, x[4] = {};
  for (uint32_t i = 0; i < count; ++i) largest = fmaxf(largest, parts[i].largest[g]);
  for (uint32_t i = 0; i < count; ++i) {
    if (parts[i].largest[g] == -INFINITY) continue;  // a part without keys
    const float factor = exp2f(parts[i].largest[g] - largest);
    sum = fmaf(parts[i].sum[g], factor, sum);
    const float4 w = *reinterpret_cast<const float4*>(&parts[i].o[g][4 * lane]);
    x[0] = fmaf(w.x, factor, x[0]);
    x[1] = fmaf(w.y, factor, x[1]);
    x[2] = fmaf(w.z, factor, x[2]);
    x[3] = fmaf(w.w, factor, x[3]);
  }
  if (Last) {
    const float f = 1 / sum;
    *reinterpret_cast<float4*>(o + g * kDim + 4 * lane) = {x[0] * f, x[1] * f, x[2] * f, x[3] * f};
  } else {
    if (lane == 0) {
      part->largest[g] = largest;
      part->sum[g] = sum;
    }
    *reinterpret_cast<float4*>(&part->o[g][4 * lane]) = {x[0], x[1], x[2], x[3]};
  }
}

/// How many parts a row's keys are cut into, so that about `ctas` CTAs have work.
inline uint32_t parts_for(const project::Decode& p, uint32_t ctas) {
  const uint32_t rows = p.sequences * p.heads, most = (p.most + 63) / 64;
  return std::max(1u, std::min(most, ctas / rows));
}

inline uint32_t multiprocessors() {
  int sms = 0;
  GEN5_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  return uint32_t(sms);
}

}  // namespace decode
