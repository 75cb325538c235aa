// DeepGEMM's kernel for sm_100, sm100_fp8_fp4_gemm_1d1d, from its package's headers and unchanged: D = A · Bᵀ with a
// power of two for each row and 32 or 128 elements of K, four of them packed into a word. What stands here is what its
// Python library does around it (tensor maps, a launch), and a product in double to compare with.
#include <deep_gemm/impls/sm100_fp8_fp4_gemm_1d1d.cuh>

#include <algorithm>
#include <random>

#include "support.h"

namespace {

double e2m1(uint32_t code) {
  const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code & 8 ? -values[code & 7] : values[code & 7];
}

/// rows × k numbers with their scales: as they lie in memory, and what they are worth.
struct Operand {
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> scales;  // word w of row r: at w · rows + r
  std::vector<double> value;
};

template <bool kFp4, uint32_t kGran>
Operand make(uint32_t rows, uint32_t k, uint32_t seed) {
  std::mt19937 random(seed);
  const uint32_t words = (k + 4 * kGran - 1) / (4 * kGran);
  Operand o{std::vector<uint8_t>(size_t(rows) * k / (kFp4 ? 2 : 1)), std::vector<uint32_t>(size_t(words) * rows),
            std::vector<double>(size_t(rows) * k)};
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t i = 0; i < k; ++i) {
      uint32_t& word = o.scales[size_t(i / (4 * kGran)) * rows + r];
      const uint32_t byte = i / kGran % 4;
      if (i % kGran == 0) word |= (124 + random() % 7) << (8 * byte);
      const size_t at = size_t(r) * k + i;
      uint32_t code;
      if constexpr (kFp4) {
        code = random() % 16;
        o.bytes[at / 2] |= uint8_t(code << (4 * (at % 2)));
      } else {
        code = random() % 0x7f | (random() & 1) << 7;  // 0x7f is NaN
        o.bytes[at] = uint8_t(code);
      }
      o.value[at] = (kFp4 ? e2m1(code) : e4m3(code)) * std::ldexp(1.0, int(word >> (8 * byte) & 255) - 127);
    }
  return o;
}

template <bool kFp4, uint32_t kGran, uint32_t kCtas>
bool run(const char* name, uint32_t m, uint32_t n, uint32_t k) {
  using namespace deep_gemm;
  using Element = std::conditional_t<kFp4, cutlass::float_e2m1_t, cutlass::float_e4m3_t>;
  constexpr uint32_t kBlockM = 128, kBlockN = 128, kBlockK = kFp4 ? 256 : 128, kStages = 4, kSms = 4;
  constexpr auto kMajor = cute::UMMA::Major::K;
  const auto kernel =
      sm100_fp8_fp4_gemm_1d1d_impl<kMajor, kMajor, kGran, kGran, 128, 0, 0, 0, kBlockM, kBlockN, kBlockK, 1, 128, 128,
                                   128, kStages, 2, 128, 128, kCtas, false, kSms, false, true, GemmType::Normal, false,
                                   Element, Element, float, epilogue::operators::Identity>;
  using Shared = layout::SM100FP8FP4GemmSharedStorage<kStages, 2, 2, kBlockM, kBlockN / kCtas, kBlockK, 128, 32, 128,
                                                      128, kBlockK / 128, Element, Element, float>;
  const Operand a = make<kFp4, kGran>(m, k, 1), b = make<kFp4, kGran>(n, k, 2);
  std::vector<float> d(size_t(m) * n, NAN);
  float* out = upload(d);
  const auto matrix = [&](const Operand& o, uint32_t rows, uint32_t box) {
    return map_of(kFp4 ? CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B : CU_TENSOR_MAP_DATA_TYPE_UINT8, upload(o.bytes), k, rows,
                  k / (kFp4 ? 2 : 1), kBlockK, box, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const auto scales = [&](const Operand& o, uint32_t rows) {
    return map_of(CU_TENSOR_MAP_DATA_TYPE_INT32, upload(o.scales), rows, o.scales.size() / rows, rows * 4, 128,
                  kBlockK / 128, CU_TENSOR_MAP_SWIZZLE_NONE);
  };
  const auto d_map = map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, out, n, m, n * 4, 32, kBlockM, CU_TENSOR_MAP_SWIZZLE_128B);

  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
        "cudaFuncSetAttribute");
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {kCtas, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = kSms;
  config.blockDim = 256;
  config.dynamicSmemBytes = sizeof(Shared);
  config.attrs = &cluster;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<int*>(nullptr), m, n, k, EpilogueOperatorArgs{},
                           matrix(a, m, kBlockM), matrix(b, n, kBlockN / kCtas), scales(a, m), scales(b, n), d_map),
        "cudaLaunchKernelEx");
  check(cudaMemcpy(d.data(), out, d.size() * sizeof(float), cudaMemcpyDefault), name);

  // An instruction cuts at most 33 terms by 2^-25 of the largest, and its sum by 2^-23.
  const double bound = k / 32.0 * (33 + 4) * 0x1p-25;
  size_t outside = 0;
  double largest = 0;
  for (uint32_t r = 0; r < m; ++r)
    for (uint32_t c = 0; c < n; ++c) {
      double want = 0, magnitude = 0;
      for (uint32_t i = 0; i < k; ++i) {
        const double p = a.value[size_t(r) * k + i] * b.value[size_t(c) * k + i];
        want += p;
        magnitude += std::fabs(p);
      }
      const double error = std::fabs(d[size_t(r) * n + c] - want) / magnitude;
      if (!(error <= bound)) ++outside;
      largest = std::max(largest, error);
    }
  std::printf("%s %ux%ux%u: %s, largest error %.2g of the sum of magnitudes, %zu of %zu outside\n", name, m, n, k,
              outside ? "WRONG" : "right", largest, outside, d.size());
  return outside == 0;
}

}  // namespace

int main() {
  bool good = run<false, 128, 1>("e4m3, a scale for 128", 256, 384, 640);
  good &= run<false, 32, 2>("e4m3, a scale for 32, CTA pair", 512, 384, 512);
  good &= run<true, 32, 1>("e2m1, a scale for 32", 256, 256, 512);
  return good ? 0 : 1;
}
