// DeepGEMM's kernel for sm_90, sm90_fp8_gemm_1d2d, from its package's headers and unchanged: D = A · Bᵀ in bf16, A with
// a factor for each row and 128 elements of K, B with one for 128 columns and 128 elements, all of which are multiplied
// in f32 between wgmmas.
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

#include <cstring>
#include <random>

#include "support.h"

namespace {

template <uint32_t kCtas>
bool run(const char* name, uint32_t m, uint32_t n, uint32_t k) {
  using namespace deep_gemm;
  constexpr uint32_t kBlock = 128, kStages = 4, kSms = 4, kMath = 256;
  const auto kernel =
      sm90_fp8_gemm_1d2d_impl<cute::UMMA::Major::K, 0, 0, 0, 1, kBlock, kBlock, kBlock, 128, 128, 128, kStages, 128,
                              kMath, kCtas, false, kSms, GemmType::Normal, cutlass::bfloat16_t>;
  std::mt19937 random(1);
  const uint32_t groups = (k + 127) / 128;
  const auto make = [&](uint32_t rows) {
    std::vector<uint8_t> codes(size_t(rows) * k);
    for (auto& c : codes) c = uint8_t(random() % 0x7f | (random() & 1) << 7);  // 0x7f is NaN
    return codes;
  };
  const auto factors = [&](size_t count) {
    std::vector<float> f(count);
    for (float& v : f) v = 0.5f + float(random() % 1024) / 1024;
    return f;
  };
  const std::vector<uint8_t> a = make(m), b = make(n);
  const std::vector<float> fa = factors(size_t(groups) * m), fb = factors(size_t((n + 127) / 128) * groups);
  std::vector<uint16_t> d(size_t(m) * n, 0xffff);
  uint16_t* out = upload(d);
  const auto bytes = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  const CUtensorMap a_map = map_of(bytes, upload(a), k, m, k, kBlock, kBlock, CU_TENSOR_MAP_SWIZZLE_128B),
                    b_map = map_of(bytes, upload(b), k, n, k, kBlock, kBlock, CU_TENSOR_MAP_SWIZZLE_128B),
                    d_map = map_of(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, out, n, m, n * 2, 64, kBlock,
                                   CU_TENSOR_MAP_SWIZZLE_128B),
                    fa_map = map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, upload(fa), m, groups, m * 4, kBlock, 1,
                                    CU_TENSOR_MAP_SWIZZLE_NONE);
  const uint32_t shared =
      kBlock * kBlock * 2 + kStages * (2 * kBlock * kBlock + kBlock * 4) + groups * 4 + 8 + 16 * kStages;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)), "cudaFuncSetAttribute");
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {kCtas, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = kSms;
  config.blockDim = 128 + kMath;
  config.dynamicSmemBytes = shared;
  config.attrs = &cluster;
  config.numAttrs = 1;
  check(
      cudaLaunchKernelEx(&config, kernel, upload(fb), static_cast<int*>(nullptr), m, n, k, a_map, b_map, d_map, fa_map),
      "cudaLaunchKernelEx");
  check(cudaMemcpy(d.data(), out, d.size() * sizeof(d[0]), cudaMemcpyDefault), name);

  const auto values = [&](const std::vector<uint8_t>& codes, const auto& factor) {
    std::vector<double> v(codes.size());
    for (size_t at = 0; at < v.size(); ++at) v[at] = e4m3(codes[at]) * factor(at / k, at % k / 128);
    return v;
  };
  const std::vector<double> va = values(a, [&](size_t row, size_t group) { return fa[group * m + row]; }),
                            vb = values(b, [&](size_t row, size_t group) { return fb[row / 128 * groups + group]; });
  // Hopper's tensor cores keep 13 bits below the largest term of an fp8 sum; DeepGEMM's own tests ask 1e-3 of this.
  double xy = 0, xx = 0, yy = 0;
  size_t outside = 0;
  for (uint32_t r = 0; r < m; ++r)
    for (uint32_t c = 0; c < n; ++c) {
      double want = 0, magnitude = 0;
      for (uint32_t i = 0; i < k; ++i) {
        const double p = va[size_t(r) * k + i] * vb[size_t(c) * k + i];
        want += p;
        magnitude += std::fabs(p);
      }
      const uint32_t word = uint32_t(d[size_t(r) * n + c]) << 16;
      float got;
      std::memcpy(&got, &word, 4);
      if (!(std::fabs(got - want) <= 0x1p-8 * std::fabs(want) + 0x1p-9 * magnitude)) ++outside;
      xy += got * want, xx += double(got) * got, yy += want * want;
    }
  const double difference = 1 - 2 * xy / (xx + yy);
  const bool right = outside == 0 && difference < 1e-3;
  std::printf("%s %ux%ux%u: %s, difference %.2g, %zu of %zu outside\n", name, m, n, k, right ? "right" : "WRONG",
              difference, outside, d.size());
  return right;
}

}  // namespace

int main() {
  bool good = run<1>("e4m3, alone", 256, 384, 640);
  good &= run<2>("e4m3, multicast to two CTAs", 512, 256, 512);
  return good ? 0 : 1;
}
