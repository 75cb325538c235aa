// Online softmax
//
// Tensor Memory holds scores of 128 queries and 256 keys, in four blocks of 64 columns. Thread r reads row r once,
// block after block, and may not look back. Write the loop: it keeps the largest score so far, the sum of the
// exponentials, and the weighted sum of the keys' values. What was summed under an older maximum is too large by 2^(old
// - new).
#include <algorithm>
#include <bit>
#include <cmath>

#include "chapters/tensor_kernel.cuh"
#include "common/ptx/tcgen05_floats.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kRows = 128, kBlocks = 4, kBlock = 64, kKeys = kBlocks * kBlock;

// out[r] = Σ 2^s[r][k] · value[k] / Σ 2^s[r][k]. tcgen05_ld_32_floats(s, address) loads 32 columns of this thread's
// lane.
__global__ void softmax(const float* scores, const float* values, float* out) {
  __shared__ float value[kKeys];
  __shared__ uint32_t slot;
  const uint32_t row = threadIdx.x, columns = tensor_kernel::begin(&slot, kKeys),
                 mine = columns + (row / 32 * 32 << 16);
  for (uint32_t key = threadIdx.x; key < kKeys; key += kRows) value[key] = values[key];
  for (uint32_t column = 0; column < kKeys; column += 32)
    tcgen05_st_32_floats(mine + column, scores + row * kKeys + column);
  tcgen05_wait_st();
  __syncthreads();
  float largest = -INFINITY, sum = 0, weighted = 0;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    float s[kBlock];
    // Your lines here, about ten.
  }
  out[row] = weighted / sum;
  tensor_kernel::end(columns, kKeys);
}

void judge() {
  // Some rows grow along the keys, some fall; all scores of a row may be far above or below 0.
  std::vector<float> scores(kRows * kKeys), values(kKeys);
  for (uint32_t i = 0; i < scores.size(); ++i) {
    const uint32_t row = i / kKeys, key = i % kKeys;
    const float slope = (int(row % 5) - 2) * 0.07f, level = (int(row % 7) - 3) * 100.0f;
    scores[i] = level + slope * float(key) + float(i * 2654435761u >> 16) / 65536 * 4;
  }
  for (uint32_t key = 0; key < kKeys; ++key) values[key] = float(int(key * 37 % 101) - 50);
  exercise::DeviceBuffer<float> from(scores), weights(values), out(kRows);
  softmax<<<1, kRows>>>(from.get(), weights.get(), out.get());
  exercise::finish();
  const std::vector<float> got = out.download();
  // What comes out, in double, if a block's older sums are multiplied with the factor or not.
  const auto result = [&](uint32_t row, bool sums, bool weighted) {
    double m = -INFINITY, l = 0, o = 0;
    for (uint32_t block = 0; block < kBlocks; ++block) {
      double next = m;
      for (uint32_t k = 0; k < kBlock; ++k) next = std::max(next, double(scores[row * kKeys + block * kBlock + k]));
      const double factor = std::exp2(m - next);
      m = next;
      if (sums) l *= factor;
      if (weighted) o *= factor;
      for (uint32_t k = 0; k < kBlock; ++k) {
        const double p = std::exp2(double(scores[row * kKeys + block * kBlock + k]) - m);
        l += p;
        o += p * values[block * kBlock + k];
      }
    }
    return o / l;
  };
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-3 * (1 + std::abs(b)); };
  uint32_t no_sum = 0, no_weighted = 0, wrong = kRows;
  for (uint32_t row = kRows; row-- > 0;)
    if (!near(got[row], result(row, true, true))) {
      wrong = row;
      no_sum += near(got[row], result(row, false, true));
      no_weighted += near(got[row], result(row, true, false));
    }
  if (wrong == kRows) return;
  exercise::expect(
      !std::isnan(got[wrong]) && !std::isinf(got[wrong]),
      "a row is inf or NaN: 2^x leaves the range of f32 where x is not taken relative to the row's largest score");
  exercise::expect(no_sum < 10, "the sum of exponentials was not multiplied when the largest score rose");
  exercise::expect(no_weighted < 10, "the weighted sum was not multiplied when the largest score rose");
  exercise::differ("out", got[wrong], result(wrong, true, true), wrong);
}
EXERCISE(judge);
