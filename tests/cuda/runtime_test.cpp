// The runtime API end to end: kernels compiled by nvcc run on the stand-in, results and codes are checked.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "tests/cuda/runtime_kernels.h"

namespace {

#define OK(call) ASSERT_EQ(call, cudaSuccess)

template <class T>
T* device(const std::vector<T>& from) {
  T* p = nullptr;
  EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&p), from.size() * sizeof(T)), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  return p;
}
template <class T>
std::vector<T> host(const T* p, size_t n) {
  std::vector<T> out(n);
  EXPECT_EQ(cudaMemcpy(out.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
  return out;
}

template <class... A>
cudaError_t launch(void (*kernel)(A...), dim3 grid, dim3 block, size_t shared, A... args) {
  void* pointers[] = {&args..., nullptr};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers, shared, nullptr);
}

TEST(Runtime, TripleChevronLaunch) {
  std::vector<float> x(1000), y(1000, 1);
  std::iota(x.begin(), x.end(), 0.f);
  float *dx = device(x), *dy = device(y);
  launch_saxpy(1000, 2, dx, dy, nullptr);
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  y = host(dy, 1000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(y[i], 2.f * i + 1);
  OK(cudaFree(dx));
  OK(cudaFree(dy));
}

TEST(Runtime, AProgramWatchesItsOwnLaunches) {
  const auto begin = reinterpret_cast<const char* (*)(const char*)>(dlsym(RTLD_DEFAULT, "tinygpu_session_begin"));
  const auto profile = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "tinygpu_session_profile"));
  const auto timeline = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "tinygpu_session_timeline"));
  const auto end = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "tinygpu_session_end"));
  ASSERT_TRUE(begin && profile && timeline && end);
  const char* both = R"({"profile": true, "timeline": true})";
  EXPECT_EQ(profile(), nullptr) << "no stretch has begun";
  EXPECT_EQ(begin(both), nullptr);
  EXPECT_STREQ(profile(), "[]") << "nothing was launched";
  EXPECT_EQ(timeline(), nullptr) << "nothing was launched";
  EXPECT_EQ(begin(both), nullptr);
  float* y = device(std::vector<float>(64));
  launch_saxpy(64, 2, y, y, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(std::string(profile()).starts_with("[{\"kernel\":\"saxpy")) << profile();
  EXPECT_TRUE(std::string(timeline()).starts_with("{\"kernel\":\"saxpy")) << timeline();
  EXPECT_EQ(begin("{}"), nullptr);
  EXPECT_EQ(profile(), nullptr) << "it was not asked for";
  end();
  EXPECT_EQ(timeline(), nullptr) << "it has ended";
  cudaFree(y);
}

TEST(Runtime, AProgramPrintsItsOwnDiagnoses) {
  const auto begin = reinterpret_cast<const char* (*)(const char*)>(dlsym(RTLD_DEFAULT, "tinygpu_session_begin"));
  const auto take = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "tinygpu_session_take"));
  const auto cycles = reinterpret_cast<uint64_t (*)()>(dlsym(RTLD_DEFAULT, "tinygpu_session_cycles"));
  const auto end = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "tinygpu_session_end"));
  ASSERT_TRUE(begin && take && cycles && end);
  int* p = device(std::vector<int>(32));
  testing::internal::CaptureStderr();
  EXPECT_EQ(begin(R"({"diagnoses": true, "check": "races"})"), nullptr);
  const uint64_t before = cycles();
  OK(launch(store_at, dim3(2), dim3(32), 0, p));
  OK(cudaDeviceSynchronize());
  const nlohmann::json taken = nlohmann::json::parse(take());
  end();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(taken.at("diagnoses").size(), 1u) << taken.dump(1);
  const nlohmann::json& race = taken.at("diagnoses")[0];
  EXPECT_EQ(race.at("code"), "data-race");
  EXPECT_THAT(race.at("text").get<std::string>(), testing::HasSubstr("[data-race]: "));
  ASSERT_EQ(race.at("places").size(), 2u);
  const nlohmann::json &one = race.at("places")[0], &other = race.at("places")[1];
  EXPECT_NE(one.at("cta"), other.at("cta"));
  // Both began when the launch did.
  const auto began = [](const nlohmann::json& place) {
    return place.at("clock").get<uint64_t>() - place.at("cycle").get<uint64_t>();
  };
  EXPECT_EQ(began(one), began(other));
  EXPECT_GE(began(one), before);
  EXPECT_LE(one.at("clock").get<uint64_t>(), cycles());
  EXPECT_EQ(nlohmann::json::parse(take()).at("diagnoses").size(), 0u) << "they have been taken";
  cudaFree(p);
}

TEST(Runtime, ASessionRefusesOptionsWithASentence) {
  const auto begin = reinterpret_cast<const char* (*)(const char*)>(dlsym(RTLD_DEFAULT, "tinygpu_session_begin"));
  EXPECT_STREQ(begin(R"({"order": "early"})"), "order=early: write timed, late or seeded");
  EXPECT_STREQ(begin(R"({"seed": -1})"), "seed=-1: write a whole number that is not negative");
  EXPECT_STREQ(begin(R"({"colour": "blue"})"), "colour: there is no such option");
  EXPECT_STREQ(begin("[]"), "[]: write an object");
  EXPECT_THAT(begin("{"), testing::HasSubstr("parse error"));
}

TEST(Runtime, ParametersOfEverySize) {
  double* out = device(std::vector<double>(6));
  launch_packed(-3, 2.5, -7, {1, -2, 1ll << 40}, out);
  EXPECT_THAT(host(out, 6), testing::ElementsAre(-3, 2.5, -7, 1, -2, double(1ll << 40)));
}

TEST(Runtime, Symbols) {
  int* out = device(std::vector<int>(6));
  OK(launch(read_symbols, dim3(1), dim3(1), 0, out));
  EXPECT_THAT(host(out, 6), testing::ElementsAre(5, 10, 20, 30, 40, 7));
  const int four[4] = {1, 2, 3, 4};
  OK(cudaMemcpyToSymbol(table_symbol, four, sizeof four, 0, cudaMemcpyHostToDevice));
  const int nine = 99;
  OK(cudaMemcpyToSymbol(table_symbol, &nine, 4, 8, cudaMemcpyHostToDevice));
  set_managed_value(70);
  OK(launch(read_symbols, dim3(1), dim3(1), 0, out));
  EXPECT_THAT(host(out, 6), testing::ElementsAre(5, 1, 2, 99, 4, 70));
  OK(launch(write_symbols, dim3(1), dim3(1), 0, 100));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(managed_value(), 100);
  int counter = 0;
  OK(cudaMemcpyFromSymbol(&counter, counter_symbol, 4, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ(counter, 109);
  size_t size = 0;
  OK(cudaGetSymbolSize(&size, table_symbol));
  EXPECT_EQ(size, 16u);
  void* address = nullptr;
  OK(cudaGetSymbolAddress(&address, counter_symbol));
  OK(cudaMemset(address, 0, 4));
  OK(cudaMemcpyFromSymbol(&counter, counter_symbol, 4, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ(counter, 0);
  int not_a_symbol = 0;
  EXPECT_EQ(cudaGetSymbolAddress(&address, &not_a_symbol), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyToSymbol(table_symbol, four, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
}

TEST(Runtime, Copies) {
  char *a = nullptr, *b = nullptr;
  size_t pitch = 0;
  OK(cudaMallocPitch(reinterpret_cast<void**>(&a), &pitch, 100, 7));
  EXPECT_EQ(pitch % 256, 0u);
  OK(cudaMalloc(reinterpret_cast<void**>(&b), 700));
  std::vector<char> in(700), out(700);
  std::iota(in.begin(), in.end(), 0);
  OK(cudaMemcpy2D(a, pitch, in.data(), 100, 100, 7, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2D(b, 100, a, pitch, 100, 7, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(out.data(), b, 700, cudaMemcpyDefault));
  EXPECT_EQ(in, out);
  OK(cudaMemset2D(a, pitch, 0x5a, 10, 3));
  OK(cudaMemcpy2D(out.data(), 100, a, pitch, 100, 7, cudaMemcpyDeviceToHost));
  EXPECT_EQ(out[209], 0x5a);
  EXPECT_EQ(out[210], in[210]);
  EXPECT_EQ(out[300], in[300]);
  EXPECT_EQ(cudaMemcpy2D(b, 50, a, pitch, 100, 7, cudaMemcpyDeviceToDevice), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy(b, in.data(), 701, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(out.data(), in.data(), 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(b, in.data(), 4, cudaMemcpyKind(9)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);

  cudaPitchedPtr cube;
  OK(cudaMalloc3D(&cube, cudaExtent{20, 5, 3}));
  cudaMemcpy3DParms p = {};
  p.srcPtr = {in.data(), 20, 20, 5};
  p.dstPtr = cube;
  p.extent = {20, 5, 3};
  p.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&p));
  std::vector<char> back(300);
  p.srcPtr = cube;
  p.dstPtr = {back.data(), 20, 20, 5};
  p.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&p));
  EXPECT_TRUE(std::equal(back.begin(), back.end(), in.begin()));
}

TEST(Runtime, PointerAttributes) {
  void *d = nullptr, *m = nullptr, *h = nullptr;
  OK(cudaMalloc(&d, 100));
  OK(cudaMallocManaged(&m, 100, cudaMemAttachGlobal));
  OK(cudaMallocHost(&h, 100));
  std::vector<char> pageable(100), registered(4096);
  OK(cudaHostRegister(registered.data(), registered.size(), 0));
  auto type = [](const void* p) {
    cudaPointerAttributes a;
    EXPECT_EQ(cudaPointerGetAttributes(&a, p), cudaSuccess);
    return a.type;
  };
  EXPECT_EQ(type(static_cast<char*>(d) + 99), cudaMemoryTypeDevice);
  EXPECT_EQ(type(m), cudaMemoryTypeManaged);
  EXPECT_EQ(type(h), cudaMemoryTypeHost);
  EXPECT_EQ(type(registered.data()), cudaMemoryTypeHost);
  EXPECT_EQ(type(pageable.data()), cudaMemoryTypeUnregistered);
  std::memset(m, 1, 100);
  std::memset(h, 1, 100);
  EXPECT_EQ(cudaHostRegister(registered.data(), 10, 0), cudaErrorHostMemoryAlreadyRegistered);
  OK(cudaHostUnregister(registered.data()));
  EXPECT_EQ(cudaHostUnregister(registered.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaFree(static_cast<char*>(d) + 1), cudaErrorInvalidValue);
  OK(cudaFree(d));
  EXPECT_EQ(cudaFree(d), cudaErrorInvalidValue);
  OK(cudaFree(nullptr));
  OK(cudaFreeHost(h));
  OK(cudaFree(m));
}

TEST(Runtime, OutOfMemory) {
  void* p = nullptr;
  size_t free = 0, total = 0;
  OK(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  OK(cudaMalloc(&p, 1 << 20));
  size_t after = 0;
  OK(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(free - after, size_t(1) << 20);
  OK(cudaFree(p));
}

TEST(Runtime, StreamOrderedMemoryAndPools) {
  cudaStream_t s;
  OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  float *x = nullptr, *y = nullptr;
  OK(cudaMallocAsync(reinterpret_cast<void**>(&x), 400, s));
  OK(cudaMallocAsync(reinterpret_cast<void**>(&y), 400, s));
  OK(cudaMemsetAsync(x, 0, 400, s));
  OK(cudaMemsetAsync(y, 0, 400, s));
  launch_saxpy(100, 1, x, y, s);
  cudaMemPool_t pool;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = 1 << 20, got = 0;
  const auto used = [&](cudaMemPoolAttr attribute) {
    uint64_t bytes = 1;
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, attribute, &bytes), cudaSuccess);
    return bytes;
  };
  float* plain = device(std::vector<float>(100));  // of no pool
  EXPECT_EQ(used(cudaMemPoolAttrUsedMemCurrent), 800u);
  OK(cudaFreeAsync(x, s));
  OK(cudaStreamSynchronize(s));
  EXPECT_EQ(used(cudaMemPoolAttrUsedMemCurrent), 400u);
  OK(cudaFreeAsync(y, s));
  OK(cudaFree(plain));
  EXPECT_EQ(used(cudaMemPoolAttrUsedMemCurrent), 0u);  // as of an H200
  EXPECT_EQ(used(cudaMemPoolAttrUsedMemHigh), 800u);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &threshold), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got), cudaErrorInvalidValue);
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &got));
  EXPECT_EQ(used(cudaMemPoolAttrUsedMemHigh), 0u);
  cudaGetLastError();
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
  EXPECT_EQ(got, threshold);
  OK(cudaStreamDestroy(s));
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

TEST(Runtime, EventsMeasureSimulatedTime) {
  cudaEvent_t a, b, untimed;
  OK(cudaEventCreate(&a));
  OK(cudaEventCreate(&b));
  OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);
  float* x = device(std::vector<float>(1 << 16));
  OK(cudaEventRecord(a, nullptr));
  launch_saxpy(1 << 16, 1, x, x, nullptr);
  OK(cudaEventRecord(b, nullptr));
  OK(cudaEventSynchronize(b));
  OK(cudaEventElapsedTime(&ms, a, b));
  EXPECT_GT(ms, 0.0002f);
  EXPECT_LT(ms, 1.f);
  OK(cudaEventRecord(untimed, nullptr));
  EXPECT_EQ(cudaEventElapsedTime(&ms, a, untimed), cudaErrorInvalidResourceHandle);
  OK(cudaEventDestroy(a));
  EXPECT_EQ(cudaEventQuery(a), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(Runtime, HostFunctionsRunInOrder) {
  int* out = device(std::vector<int>(6));
  OK(launch(read_symbols, dim3(1), dim3(1), 0, out));
  int calls = 0;
  OK(cudaLaunchHostFunc(
      nullptr, [](void* p) { ++*static_cast<int*>(p); }, &calls));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(calls, 1);
}

TEST(Runtime, DeviceProperties) {
  cudaDeviceProp p;
  OK(cudaGetDeviceProperties(&p, 0));
  EXPECT_EQ(p.major, 10);
  EXPECT_EQ(p.minor, 0);
  EXPECT_EQ(p.multiProcessorCount, 148);
  EXPECT_EQ(p.warpSize, 32);
  EXPECT_EQ(p.sharedMemPerBlockOptin, 232448u);
  EXPECT_THAT(p.name, testing::HasSubstr("tinygpu b200"));
  int value = 0;
  for (const auto& [attribute, expected] : {std::pair{cudaDevAttrMultiProcessorCount, 148},
                                            {cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448},
                                            {cudaDevAttrComputeCapabilityMajor, 10},
                                            {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
                                            {cudaDevAttrCooperativeLaunch, 1},
                                            {cudaDevAttrClusterLaunch, 1},
                                            {cudaDevAttrMaxRegistersPerBlock, 65536}}) {
    OK(cudaDeviceGetAttribute(&value, attribute, 0));
    EXPECT_EQ(value, expected) << attribute;
  }
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDeviceAttr(9999), 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceProperties(&p, -1), cudaErrorInvalidDevice);
  int count = 0;
  OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  OK(cudaDriverGetVersion(&value));
  EXPECT_EQ(value, 13000);
  cudaGetLastError();
}

TEST(Runtime, ErrorTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered");
  EXPECT_STREQ(cudaGetErrorName(cudaError_t(12345)), "unrecognized error code");
}

TEST(Runtime, FunctionAttributes) {
  cudaFuncAttributes a;
  OK(cudaFuncGetAttributes(&a, reinterpret_cast<const void*>(fill_shared)));
  EXPECT_EQ(a.sharedSizeBytes, 128u);
  EXPECT_EQ(a.constSizeBytes, 16u);  // the module's variables, as an H200 counts them
  EXPECT_EQ(a.ptxVersion, 100);
  EXPECT_EQ(a.binaryVersion, 100);
  EXPECT_GT(a.numRegs, 7);
  EXPECT_EQ(a.maxThreadsPerBlock, 1024);
  EXPECT_EQ(a.maxDynamicSharedSizeBytes, 49152 - 128);
  OK(cudaFuncGetAttributes(&a, reinterpret_cast<const void*>(bounded)));
  EXPECT_EQ(a.maxThreadsPerBlock, 64);
  EXPECT_EQ(cudaFuncGetAttributes(&a, &a), cudaErrorInvalidDeviceFunction);
  const void* f = reinterpret_cast<const void*>(fill_shared);
  EXPECT_EQ(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448), cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448 - 128));
  cudaGetLastError();
}

TEST(Runtime, DynamicSharedMemory) {
  constexpr int n = 20000;
  int* out = device(std::vector<int>(n));
  const void* f = reinterpret_cast<const void*>(fill_shared);
  OK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, n * 4));
  OK(launch(fill_shared, dim3(1), dim3(256), n * 4, out, n));
  const auto got = host(out, n);
  for (int i = 0; i < n; ++i) ASSERT_EQ(got[i], (n - 1 - i) * 3 + i % 32);
}

TEST(Runtime, Occupancy) {
  int blocks = 0;
  const void* f = reinterpret_cast<const void*>(saxpy);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
  EXPECT_EQ(blocks, 2);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 0));
  EXPECT_EQ(blocks, 32);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 40000));
  EXPECT_EQ(blocks, 5);  // 228 KiB / (40,000 + 1,024 bytes)
  size_t bytes = 0;
  OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 2, 128));
  EXPECT_EQ(bytes, 49152u);  // a CTA has no more unless it opts in
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0), cudaErrorInvalidValue);
  cudaGetLastError();
}

// What an H200 under CUDA 13.0 answers for a kernel that opts in to all shared memory and prefers L1; Blackwell has its
// splits.
TEST(Runtime, OccupancyBehindAPreference) {
  int blocks = 0;
  size_t bytes = 0;
  const void* f = reinterpret_cast<const void*>(fill_shared);
  OK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize,
                          227 * 1024 - 128));  // it has 128 static bytes
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 100 * 1024));
  EXPECT_EQ(blocks, 2);
  OK(cudaFuncSetCacheConfig(f, cudaFuncCachePreferL1));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 100 * 1024));
  EXPECT_EQ(blocks, 1);
  OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 2, 128));
  EXPECT_EQ(bytes, 4096u - 128);
  // A carveout counts for more than the older setting.
  OK(cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 100 * 1024));
  EXPECT_EQ(blocks, 2);
  OK(cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutDefault));
  OK(cudaFuncSetCacheConfig(f, cudaFuncCachePreferNone));
}

TEST(Runtime, PeerAccessToItself) {
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);  // as an H200 says
  cudaGetLastError();
}

TEST(Runtime, Clusters) {
  unsigned* out = device(std::vector<unsigned>(32));
  OK(launch_clusters(cluster_ranks, out, 8, 4));
  const auto ranks = host(out, 8);
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(ranks[i], i % 4 * 100 + 4);
  OK(launch(fixed_cluster, dim3(4), dim3(32), 0, out));
  EXPECT_EQ(host(out, 4)[3], 2u);
  const void* f = reinterpret_cast<const void*>(cluster_ranks);
  OK(cudaFuncSetAttribute(f, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  OK(launch_clusters(cluster_ranks, out, 16, 16));
  EXPECT_EQ(host(out, 16)[15], 1516u);
  int clusters = 0;
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3(8);
  c.blockDim = dim3(32);
  OK(cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(fixed_cluster), &c));
  EXPECT_GT(clusters, 148);
  // One CTA an SM: as many as a B200 was reported to hold (132, 120 and 112 of its SMs).
  OK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
  c.dynamicSmemBytes = 200 * 1024;
  cudaLaunchAttribute shape = {};
  shape.id = cudaLaunchAttributeClusterDimension;
  c.attrs = &shape;
  c.numAttrs = 1;
  for (const auto& [of, most] : std::vector<std::pair<unsigned, int>>{{2, 74}, {4, 33}, {8, 15}, {16, 7}}) {
    shape.val.clusterDim = {of, 1, 1};
    OK(cudaOccupancyMaxActiveClusters(&clusters, f, &c));
    EXPECT_EQ(clusters, most);
  }
  OK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 0));
  c.dynamicSmemBytes = 0;
  c.numAttrs = 0;
  int size = 0;
  OK(cudaOccupancyMaxPotentialClusterSize(&size, reinterpret_cast<const void*>(saxpy), &c));
  EXPECT_EQ(size, 8);
}

TEST(Runtime, CooperativeGrid) {
  std::vector<int> in(64 * 10);
  std::iota(in.begin(), in.end(), 1);
  int *din = device(in), *out = device(std::vector<int>(65));
  int n = int(in.size());
  void* args[] = {&din, &out, &n};
  const void* f = reinterpret_cast<const void*>(grid_sum);
  OK(cudaLaunchCooperativeKernel(f, dim3(64), dim3(64), args, 0, nullptr));
  EXPECT_EQ(host(out, 1)[0], 640 * 641 / 2);
  EXPECT_EQ(cudaLaunchCooperativeKernel(f, dim3(148 * 33), dim3(64), args, 0, nullptr),
            cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();
}

TEST(Runtime, DriverEntryPoints) {
  void* p = nullptr;
  cudaDriverEntryPointQueryResult q;
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &p, 12000, cudaEnableDefault, &q));
  EXPECT_EQ(q, cudaDriverEntryPointSuccess);
  ASSERT_NE(p, nullptr);
  OK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &p, 12000, cudaEnableDefault, &q));
  EXPECT_EQ(q, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(p, nullptr);
}

TEST(Runtime, UnimplementedFunctionsSayTheirName) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaFreeMipmappedArray(nullptr), cudaErrorNotSupported);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("cudaFreeMipmappedArray is not implemented by tinygpu"));
}

}  // namespace
