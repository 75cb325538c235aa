// The border of the runtime API: what overflows, is null, dead or wild is refused with CUDA's codes. The codes were
// seen on an H100 (CUDA 13.0, driver 580, 2026-11-22) where "chip" stands.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

#define OK(call) ASSERT_EQ(call, cudaSuccess)

constexpr size_t kMost = ~size_t(0);

class RuntimeBorder : public testing::Test {
 protected:
  void SetUp() override { OK(cudaMalloc(&d_, 4096)); }
  void TearDown() override {
    cudaFree(d_);
    cudaGetLastError();
  }
  void* d_ = nullptr;
  char h_[4096] = {};
};

TEST_F(RuntimeBorder, CopiesAndFills) {
  for (const size_t n : {kMost, size_t(1) << 63, size_t(4097)}) {
    EXPECT_EQ(cudaMemcpy(d_, h_, n, cudaMemcpyHostToDevice), cudaErrorInvalidValue) << n;  // chip
    EXPECT_EQ(cudaMemcpy(h_, d_, n, cudaMemcpyDefault), cudaErrorInvalidValue) << n;
    EXPECT_EQ(cudaMemset(d_, 0, n), cudaErrorInvalidValue) << n;
  }
  EXPECT_EQ(cudaMemset(nullptr, 0, 4), cudaErrorInvalidValue);  // chip
  EXPECT_EQ(cudaMemset(nullptr, 0, 0), cudaSuccess);            // chip
  EXPECT_EQ(cudaMemset2D(d_, 8, 0, 16, 1), cudaSuccess);        // chip: one row has no pitch
  EXPECT_EQ(cudaMemset2D(d_, 8, 0, 16, 2), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemset2D(d_, kMost, 0, 16, 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset2D(d_, size_t(1) << 62, 0, 16, 5), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D(cudaPitchedPtr{d_, 16, 16, kMost}, 0, cudaExtent{16, 4, 2}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D(cudaPitchedPtr{d_, 16, 16, 0}, 0, cudaExtent{16, 4, kMost}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(d_, h_, 0, cudaMemcpyKind(9)), cudaSuccess);  // chip
  EXPECT_EQ(cudaMemcpy(d_, h_, 1, cudaMemcpyKind(9)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(nullptr, h_, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(d_, nullptr, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(d_, kMost, h_, 16, 16, 2, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(d_, 16, h_, 16, 16, kMost, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  cudaMemcpy3DParms p = {};
  p.srcPtr = {h_, 16, 16, 4};
  p.dstPtr = {d_, 16, 16, 4};
  p.extent = {16, 4, 2};
  p.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&p));
  p.dstPos.z = kMost;
  EXPECT_EQ(cudaMemcpy3D(&p), cudaErrorInvalidValue);
  p.dstPos.z = size_t(1) << 58;  // 64 · 2^58 is 2^64
  EXPECT_EQ(cudaMemcpy3D(&p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeBorder, Allocations) {
  void* const mark = h_;
  void* p = mark;
  size_t pitch = 7;
  const auto gave = [&](cudaError_t got, cudaError_t expected, void* pointer) {
    const bool ok = got == expected && p == pointer;
    p = mark;
    return ok;
  };
  EXPECT_TRUE(gave(cudaMalloc(&p, kMost), cudaErrorMemoryAllocation, nullptr));  // chip
  EXPECT_TRUE(gave(cudaMalloc(&p, 0), cudaSuccess, nullptr));                    // chip
  EXPECT_TRUE(gave(cudaMallocAsync(&p, 0, nullptr), cudaSuccess, nullptr));      // chip
  EXPECT_TRUE(gave(cudaMallocHost(&p, kMost), cudaErrorMemoryAllocation, nullptr));
  EXPECT_TRUE(gave(cudaMallocPitch(&p, &pitch, kMost, 1), cudaErrorInvalidValue, nullptr));      // chip
  EXPECT_TRUE(gave(cudaMallocPitch(&p, &pitch, 1, kMost), cudaErrorMemoryAllocation, nullptr));  // chip
  EXPECT_EQ(pitch, 512u);                                                                        // chip
  EXPECT_TRUE(gave(cudaMallocPitch(&p, &pitch, 0, 4), cudaSuccess, nullptr));                    // chip
  EXPECT_EQ(pitch, 0u);                                                                          // chip
  EXPECT_TRUE(gave(cudaMallocPitch(&p, &pitch, 512, size_t(1) << 55), cudaErrorMemoryAllocation, nullptr));
  EXPECT_EQ(cudaMalloc(nullptr, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostAlloc(&p, 16, 0xffff), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocManaged(&p, 16, 99), cudaErrorInvalidValue);
  cudaPitchedPtr cube;
  EXPECT_EQ(cudaMalloc3D(&cube, cudaExtent{kMost, 1, 1}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc3D(&cube, cudaExtent{1, size_t(1) << 32, size_t(1) << 32}), cudaErrorMemoryAllocation);
  EXPECT_EQ(cube.ptr, nullptr);
  EXPECT_EQ(cudaMalloc3D(nullptr, cudaExtent{1, 1, 1}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(h_), cudaErrorInvalidValue);                                               // chip
  EXPECT_EQ(cudaFreeHost(h_), cudaErrorInvalidValue);                                           // chip
  EXPECT_EQ(cudaHostRegister(reinterpret_cast<void*>(65536), 4096, 0), cudaErrorInvalidValue);  // chip
  EXPECT_EQ(cudaHostRegister(h_, kMost, 0), cudaErrorInvalidValue);                             // chip
  EXPECT_EQ(cudaHostRegister(d_, 4096, 0), cudaErrorInvalidValue);                              // chip
  EXPECT_EQ(cudaHostRegister(h_, 16, 0xffff), cudaErrorInvalidValue);
}

TEST_F(RuntimeBorder, HandlesAndFlags) {
  cudaStream_t s;
  cudaEvent_t e;
  OK(cudaStreamCreate(&s));
  OK(cudaEventCreate(&e));
  OK(cudaStreamDestroy(s));
  OK(cudaEventDestroy(e));
  EXPECT_EQ(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);  // chip
  EXPECT_EQ(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);   // chip
  EXPECT_EQ(cudaEventRecord(nullptr), cudaErrorInvalidResourceHandle);    // chip
  EXPECT_EQ(cudaMemcpyPeerAsync(d_, 0, d_, 0, 4, s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemcpyPeer(d_, 3, d_, 0, 4), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaStreamCreateWithFlags(&s, 0xffff), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&e, 0xffff), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetDeviceFlags(0xffff), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSetLimit(cudaLimit(99), 5), cudaErrorUnsupportedLimit);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeBorder, TheHeapHasTheSizeThatWasSet) {
  constexpr const char* kHeap = R"(.version 9.0
.target sm_100a
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 a);
.visible .entry take(.param .u64 p, .param .u64 n) {
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [n];
  { .param .b64 a0; st.param.b64 [a0], %rd2; .param .b64 r0; call.uni (r0), malloc, (a0); ld.param.b64 %rd3, [r0]; }
  st.global.u64 [%rd1], %rd3;
  ret;
}
)";
  cudaLibrary_t library;
  cudaKernel_t kernel;
  OK(cudaLibraryLoadData(&library, kHeap, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cudaLibraryGetKernel(&kernel, library, "take"));
  const auto taken = [&](uint64_t n) {
    uint64_t address = 0;
    void* args[] = {&d_, &n};
    EXPECT_EQ(cudaLaunchKernel(kernel, dim3(1), dim3(1), args, 0, nullptr), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&address, d_, 8, cudaMemcpyDeviceToHost), cudaSuccess);
    return address != 0;
  };
  EXPECT_FALSE(taken(20 << 20));
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
  EXPECT_TRUE(taken(20 << 20));
  EXPECT_EQ(cudaLibraryLoadData(nullptr, kHeap, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryGetKernel(nullptr, library, "take"), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryGetKernelCount(nullptr, library), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryEnumerateKernels(nullptr, 3, library), cudaErrorInvalidValue);
  OK(cudaLibraryUnload(library));
  unsigned count = 0;
  EXPECT_EQ(cudaLibraryGetKernelCount(&count, library), cudaErrorInvalidResourceHandle);
}

#define TINYGPU_EXPORT(name) #name,
#define TINYGPU_EXPORT_PER_THREAD(name, suffix)
#define TINYGPU_VERSIONED(name, current)
constexpr const char* kRuntime[] = {
#include "runtime_names.inc"
};
constexpr const char* kDriver[] = {
#include "driver_names.inc"
};

alignas(64) std::array<std::array<uint8_t, 1 << 16>, 16> scratch;

/// Calls `name` with sixteen arguments, each null, a small number, a huge one, or memory that can be written, zeroed
/// (for structures, a size or a handle that is none). What takes a function of the caller's is left out, and what
/// returns a structure, whose place the caller hands over.
void call_with_nonsense(void* library, const std::string& name, std::mt19937& random) {
  for (const char* calls :
       {"HostFunc", "AddCallback", "MaxPotentialBlockSize", "RegisterCallback", "Unregister", "CreateChannelDesc"})
    if (name.find(calls) != std::string::npos) return;
  auto* f = reinterpret_cast<uint64_t (*)(...)>(dlsym(library, name.c_str()));
  if (!f) return;
  std::array<uint64_t, 16> a;
  for (size_t i = 0; i < a.size(); ++i) {
    scratch[i].fill(0);
    a[i] = random() % 2 ? reinterpret_cast<uint64_t>(scratch[i].data()) : 0;
  }
  f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
}

/// In a process of its own: what a call of nonsense leaves behind shall not disturb other tests.
int nonsense(const char* file, const char* const* names, size_t count) {
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    dup2(null, STDOUT_FILENO);
    alarm(50);
    void* library = dlopen(file, RTLD_NOW);
    void* p = nullptr;
    cudaMalloc(&p, 16);
    std::mt19937 random(1);
    for (int round = 0; round < 40; ++round)
      for (size_t i = 0; i < count; ++i) call_with_nonsense(library, names[i], random);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Nonsense, NoRuntimeFunctionFallsOverNulls) {
  EXPECT_EQ(nonsense("libcudart.so.13", kRuntime, std::size(kRuntime)), 0);
}
TEST(Nonsense, NoDriverFunctionFallsOverNulls) { EXPECT_EQ(nonsense("libcuda.so.1", kDriver, std::size(kDriver)), 0); }

// CUDA 13's documentation of cudaMemcpyBatchAsync; nothing here was compared with a chip.
class BatchTest : public testing::Test {
 protected:
  void SetUp() override {
    OK(cudaMalloc(reinterpret_cast<void**>(&a_), 8));
    OK(cudaMalloc(reinterpret_cast<void**>(&b_), 8));
    OK(cudaStreamCreate(&stream_));
  }
  void TearDown() override {
    cudaFree(a_), cudaFree(b_), cudaStreamDestroy(stream_);
    cudaGetLastError();
  }
  static cudaMemcpyAttributes order(cudaMemcpySrcAccessOrder o) {
    cudaMemcpyAttributes out{};
    out.srcAccessOrder = o;
    return out;
  }
  int *a_ = nullptr, *b_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(BatchTest, EveryCopyIsMade) {
  const int from[2][2] = {{1, 2}, {3, 4}};
  int back[2][2] = {};
  void* to[] = {a_, b_};
  const void* src[] = {from[0], from[1]};
  const size_t sizes[] = {8, 8};
  cudaMemcpyAttributes streams = order(cudaMemcpySrcAccessOrderStream);
  size_t first = 0;
  OK(cudaMemcpyBatchAsync(to, src, sizes, 2, &streams, &first, 1, stream_));
  void* to_host[] = {back[0], back[1]};
  const void* from_device[] = {a_, b_};
  OK(cudaMemcpyBatchAsync(to_host, from_device, sizes, 2, &streams, &first, 1, stream_));
  OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(std::memcmp(from, back, sizeof from), 0);
}

TEST_F(BatchTest, ASourceOfTheCallAloneMayChangeBehindIt) {
  int from[2] = {5, 6}, later[2] = {7, 8}, back[2][2] = {};
  void* to[] = {a_, b_};
  const void* src[] = {from, later};
  const size_t sizes[] = {8, 8};
  cudaMemcpyAttributes both[] = {order(cudaMemcpySrcAccessOrderDuringApiCall), order(cudaMemcpySrcAccessOrderStream)};
  size_t first[] = {0, 1};
  OK(cudaMemcpyBatchAsync(to, src, sizes, 2, both, first, 2, stream_));
  from[0] = from[1] = 0;
  OK(cudaStreamSynchronize(stream_));
  OK(cudaMemcpy(back[0], a_, 8, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(back[1], b_, 8, cudaMemcpyDeviceToHost));
  EXPECT_EQ(back[0][0], 5);
  EXPECT_EQ(back[0][1], 6);
  EXPECT_EQ(back[1][0], 7);
}

TEST_F(BatchTest, WhatBreaksItsRulesIsRefused) {
  int from[2] = {};
  void* to[] = {a_, b_};
  const void* src[] = {from, from};
  const size_t sizes[] = {8, 8};
  cudaMemcpyAttributes right = order(cudaMemcpySrcAccessOrderAny), wrong = order(cudaMemcpySrcAccessOrder(0));
  size_t first = 0, second = 1;
  const auto code = [&](size_t count, cudaMemcpyAttributes* attributes, size_t* indices, size_t n, cudaStream_t on) {
    return cudaMemcpyBatchAsync(to, src, sizes, count, attributes, indices, n, on);
  };
  EXPECT_EQ(code(2, &right, &first, 1, stream_), cudaSuccess);
  EXPECT_EQ(code(2, &right, &first, 1, nullptr), cudaErrorInvalidValue) << "the legacy default stream takes none";
  EXPECT_EQ(code(2, &right, &second, 1, stream_), cudaErrorInvalidValue) << "the first index is not 0";
  EXPECT_EQ(code(2, &wrong, &first, 1, stream_), cudaErrorInvalidValue) << "no order";
  EXPECT_EQ(code(2, nullptr, nullptr, 0, stream_), cudaErrorInvalidValue) << "copies without attributes";
  EXPECT_EQ(code(0, &right, &first, 1, stream_), cudaErrorInvalidValue) << "no copy";
  EXPECT_EQ(code(kMost, &right, &first, 1, stream_), cudaErrorInvalidValue);
}

/// What stderr says of a call that is refused.
template <class F>
std::string refused(F&& call) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(call(), cudaErrorNotSupported);
  return testing::internal::GetCapturedStderr();
}

TEST(Refused, AReasonStandsBehindTheName) {
  using testing::HasSubstr;
  cudaIpcMemHandle_t handle{};
  EXPECT_THAT(refused([&] { return cudaIpcGetMemHandle(&handle, nullptr); }),
              HasSubstr("cudaIpcGetMemHandle is not implemented by tinygpu: a machine belongs to one process"));
  const auto driver = [](const char* name) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    const auto f = reinterpret_cast<int (*)()>(dlsym(library, name));
    return refused([&] { return cudaError_t(f()); });
  };
  EXPECT_THAT(driver("cuMemMapArrayAsync"), HasSubstr("an array has all its memory"));
  EXPECT_THAT(driver("cuMemExportToShareableHandle"), HasSubstr("a machine belongs to one process"));
  EXPECT_THAT(driver("cuMulticastCreate"), HasSubstr("a machine has one device"));
}

/// The driver's calls need no cuInit then, as the manual of CUDA 12 has it. (ctest starts a process for each test.)
TEST(SetDevice, MakesTheContext) {
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(library, nullptr);
  int device = -1;
  EXPECT_EQ(reinterpret_cast<int (*)(int*)>(dlsym(library, "cuCtxGetDevice"))(&device), 0);
  EXPECT_EQ(device, 0);
}

}  // namespace
