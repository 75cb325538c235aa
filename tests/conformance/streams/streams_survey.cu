// What grids of several streams do to each other on a chip: who starts where and when, gaps, priorities, sharing.
// nvcc -O3 -std=c++17 -arch=sm_90a streams_survey.cu -o streams_survey && ./streams_survey > streams.json
// Prints compact JSON: {"case": {...}}. Times are nanoseconds of %globaltimer from the first CTA's start of a case,
// "clk" cycles of the SM. A CTA's row is [sm, start, end].
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define OK(x)                                                                 \
  do {                                                                        \
    cudaError_t e_ = (x);                                                     \
    if (e_ != cudaSuccess) {                                                  \
      std::printf("\nERROR line %d: %s\n", __LINE__, cudaGetErrorString(e_)); \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)

struct Stamp {
  unsigned long long begin, end;
  unsigned sm, cycles;
};

__device__ __forceinline__ unsigned long long now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__device__ __forceinline__ unsigned smid() {
  unsigned s;
  asm volatile("mov.u32 %0, %smid;" : "=r"(s));
  return s;
}

// Each CTA lasts so many cycles.
__global__ void last(Stamp* to, unsigned cycles, volatile unsigned* started) {
  extern __shared__ char room[];
  const long long c = clock64();
  const unsigned long long t = now();
  if (threadIdx.x == 0 && blockIdx.x == 0 && started) *started = 1;
  while (clock64() - c < cycles) {
  }
  __syncthreads();
  if (threadIdx.x == 0) to[blockIdx.x] = {t, now(), smid(), unsigned(clock64() - c)};
}
// The same, but CTA i lasts base + (i % 4) * more.
__global__ void last_uneven(Stamp* to, unsigned base, unsigned more) {
  const long long c = clock64(), cycles = base + (blockIdx.x % 4) * more;
  const unsigned long long t = now();
  while (clock64() - c < cycles) {
  }
  __syncthreads();
  if (threadIdx.x == 0) to[blockIdx.x] = {t, now(), smid(), unsigned(clock64() - c)};
}
// Many registers.
__global__ void __launch_bounds__(256, 1) heavy(Stamp* to, unsigned cycles, float* out) {
  const long long c = clock64();
  const unsigned long long t = now();
  float v[180];
#pragma unroll
  for (int i = 0; i < 180; ++i) v[i] = float(threadIdx.x * i);
  while (clock64() - c < cycles) {
#pragma unroll
    for (int i = 0; i < 180; ++i) v[i] = v[i] * 1.5f + v[(i + 7) % 180];
  }
  float s = 0;
#pragma unroll
  for (int i = 0; i < 180; ++i) s += v[i];
  if (s == 12345.f) out[0] = s;
  __syncthreads();
  if (threadIdx.x == 0) to[blockIdx.x] = {t, now(), smid(), unsigned(clock64() - c)};
}
__global__ void multiply(Stamp* to, float* out, int rounds) {
  const long long c = clock64();
  const unsigned long long t = now();
  float a = threadIdx.x, b = a + 1, d = a + 2, e = a + 3, f = a + 4, g = a + 5, h = a + 6, k = a + 7;
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      a = a * 1.0001f + 0.5f, b = b * 1.0001f + 0.5f, d = d * 1.0001f + 0.5f, e = e * 1.0001f + 0.5f;
      f = f * 1.0001f + 0.5f, g = g * 1.0001f + 0.5f, h = h * 1.0001f + 0.5f, k = k * 1.0001f + 0.5f;
    }
  }
  if (a + b + d + e + f + g + h + k == 12345.f) out[0] = a;
  __syncthreads();
  if (threadIdx.x == 0) to[blockIdx.x] = {t, now(), smid(), unsigned(clock64() - c)};
}
__global__ void copy(Stamp* to, const float4* from, float4* into, unsigned each) {
  const long long c = clock64();
  const unsigned long long t = now();
  const size_t first = size_t(blockIdx.x) * each;
  for (unsigned i = threadIdx.x; i < each; i += blockDim.x) into[first + i] = from[first + i];
  __syncthreads();
  if (threadIdx.x == 0) to[blockIdx.x] = {t, now(), smid(), unsigned(clock64() - c)};
}
__global__ void gate(volatile unsigned* open) {
  while (!*open) {
  }
}
__global__ void wait_flag(Stamp* to, volatile unsigned* flag) {
  const unsigned long long t = now();
  while (!*flag) {
  }
  to[0] = {t, now(), smid(), 0};
}
__global__ void set_flag(Stamp* to, unsigned* flag) {
  const unsigned long long t = now();
  atomicExch(flag, 1u);
  to[0] = {t, now(), smid(), 0};
}

constexpr int kGrids = 300, kMost = 2048;
Stamp* stamps;  // [kGrids][kMost]
std::vector<int> sizes;
volatile unsigned *door_h, *started_h;
unsigned *door_d, *started_d, *flag_d;
float4 *from_d, *into_d;
float* out_d;
cudaStream_t gate_stream;
cudaEvent_t opened;
int sms;
bool first_case = true;

Stamp* grid(int ctas) {
  sizes.push_back(ctas);
  return stamps + (sizes.size() - 1) * kMost;
}
void begin() {
  OK(cudaDeviceSynchronize());
  OK(cudaMemset(stamps, 0, sizeof(Stamp) * kGrids * kMost));
  OK(cudaMemset(flag_d, 0, 4));
  OK(cudaDeviceSynchronize());
  sizes.clear();
  *door_h = 0;
  *started_h = 0;
}
// What is launched on the streams behind this starts when the door opens.
void shut(std::vector<cudaStream_t> streams) {
  gate<<<1, 1, 0, gate_stream>>>(door_d);
  OK(cudaEventRecord(opened, gate_stream));
  for (cudaStream_t s : streams) OK(cudaStreamWaitEvent(s, opened, 0));
}
void open() {
  *door_h = 1;
  __sync_synchronize();
}
// What: "full" every CTA; else of each grid [ctas, first start, last start, first end, last end, SMs, mean cycles].
void end(const char* name, bool full, const char* extra = "") {
  OK(cudaDeviceSynchronize());
  OK(cudaGetLastError());
  std::vector<Stamp> all(size_t(kGrids) * kMost);
  OK(cudaMemcpy(all.data(), stamps, all.size() * sizeof(Stamp), cudaMemcpyDeviceToHost));
  unsigned long long zero = ~0ull;
  for (size_t g = 0; g < sizes.size(); ++g)
    for (int i = 0; i < sizes[g]; ++i) zero = std::min(zero, all[g * kMost + i].begin);
  std::printf("%s\"%s\":{%s\"grids\":[", first_case ? "{" : ",\n", name, extra);
  first_case = false;
  for (size_t g = 0; g < sizes.size(); ++g) {
    const Stamp* s = &all[g * kMost];
    unsigned long long b0 = ~0ull, b1 = 0, e0 = ~0ull, e1 = 0;
    double cycles = 0;
    std::vector<unsigned> on;
    for (int i = 0; i < sizes[g]; ++i) {
      b0 = std::min(b0, s[i].begin), b1 = std::max(b1, s[i].begin);
      e0 = std::min(e0, s[i].end), e1 = std::max(e1, s[i].end);
      cycles += s[i].cycles;
      on.push_back(s[i].sm);
    }
    std::sort(on.begin(), on.end());
    const size_t places = std::unique(on.begin(), on.end()) - on.begin();
    std::printf("%s[%d,%llu,%llu,%llu,%llu,%zu,%.0f]", g ? "," : "", sizes[g], b0 - zero, b1 - zero, e0 - zero,
                e1 - zero, places, cycles / sizes[g]);
  }
  std::printf("]");
  if (full) {
    std::printf(",\"ctas\":[");
    for (size_t g = 0; g < sizes.size(); ++g) {
      std::printf("%s[", g ? "," : "");
      for (int i = 0; i < sizes[g]; ++i) {
        const Stamp& s = all[g * kMost + i];
        std::printf("%s[%u,%llu,%llu]", i ? "," : "", s.sm, s.begin - zero, s.end - zero);
      }
      std::printf("]");
    }
    std::printf("]");
  }
  std::printf("}");
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);                      // loading a kernel waits for those that run
  const bool quick = argc > 1 && !std::strcmp(argv[1], "quick");  // fewer repeats
  const std::string only = argc > 2 ? argv[2] : "", from = argc > 3 ? argv[3] : "";
  bool begun = from.empty();
  const int repeats = quick ? 1 : 3;
  OK(cudaSetDeviceFlags(cudaDeviceMapHost));
  cudaDeviceProp p;
  OK(cudaGetDeviceProperties(&p, 0));
  sms = p.multiProcessorCount;
  OK(cudaMalloc(&stamps, sizeof(Stamp) * kGrids * kMost));
  OK(cudaMalloc(&flag_d, 4));
  constexpr size_t kBytes = size_t(256) << 20;
  OK(cudaMalloc(&from_d, kBytes));
  OK(cudaMalloc(&into_d, kBytes));
  OK(cudaMalloc(&out_d, 4096));
  unsigned* page;
  OK(cudaHostAlloc(&page, 4096, cudaHostAllocMapped));
  door_h = page, started_h = page + 64;
  OK(cudaHostGetDevicePointer(&door_d, page, 0));
  started_d = door_d + 64;
  OK(cudaStreamCreateWithFlags(&gate_stream, cudaStreamNonBlocking));
  OK(cudaEventCreateWithFlags(&opened, cudaEventDisableTiming));
  OK(cudaFuncSetAttribute(last, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  std::vector<cudaStream_t> s(256);
  for (auto& x : s) OK(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
  cudaStream_t low, high, blocking1, blocking2;
  int least, greatest;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  OK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
  OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
  OK(cudaStreamCreate(&blocking1));
  OK(cudaStreamCreate(&blocking2));
  constexpr unsigned kLong = 60000, kK = 1024;
  const int half = sms / 2;
  // Warm up: every kernel once.
  begin();
  last<<<sms, 1024, 200 * kK, s[0]>>>(grid(sms), 1000, nullptr);
  last<<<sms, 128, 0, s[0]>>>(grid(sms), 1000, nullptr);
  last_uneven<<<sms, 128, 0, s[0]>>>(grid(sms), 1000, 100);
  heavy<<<sms, 256, 0, s[0]>>>(grid(sms), 1000, out_d);
  multiply<<<sms, 512, 0, s[0]>>>(grid(sms), out_d, 2);
  copy<<<sms, 512, 0, s[0]>>>(grid(sms), from_d, into_d, 512);
  for (int i = 0; i < 200; ++i) last<<<1, 32, 0, s[i]>>>(grid(1), 1000, nullptr);
  {
    const unsigned one = 1;
    OK(cudaMemcpy(flag_d, &one, 4, cudaMemcpyHostToDevice));
    wait_flag<<<1, 1, 0, s[0]>>>(grid(1), flag_d);
    set_flag<<<1, 1, 0, s[1]>>>(grid(1), flag_d);
    *door_h = 1;
    gate<<<1, 1, 0, gate_stream>>>(door_d);
  }
  OK(cudaDeviceSynchronize());
  char text[400];
  std::snprintf(text, sizeof text, "\"name\":\"%s\",\"sms\":%d,\"priorities\":[%d,%d],", p.name, sms, least, greatest);
  end("machine", false, text);
  sizes.clear();
  const auto run = [&](const char* name, bool full, const std::function<void()>& f) {
    begun |= from == name;
    if (!begun || (!only.empty() && only != name)) return;
    for (int r = 0; r < repeats; ++r) {
      char n[100];
      std::snprintf(n, sizeof n, r ? "%s#%d" : "%s", name, r);
      begin();
      f();
      end(n, full && r == 0);
    }
  };
  // Which of them comes first when the gate opens is not known.
  const auto two = [&](const char* name, bool full, const std::function<void()>& f) {
    run(name, full, [&] {
      shut({s[0], s[1], low, high});
      f();
      open();
    });
  };
  // The first runs when the second is launched, from the host, some microseconds later.
  const auto ordered = [&](const char* name, bool full, const std::function<void()>& a,
                           const std::function<void()>& b) { run(name, full, [&] { a(), b(); }); };
  // Who goes where. "thin": 128 threads, many fit; "whole": one CTA fills an SM.
  two("half_half_thin", true, [&] {
    last<<<half, 128, 0, s[0]>>>(grid(half), kLong, nullptr);
    last<<<half, 128, 0, s[1]>>>(grid(half), kLong, nullptr);
  });
  two("half_half_whole", true, [&] {
    last<<<half, 1024, 200 * kK, s[0]>>>(grid(half), kLong, nullptr);
    last<<<half, 1024, 200 * kK, s[1]>>>(grid(half), kLong, nullptr);
  });
  two("full_full_thin", true, [&] {
    last<<<sms, 128, 0, s[0]>>>(grid(sms), kLong, nullptr);
    last<<<sms, 128, 0, s[1]>>>(grid(sms), kLong, nullptr);
  });
  two("three_waves_whole", true, [&] {
    last<<<3 * sms, 1024, 200 * kK, s[0]>>>(grid(3 * sms), kLong, nullptr);
    last<<<3 * sms, 1024, 200 * kK, s[1]>>>(grid(3 * sms), kLong, nullptr);
  });
  two("three_waves_two_a_sm", true, [&] {
    last<<<3 * 2 * sms, 1024, 0, s[0]>>>(grid(6 * sms), kLong, nullptr);
    last<<<3 * 2 * sms, 1024, 0, s[1]>>>(grid(6 * sms), kLong, nullptr);
  });
  two("wave_and_a_half", true, [&] {
    last<<<sms + half, 1024, 200 * kK, s[0]>>>(grid(sms + half), kLong, nullptr);
    last<<<sms, 1024, 200 * kK, s[1]>>>(grid(sms), kLong, nullptr);
  });
  const int kUneven = 5 * sms;
  two("uneven", true, [&] {
    last_uneven<<<kUneven, 1024, 0, s[0]>>>(grid(kUneven), kLong, 20000);
    last_uneven<<<sms, 1024, 0, s[1]>>>(grid(sms), kLong, 20000);
  });
  // The first needs all shared memory and has three waves; the second would fit beside it.
  two("blocked_then_small", true, [&] {
    last<<<3 * sms, 256, 200 * kK, s[0]>>>(grid(3 * sms), kLong, nullptr);
    last<<<sms, 128, 0, s[1]>>>(grid(sms), kLong / 2, nullptr);
  });
  two("small_then_blocked", true, [&] {
    last<<<sms, 128, 0, s[0]>>>(grid(sms), kLong / 2, nullptr);
    last<<<2 * sms, 256, 200 * kK, s[1]>>>(grid(2 * sms), kLong, nullptr);
  });
  // Priorities, both ready at once.
  two("low_then_high", true, [&] {
    last<<<3 * sms, 1024, 200 * kK, low>>>(grid(3 * sms), kLong, nullptr);
    last<<<sms, 1024, 200 * kK, high>>>(grid(sms), kLong, nullptr);
  });
  two("high_then_low", false, [&] {
    last<<<2 * sms, 1024, 200 * kK, high>>>(grid(2 * sms), kLong, nullptr);
    last<<<sms, 1024, 200 * kK, low>>>(grid(sms), kLong, nullptr);
  });
  two("blocked_high_then_small_low", false, [&] {
    last<<<3 * sms, 256, 200 * kK, high>>>(grid(3 * sms), kLong, nullptr);
    last<<<sms, 128, 0, low>>>(grid(sms), kLong / 2, nullptr);
  });
  // The second comes while the first runs: it has long begun.
  const auto later = [&](const char* name, cudaStream_t first, cudaStream_t second) {
    run(name, true, [&] {
      last<<<4 * sms, 1024, 200 * kK, first>>>(grid(4 * sms), 4 * kLong, started_d);
      OK(cudaStreamQuery(first) == cudaErrorNotReady ? cudaSuccess : cudaSuccess);
      for (long i = 0; !*started_h && i < 2000000000l; ++i) {
      }
      last<<<sms, 1024, 200 * kK, second>>>(grid(sms), kLong, nullptr);
    });
  };
  later("high_comes_later", low, high);
  later("equal_comes_later", s[0], s[1]);
  // How shared memory is split from L1.
  two("no_shared_then_100k", false, [&] {
    last<<<sms, 256, 0, s[0]>>>(grid(sms), kLong, nullptr);
    last<<<sms, 256, 100 * kK, s[1]>>>(grid(sms), kLong, nullptr);
  });
  two("100k_then_100k", false, [&] {
    last<<<sms, 256, 100 * kK, s[0]>>>(grid(sms), kLong, nullptr);
    last<<<sms, 256, 100 * kK, s[1]>>>(grid(sms), kLong, nullptr);
  });
  two("20k_one_then_200k", false, [&] {
    last<<<half, 1024, 20 * kK, s[0]>>>(grid(half), kLong, nullptr);
    last<<<sms, 256, 200 * kK, s[1]>>>(grid(sms), kLong, nullptr);
  });
  two("heavy_heavy", false, [&] {
    heavy<<<sms, 256, 0, s[0]>>>(grid(sms), kLong, out_d);
    heavy<<<sms, 256, 0, s[1]>>>(grid(sms), kLong, out_d);
  });
  two("heavy_then_thin", false, [&] {
    heavy<<<3 * sms, 256, 0, s[0]>>>(grid(3 * sms), kLong, out_d);
    last<<<sms, 128, 0, s[1]>>>(grid(sms), kLong, nullptr);
  });
  // How many at once, and how far apart.
  for (const int n : {2, 8, 32, 128, 200}) {
    std::snprintf(text, sizeof text, "tiny_%d", n);
    run(text, false, [&] {
      shut(std::vector<cudaStream_t>(s.begin(), s.begin() + n));
      for (int i = 0; i < n; ++i) last<<<1, 32, 0, s[i]>>>(grid(1), 1000000, nullptr);
      open();
    });
  }
  // Launched from the host one behind the other, no gate.
  run("host_gap", false, [&] {
    for (int i = 0; i < 8; ++i) last<<<1, 32, 0, s[i]>>>(grid(1), 100000, nullptr);
  });
  // Chains: in a stream, over an event, and two chains side by side.
  two("same_stream", false, [&] {
    for (int i = 0; i < 4; ++i) last<<<half, 128, 0, s[0]>>>(grid(half), kLong / 4, nullptr);
  });
  two("two_chains", false, [&] {
    for (int i = 0; i < 4; ++i) {
      last<<<half, 128, 0, s[0]>>>(grid(half), kLong / 4, nullptr);
      last<<<half, 128, 0, s[1]>>>(grid(half), kLong / 4, nullptr);
    }
  });
  cudaEvent_t e;
  OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  two("over_event", false, [&] {
    last<<<half, 128, 0, s[0]>>>(grid(half), kLong / 4, nullptr);
    OK(cudaEventRecord(e, s[0]));
    OK(cudaStreamWaitEvent(s[1], e, 0));
    last<<<half, 128, 0, s[1]>>>(grid(half), kLong / 4, nullptr);
    OK(cudaEventRecord(e, s[1]));
    OK(cudaStreamWaitEvent(s[0], e, 0));
    last<<<half, 128, 0, s[0]>>>(grid(half), kLong / 4, nullptr);
  });
  run("legacy_between", false, [&] {
    last<<<half, 128, 0, blocking1>>>(grid(half), 4 * kLong, nullptr);
    last<<<half, 128, 0, s[0]>>>(grid(half), 4 * kLong, nullptr);  // does not wait
    last<<<half, 128>>>(grid(half), 4 * kLong, nullptr);
    last<<<half, 128, 0, blocking2>>>(grid(half), 4 * kLong, nullptr);
  });
  // One waits for what the other writes.
  two("talk", false, [&] {
    wait_flag<<<1, 1, 0, s[0]>>>(grid(1), flag_d);
    set_flag<<<1, 1, 0, s[1]>>>(grid(1), flag_d);
  });
  // Sharing: each alone, then both; CTAs of both on each SM.
  const int rounds = 2000;
  const auto share = [&](const char* name, const std::function<void()>& a, const std::function<void()>& b) {
    char n[100];
    std::snprintf(n, sizeof n, "%s_first_alone", name);
    two(n, false, a);
    std::snprintf(n, sizeof n, "%s_second_alone", name);
    two(n, false, b);
    std::snprintf(n, sizeof n, "%s_both", name);
    two(n, false, [&] { a(), b(); });
  };
  share(
      "multiply_multiply", [&] { multiply<<<sms, 512, 0, s[0]>>>(grid(sms), out_d, rounds); },
      [&] { multiply<<<sms, 512, 0, s[1]>>>(grid(sms), out_d, rounds); });
  share(
      "multiply_few_many", [&] { multiply<<<sms, 128, 0, s[0]>>>(grid(sms), out_d, rounds); },
      [&] { multiply<<<sms, 1024, 0, s[1]>>>(grid(sms), out_d, rounds / 4); });
  const unsigned each = unsigned(kBytes / 2 / 16 / sms) / 512 * 512;
  share(
      "copy_copy", [&] { copy<<<sms, 512, 0, s[0]>>>(grid(sms), from_d, into_d, each); },
      [&] { copy<<<sms, 512, 0, s[1]>>>(grid(sms), from_d + kBytes / 32, into_d + kBytes / 32, each); });
  share(
      "copy_multiply", [&] { copy<<<sms, 512, 0, s[0]>>>(grid(sms), from_d, into_d, each); },
      [&] { multiply<<<sms, 512, 0, s[1]>>>(grid(sms), out_d, rounds); });
  share(
      "copy_halves", [&] { copy<<<half, 1024, 0, s[0]>>>(grid(half), from_d, into_d, each); },
      [&] { copy<<<half, 1024, 0, s[1]>>>(grid(half), from_d + kBytes / 32, into_d + kBytes / 32, each); });
  // In this order: nothing holds them back.
  ordered(
      "ordered_blocked_then_small", true,
      [&] { last<<<3 * sms, 256, 200 * kK, s[0]>>>(grid(3 * sms), kLong, nullptr); },
      [&] { last<<<sms, 128, 0, s[1]>>>(grid(sms), kLong / 2, nullptr); });
  ordered(
      "ordered_no_shared_then_100k", true, [&] { last<<<sms, 256, 0, s[0]>>>(grid(sms), kLong, nullptr); },
      [&] { last<<<sms, 256, 100 * kK, s[1]>>>(grid(sms), kLong, nullptr); });
  ordered(
      "ordered_20k_then_30k", true, [&] { last<<<sms, 256, 20 * kK, s[0]>>>(grid(sms), kLong, nullptr); },
      [&] { last<<<sms, 256, 30 * kK, s[1]>>>(grid(sms), kLong, nullptr); });
  ordered(
      "ordered_20k_then_100k", true, [&] { last<<<sms, 256, 20 * kK, s[0]>>>(grid(sms), kLong, nullptr); },
      [&] { last<<<sms, 256, 100 * kK, s[1]>>>(grid(sms), kLong, nullptr); });
  ordered(
      "ordered_100k_then_20k", true, [&] { last<<<sms, 256, 100 * kK, s[0]>>>(grid(sms), kLong, nullptr); },
      [&] { last<<<sms, 256, 20 * kK, s[1]>>>(grid(sms), kLong, nullptr); });
  ordered(
      "ordered_heavy_then_thin", true, [&] { heavy<<<3 * sms, 256, 0, s[0]>>>(grid(3 * sms), kLong, out_d); },
      [&] { last<<<sms, 128, 0, s[1]>>>(grid(sms), kLong, nullptr); });
  ordered(
      "ordered_half_half_thin", true, [&] { last<<<half, 128, 0, s[0]>>>(grid(half), kLong, nullptr); },
      [&] { last<<<half, 128, 0, s[1]>>>(grid(half), kLong, nullptr); });
  ordered(
      "ordered_uneven", true, [&] { last_uneven<<<kUneven, 1024, 0, s[0]>>>(grid(kUneven), kLong, 20000); },
      [&] { last_uneven<<<sms, 1024, 0, s[1]>>>(grid(sms), kLong, 20000); });
  // A graph's branches.
  if (only.empty() || only == "graph") {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    begin();
    OK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeThreadLocal));
    last<<<1, 32, 0, s[0]>>>(grid(1), 10000, nullptr);
    OK(cudaEventRecord(e, s[0]));
    OK(cudaStreamWaitEvent(s[1], e, 0));
    last<<<half, 128, 0, s[0]>>>(grid(half), kLong, nullptr);
    last<<<half, 128, 0, s[1]>>>(grid(half), kLong, nullptr);
    OK(cudaEventRecord(e, s[1]));
    OK(cudaStreamWaitEvent(s[0], e, 0));
    last<<<1, 32, 0, s[0]>>>(grid(1), 10000, nullptr);
    OK(cudaStreamEndCapture(s[0], &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int r = 0; r < repeats; ++r) {
      std::snprintf(text, sizeof text, r ? "graph#%d" : "graph", r);
      OK(cudaGraphLaunch(exec, s[0]));
      end(text, false);
    }
  }
  std::printf("}\n");
  return 0;
}
