// The Hopper twin beside cuBLAS, in one process on one GPU: interleaved launches, medians, the ratio of the two.
//
// At the power limit a launch inherits the clock that the launches before it left, so a fixed order favours some of the
// entrants by a few per cent: every repetition runs all of them in a new random order.
//
//   scripts/hardware builds and runs this where there is a Hopper GPU and cuBLAS. By hand:
//   compare_cublas [--repetitions 30] [M N K …]
//
// bf16 operands with random normal values, f32 accumulation, bf16 result. cuBLAS: cublasLt with the fastest of the
// first eight algorithms of its heuristic.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "chapters/13_gemm/hopper/hopper.h"
#include "common/harness/cuda_check.h"

namespace {

using gen5::harness::DeviceBuffer;

void check(cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string("cublasLt: ") + cublasLtGetStatusString(s));
}

/// Normal values from a counter: Box and Muller on hashed indices.
__global__ void fill_normal(__nv_bfloat16* out, size_t count, uint64_t seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    uint64_t z = (i + seed) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    const float u = float(uint32_t(z) + 1.0f) * 0x1p-32f, v = float(uint32_t(z >> 32)) * 0x1p-32f;
    out[i] = __float2bfloat16(sqrtf(-2 * logf(u)) * cospif(2 * v));
  }
}

/// Sums of squares of the difference and of the second operand.
__global__ void compare(const __nv_bfloat16* a, const __nv_bfloat16* b, size_t count, double* sums) {
  double difference = 0, size = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    const double x = __bfloat162float(a[i]), y = __bfloat162float(b[i]);
    difference += (x - y) * (x - y);
    size += y * y;
  }
  atomicAdd(&sums[0], difference);
  atomicAdd(&sums[1], size);
}

class Stopwatch {
 public:
  Stopwatch() {
    GEN5_CUDA(cudaEventCreate(&from_));
    GEN5_CUDA(cudaEventCreate(&to_));
  }
  ~Stopwatch() {
    cudaEventDestroy(from_);
    cudaEventDestroy(to_);
  }
  template <class F>
  float milliseconds(F&& launch) {
    GEN5_CUDA(cudaEventRecord(from_));
    launch();
    GEN5_CUDA(cudaEventRecord(to_));
    GEN5_CUDA(cudaEventSynchronize(to_));
    float ms = 0;
    GEN5_CUDA(cudaEventElapsedTime(&ms, from_, to_));
    return ms;
  }

 private:
  cudaEvent_t from_{}, to_{};
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
  return v[v.size() / 2];
}

/// Runs entrants 0 … count-1 `repetitions` times each, after `warm_up` rounds, every round in a new random order.
/// Returns each one's median in milliseconds.
template <class Run>
std::vector<double> shuffled_medians(size_t count, int warm_up, int repetitions, Run&& run) {
  std::mt19937 random(1);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<double>> ms(count);
  Stopwatch watch;
  for (int r = -warm_up; r < repetitions; ++r) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      const double t = watch.milliseconds([&] { run(i); });
      if (r >= 0) ms[i].push_back(t);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& m : ms) medians.push_back(median(m));
  return medians;
}

/// D (row-major m × n) = A (row-major m × k) · Bᵀ (B row-major n × k): in column-major terms Dᵀ = B · Aᵀ.
class CublasGemm {
 public:
  CublasGemm(cublasLtHandle_t handle, uint32_t m, uint32_t n, uint32_t k, const void* a, const void* b, void* d,
             void* workspace, size_t workspace_bytes)
      : handle_(handle), a_(a), b_(b), d_(d), workspace_(workspace), bytes_(workspace_bytes) {
    check(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transpose = CUBLAS_OP_T, plain = CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose));
    check(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain));
    check(cublasLtMatrixLayoutCreate(&b_layout_, CUDA_R_16BF, k, n, k));
    check(cublasLtMatrixLayoutCreate(&a_layout_, CUDA_R_16BF, k, m, k));
    check(cublasLtMatrixLayoutCreate(&d_layout_, CUDA_R_16BF, n, m, n));
    cublasLtMatmulPreference_t preference;
    check(cublasLtMatmulPreferenceCreate(&preference));
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes_,
                                               sizeof bytes_));
    cublasLtMatmulHeuristicResult_t found[8];
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, operation_, b_layout_, a_layout_, d_layout_, d_layout_, preference, 8,
                                         found, &count));
    cublasLtMatmulPreferenceDestroy(preference);
    const std::vector<double> ms = shuffled_medians(size_t(count), 2, 11, [&](size_t i) {
      algorithm_ = found[i].algo;
      run();
    });
    algorithm_ = found[std::min_element(ms.begin(), ms.end()) - ms.begin()].algo;
  }
  ~CublasGemm() {
    cublasLtMatrixLayoutDestroy(a_layout_);
    cublasLtMatrixLayoutDestroy(b_layout_);
    cublasLtMatrixLayoutDestroy(d_layout_);
    cublasLtMatmulDescDestroy(operation_);
  }
  void run() {
    const float one = 1, zero = 0;
    check(cublasLtMatmul(handle_, operation_, &one, b_, b_layout_, a_, a_layout_, &zero, d_, d_layout_, d_, d_layout_,
                         &algorithm_, workspace_, bytes_, nullptr));
  }

 private:
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_{};
  cublasLtMatrixLayout_t a_layout_{}, b_layout_{}, d_layout_{};
  cublasLtMatmulAlgo_t algorithm_{};
  const void *a_, *b_;
  void *d_, *workspace_;
  size_t bytes_;
};

struct Size {
  uint32_t m, n, k;
};

}  // namespace

int main(int argc, char** argv) try {
  int repetitions = 30;
  std::vector<Size> sizes;
  std::vector<uint32_t> numbers;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--repetitions") && i + 1 < argc)
      repetitions = std::max(1, std::atoi(argv[++i]));
    else
      numbers.push_back(uint32_t(std::strtoul(argv[i], nullptr, 10)));
  }
  for (size_t i = 0; i + 2 < numbers.size(); i += 3) sizes.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  if (sizes.empty())
    sizes = {{2048, 2048, 2048},    {4096, 4096, 4096}, {6144, 6144, 6144}, {8192, 8192, 8192},
             {16384, 16384, 16384}, {8192, 8192, 1024}, {4096, 14336, 4096}};
  cublasLtHandle_t handle;
  check(cublasLtCreate(&handle));
  const size_t workspace_bytes = 64 << 20;
  DeviceBuffer<uint8_t> workspace(workspace_bytes);
  cudaDeviceProp device;
  GEN5_CUDA(cudaGetDeviceProperties(&device, 0));
  std::printf("%s, %d SMs; TFLOP/s, medians of %d interleaved launches\n", device.name, device.multiProcessorCount,
              repetitions);
  std::printf("%-22s %10s %12s %10s %8s %12s\n", "M x N x K", "cuBLAS", "cooperative", "ping-pong", "ratio",
              "difference");
  double logs = 0;
  for (const Size& s : sizes) {
    DeviceBuffer<uint16_t> a(size_t(s.m) * s.k), b(size_t(s.n) * s.k), d(size_t(s.m) * s.n),
        reference(size_t(s.m) * s.n);
    fill_normal<<<1024, 256>>>(reinterpret_cast<__nv_bfloat16*>(a.get()), a.size(), 1);
    fill_normal<<<1024, 256>>>(reinterpret_cast<__nv_bfloat16*>(b.get()), b.size(), 1ull << 40);
    GEN5_CUDA(cudaGetLastError());
    CublasGemm cublas(handle, s.m, s.n, s.k, a.get(), b.get(), reference.get(), workspace.get(), workspace_bytes);
    gemm::Problem p;
    p.in = gen5::harness::Format::bf16;
    p.m = s.m;
    p.n = s.n;
    p.k = s.k;
    p.a = a.get();
    p.b = b.get();
    p.d = d.get();
    using gemm::hopper::Variant;
    double worst = 0;
    for (Variant v : {Variant::cooperative, Variant::ping_pong}) {
      d.fill(0xff);
      gemm::hopper::launch(p, v);
      DeviceBuffer<double> sums(2);
      sums.fill(0);
      cublas.run();
      compare<<<1024, 256>>>(reinterpret_cast<__nv_bfloat16*>(d.get()),
                             reinterpret_cast<__nv_bfloat16*>(reference.get()), d.size(), sums.get());
      const std::vector<double> both = sums.download();
      const double relative = std::sqrt(both[0] / both[1]);
      worst = relative <= worst ? worst : relative;  // a NaN stays
    }
    const std::vector<double> ms = shuffled_medians(3, 3, repetitions, [&](size_t entrant) {
      if (entrant == 0)
        cublas.run();
      else
        gemm::hopper::launch(p, entrant == 1 ? Variant::cooperative : Variant::ping_pong);
    });
    const double work = 2.0 * s.m * s.n * s.k * 1e-9;
    const double speed[3] = {work / ms[0], work / ms[1], work / ms[2]};
    const double ours = speed[gemm::hopper::best_variant(s.m, s.n, s.k) == Variant::cooperative ? 1 : 2];
    logs += std::log(ours / speed[0]);
    char name[64];
    std::snprintf(name, sizeof name, "%u x %u x %u", s.m, s.n, s.k);
    std::printf("%-22s %10.1f %12.1f %10.1f %8.3f %12.2e\n", name, speed[0], speed[1], speed[2], ours / speed[0],
                worst);
    std::fflush(stdout);
  }
  std::printf("geometric mean of the ratios: %.3f\n", std::exp(logs / double(sizes.size())));
  cublasLtDestroy(handle);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
