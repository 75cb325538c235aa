// What goes wrong gets the code that hardware gives and a diagnosis on stderr. Faults poison the process as on
// hardware, so each of those runs in a process of its own.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdio>

#include <csignal>
#include <cstdlib>

#include "tests/cuda/runtime_kernels.h"

namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

template <class... A>
cudaError_t launch(void (*kernel)(A...), dim3 grid, dim3 block, size_t shared, A... args) {
  void* pointers[] = {&args..., nullptr};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers, shared, nullptr);
}

/// A refused launch: its code, and what stderr says.
template <class F>
void expect_refused(cudaError_t code, const char* text, F&& f) {
  testing::internal::CaptureStderr();
  EXPECT_STREQ(cudaGetErrorName(f()), cudaGetErrorName(code));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(text));
  EXPECT_EQ(cudaGetLastError(), code);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // nothing sticks
}

// The codes are an H200's under CUDA 13.0 (driver 580), which calls none of these an invalid configuration.
TEST(LaunchRefused, GridAndBlock) {
  expect_refused(cudaErrorInvalidValue, "grid (0,1,1)", [] { return launch(stop_here, dim3(0), dim3(1), 0); });
  expect_refused(cudaErrorInvalidValue, "grid (1,65536,1)",
                 [] { return launch(stop_here, dim3(1, 65536), dim3(1), 0); });
  expect_refused(cudaErrorInvalidValue, "2048 threads", [] { return launch(stop_here, dim3(1), dim3(2048), 0); });
  expect_refused(cudaErrorInvalidValue, "block (1,1,65)", [] { return launch(stop_here, dim3(1), dim3(1, 1, 65), 0); });
  expect_refused(cudaErrorInvalidValue, "block (32,0,1)", [] { return launch(stop_here, dim3(1), dim3(32, 0), 0); });
}

TEST(LaunchRefused, LaunchBounds) {
  expect_refused(cudaErrorInvalidValue, "the kernel is compiled for at most 64",
                 [] { return launch(bounded, dim3(1), dim3(65), 0, static_cast<int*>(nullptr)); });
}

TEST(LaunchRefused, SharedMemory) {
  int* none = nullptr;
  expect_refused(cudaErrorInvalidValue, "cudaFuncAttributeMaxDynamicSharedMemorySize",
                 [&] { return launch(fill_shared, dim3(1), dim3(32), 49152, none, 1); });
  expect_refused(cudaErrorInvalidValue, "a CTA has at most 232448 bytes",
                 [&] { return launch(fill_shared, dim3(1), dim3(32), 300000, none, 1); });
}

TEST(LaunchRefused, Clusters) {
  expect_refused(cudaErrorInvalidClusterSize, "cudaFuncAttributeNonPortableClusterSizeAllowed",
                 [&] { return launch_clusters(cluster_ranks, nullptr, 16, 16); });
  expect_refused(cudaErrorInvalidClusterSize, "not a multiple of the cluster",
                 [&] { return launch_clusters(cluster_ranks, nullptr, 6, 4); });
  expect_refused(cudaErrorInvalidClusterSize, "compiled for (2,1,1)",
                 [&] { return launch_clusters(fixed_cluster, nullptr, 8, 4); });
}

TEST(LaunchRefused, NoSuchFunction) {
  int here = 0;
  EXPECT_EQ(cudaLaunchKernel(&here, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(bounded), dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(stop_here), dim3(1), dim3(1), nullptr, 0,
                             reinterpret_cast<cudaStream_t>(0x1234)),
            cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

/// Runs in a fresh process: launches, reports what the launch, the synchronisation and a later call return.
template <class F>
[[noreturn]] void report(F&& f) {
  const cudaError_t launched = f();
  const cudaError_t synchronised = cudaDeviceSynchronize();
  void* p = nullptr;
  const cudaError_t later = cudaMalloc(&p, 16);
  std::fprintf(stderr, "launch %s, synchronise %s, later %s, last %s\n", cudaGetErrorName(launched),
               cudaGetErrorName(synchronised), cudaGetErrorName(later), cudaGetErrorName(cudaGetLastError()));
  std::exit(0);
}
std::string sticky(const std::string& name) {
  return "launch cudaSuccess, synchronise " + name + ", later " + name + ", last " + name;
}

class Fault : public testing::Test {
 protected:
  Fault() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#define EXPECT_FAULT(statement, name, ...) \
  EXPECT_EXIT(report([] { statement; }), testing::ExitedWithCode(0), AllOf(HasSubstr(sticky(name)), __VA_ARGS__))

TEST_F(Fault, OnceItIsSaidHowToReadMore) {
  const auto times = [](const std::string& text) {
    int n = 0;
    for (size_t at = 0; (at = text.find("more: gen5 explain invalid-free\n", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EXIT(
      {
        for (uintptr_t p : {64, 128}) cudaFree(reinterpret_cast<void*>(p));
        std::exit(0);
      },
      testing::ExitedWithCode(0), AllOf(HasSubstr("0x80 is not the start"), testing::ResultOf(times, 1)));
}

TEST_F(Fault, IllegalAddress) {
  EXPECT_FAULT(
      {
        int* p = nullptr;
        cudaMalloc(reinterpret_cast<void**>(&p), 64);
        return launch(store_at, dim3(1), dim3(32), 0, p);
      },
      "cudaErrorIllegalAddress", HasSubstr("store_at"), HasSubstr("thread 16"), HasSubstr("runtime_kernels.cu:"),
      HasSubstr("st.global"));
}

// As on an H200: 1,001 frames of some 272 bytes do not fit the 1,024 that a thread has, and the program may ask for
// more.
TEST_F(Fault, RecursionPastTheStackLimit) {
  EXPECT_FAULT(
      {
        int* p = nullptr;
        cudaMalloc(reinterpret_cast<void**>(&p), 64);
        return launch(recurse, dim3(1), dim3(1), 0, 1000, p);
      },
      "cudaErrorIllegalAddress", HasSubstr("error[stack-overflow]"), HasSubstr("cudaLimitStackSize is 1024"));
  EXPECT_EXIT(report([] {
                int* p = nullptr;
                cudaMalloc(reinterpret_cast<void**>(&p), 64);
                cudaDeviceSetLimit(cudaLimitStackSize, 300 * 1024);
                return launch(recurse, dim3(1), dim3(1), 0, 700, p);
              }),
              testing::ExitedWithCode(0), HasSubstr("synchronise cudaSuccess"));
}

TEST_F(Fault, NullPointer) {
  EXPECT_FAULT(return launch(store_at, dim3(1), dim3(1), 0, static_cast<int*>(nullptr)), "cudaErrorIllegalAddress",
                      HasSubstr("0x0"));
}

TEST_F(Fault, Misaligned) {
  EXPECT_FAULT(
      {
        char* p = nullptr;
        cudaMalloc(reinterpret_cast<void**>(&p), 64);
        return launch(store_misaligned, dim3(1), dim3(1), 0, p);
      },
      "cudaErrorMisalignedAddress", HasSubstr("store_misaligned"));
}

TEST_F(Fault, Assert) {
  EXPECT_FAULT(return launch(fail_assert, dim3(1), dim3(1), 0, 3), "cudaErrorAssert", HasSubstr("value == 0"),
                      HasSubstr("runtime_kernels.cu"));
}

TEST_F(Fault, Trap) {
  EXPECT_FAULT(return launch(stop_here, dim3(1), dim3(1), 0), "cudaErrorLaunchFailure", HasSubstr("stop_here"));
}

TEST_F(Fault, WaitsForever) {
  EXPECT_FAULT(return launch(wait_forever, dim3(1), dim3(64), 0), "cudaErrorLaunchTimeout", HasSubstr("wait_forever"),
                      HasSubstr("mbarrier"));
}

[[noreturn]] void fault_and_reset() {
  int *p = nullptr, seen = 0;
  cudaEvent_t event;
  size_t before = 0, after = 0, total = 0;
  cudaEventCreate(&event);
  cudaMalloc(reinterpret_cast<void**>(&p), 64);
  launch(write_symbols, dim3(1), dim3(1), 0, 100);
  launch(store_at, dim3(1), dim3(32), 0, p);
  const int fault = cudaDeviceSynchronize(), set = cudaSetDevice(0), reset = cudaDeviceReset();
  const int last = cudaGetLastError(), clean = cudaGetLastError();
  const int old = cudaFree(p), old_event = cudaEventQuery(event);
  cudaMemGetInfo(&before, &total);
  cudaMalloc(reinterpret_cast<void**>(&p), 64);
  cudaMemGetInfo(&after, &total);
  const int again = launch(read_symbols, dim3(1), dim3(1), 0, p);
  cudaMemcpy(&seen, p, 4, cudaMemcpyDeviceToHost);
  std::fprintf(stderr, "%d %d %d %d %d, old %d %d, used %zu of all, again %d sees %d\n", fault, set, reset, last, clean,
               old, old_event, before == total ? before - after : 0, again, seen);
  std::exit(0);
}

// The reset succeeds, and the thread's last error is still there, once: as on an H100 under CUDA 13.0.
TEST_F(Fault, DeviceResetRecovers) {
  EXPECT_EXIT(fault_and_reset(), testing::ExitedWithCode(0),
              HasSubstr("700 0 0 700 0, old 1 400, used 64 of all, again 0 sees 5"));
}

TEST_F(Fault, HostDereferencesADevicePointer) {
  EXPECT_EXIT(
      {
        int* p = nullptr;
        cudaMalloc(reinterpret_cast<void**>(&p), 64);
        *p = 1;
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(Fault, PrintfAppearsAtTheSynchronisation) {
  EXPECT_EXIT(
      {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        launch(print_values, dim3(1), dim3(1), 0, 7);
        std::fprintf(stderr, "before ");
        cudaDeviceSynchronize();
        std::exit(0);
      },
      testing::ExitedWithCode(0), ContainsRegex("before (.*\n)*n=7 half=3.50 text x"));
}

}  // namespace
