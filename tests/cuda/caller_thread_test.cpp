// Whatever the calling thread is like, kernels compute the same.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <ucontext.h>
#include <xmmintrin.h>

#include <cfenv>
#include <csignal>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/cuda/runtime_kernels.h"

namespace {

/// y = 1 * x + y on the device.
float sum_of(float x, float y) {
  float* p = nullptr;
  EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&p), 8), cudaSuccess);
  const float in[2] = {x, y};
  EXPECT_EQ(cudaMemcpy(p, in, 8, cudaMemcpyHostToDevice), cudaSuccess);
  launch_saxpy(1, 1, p, p + 1, nullptr);
  float out = 0;
  EXPECT_EQ(cudaMemcpy(&out, p + 1, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  return out;
}

TEST(CallerThread, FlushesSubnormals) {  // as a program that is linked with -ffast-math
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  const float sum = sum_of(0x1p-140f, 0x1p-140f);
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u) << "it is the caller's own";
  _mm_setcsr(before);
  EXPECT_EQ(sum, 0x1p-139f);
}

TEST(CallerThread, RoundsUpwards) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const float sum = sum_of(1, 0x1p-30f);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(sum, 1);
}

TEST(CallerThread, StopsAtInvalidOperations) {
  feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  const float sum = sum_of(0x1p127f, 0x1p127f);
  EXPECT_EQ(fegetexcept(), FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  fedisableexcept(FE_ALL_EXCEPT);
  EXPECT_GT(sum, 0x1.fffffep127f);
}

TEST(CallerThread, HasALittleStack) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 64 << 10), 0);
  pthread_t thread;
  float sum = 0;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* to) -> void* {
                  *static_cast<float*>(to) = sum_of(2, 3);
                  return nullptr;
                },
                &sum),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(sum, 5);
}

float of_coroutine = 0;

TEST(CallerThread, IsOnACoroutinesStack) {
  std::vector<uint8_t> stack(256 << 10);
  ucontext_t here = {}, there = {};
  ASSERT_EQ(getcontext(&there), 0);
  there.uc_stack = {.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  there.uc_link = &here;
  makecontext(
      &there, [] { of_coroutine = sum_of(3, 4); }, 0);
  ASSERT_EQ(swapcontext(&here, &there), 0);
  EXPECT_EQ(of_coroutine, 7);
}

}  // namespace
