// Green contexts: parts of the chip's SMs, as CUDA's documentation says; and that kernels stay on them.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/cuda/primary_context.h"

namespace {

/// Each CTA writes its %smid; it stays for a while, so that those of a grid spread.
constexpr const char* kPtx = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry where(.param .u64 p) {
  .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %q;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %smid;
  mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  mov.u32 %r3, 2000;
L:
  sub.u32 %r3, %r3, 1; setp.ne.u32 %q, %r3, 0; @%q bra L;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

class GreenContext : public PrimaryContext {
 protected:
  void SetUp() override {
    PrimaryContext::SetUp();
    OK(cuDeviceGetDevResource(device_, &whole_, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuModuleLoadData(&module_, kPtx));
    OK(cuModuleGetFunction(&where_, module_, "where"));
    OK(cuMemAlloc(&out_, 4096 * 4));
  }
  void TearDown() override {
    cuMemFree(out_);
    PrimaryContext::TearDown();
  }
  /// Groups of the device's SMs, and what is left.
  std::vector<CUdevResource> split(unsigned groups, unsigned least, CUdevResource* rest = nullptr) {
    std::vector<CUdevResource> out(groups);
    EXPECT_EQ(cuDevSmResourceSplitByCount(out.data(), &groups, &whole_, rest, 0, least), CUDA_SUCCESS);
    out.resize(groups);
    return out;
  }
  CUgreenCtx made(CUdevResource resource) {
    CUdevResourceDesc description = nullptr;
    CUgreenCtx out = nullptr;
    EXPECT_EQ(cuDevResourceGenerateDesc(&description, &resource, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuGreenCtxCreate(&out, description, device_, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
    return out;
  }
  CUresult launch(CUstream stream, unsigned ctas, CUdeviceptr out, unsigned cluster = 1, bool cooperative = false) {
    void* args[] = {&out};
    CUlaunchAttribute attributes[2]{};
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[0].value.clusterDim = {cluster, 1, 1};
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[1].value.cooperative = cooperative;
    CUlaunchConfig c{};
    c.gridDimX = ctas;
    c.gridDimY = c.gridDimZ = c.blockDimY = c.blockDimZ = 1;
    c.blockDimX = 32;
    c.hStream = stream;
    c.attrs = attributes;
    c.numAttrs = 2;
    return cuLaunchKernelEx(&c, where_, args, nullptr);
  }
  /// SMs that CTAs [first, first + n) ran on.
  std::set<unsigned> sms(unsigned first, unsigned n) {
    std::vector<unsigned> words(n);
    EXPECT_EQ(cuMemcpyDtoH(words.data(), out_ + 4 * first, 4 * n), CUDA_SUCCESS);
    return {words.begin(), words.end()};
  }
  CUdevResource whole_{};
  CUmodule module_ = nullptr;
  CUfunction where_ = nullptr;
  CUdeviceptr out_ = 0;
};

TEST_F(GreenContext, TheDevicesSms) {
  int sms = 0;
  OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_));
  EXPECT_EQ(whole_.type, CU_DEV_RESOURCE_TYPE_SM);
  EXPECT_EQ(whole_.sm.smCount, unsigned(sms));
  EXPECT_EQ(whole_.sm.minSmPartitionSize, 8u);
  EXPECT_EQ(whole_.sm.smCoscheduledAlignment, 8u);
  CUdevResource of_context{};
  OK(cuCtxGetDevResource(context_, &of_context, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(of_context.sm.smCount, unsigned(sms));
  EXPECT_EQ(cuDeviceGetDevResource(device_, &of_context, CU_DEV_RESOURCE_TYPE_INVALID),
            CUDA_ERROR_INVALID_RESOURCE_TYPE);
  EXPECT_EQ(cuDeviceGetDevResource(1, &of_context, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(GreenContext, Split) {
  unsigned possible = 0;
  OK(cuDevSmResourceSplitByCount(nullptr, &possible, &whole_, nullptr, 0, 20));
  CUdevResource rest{};
  const auto groups = split(2, 20, &rest);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_GE(possible, 2u);
  EXPECT_LE(possible * 24, whole_.sm.smCount);
  for (const CUdevResource& g : groups) EXPECT_EQ(g.sm.smCount, 24u) << "20, rounded up to 8";
  EXPECT_EQ(rest.sm.smCount, whole_.sm.smCount - 48);
  unsigned many = 1000;
  std::vector<CUdevResource> all(1000);
  OK(cuDevSmResourceSplitByCount(all.data(), &many, &whole_, nullptr, 0, 20));
  EXPECT_EQ(many, possible);
  unsigned fine = 1;
  CUdevResource small{};
  OK(cuDevSmResourceSplitByCount(&small, &fine, &whole_, nullptr, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 3));
  EXPECT_EQ(small.sm.smCount, 4u);
}

TEST_F(GreenContext, WrongSplits) {
  unsigned n = 1;
  CUdevResource out{}, made_by_hand{};
  EXPECT_EQ(cuDevSmResourceSplitByCount(&out, nullptr, &whole_, nullptr, 0, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevSmResourceSplitByCount(&out, &n, nullptr, nullptr, 0, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevSmResourceSplitByCount(&out, &n, &whole_, nullptr, 0, whole_.sm.smCount + 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevSmResourceSplitByCount(&out, &n, &whole_, nullptr, 4, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevSmResourceSplitByCount(&out, &n, &made_by_hand, nullptr, 0, 0), CUDA_ERROR_INVALID_RESOURCE_TYPE);
  const auto groups = split(2, 32);
  EXPECT_EQ(cuDevSmResourceSplitByCount(&out, &n, &groups[0], nullptr, 0, 8), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION)
      << "what a split gave is split again in its green context only";
  CUdevResource of_two[] = {groups[0], split(2, 32)[1]};
  CUdevResourceDesc description = nullptr;
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, of_two, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  CUdevResource twice[] = {groups[0], groups[0]};
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, twice, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, twice, 0), CUDA_ERROR_INVALID_VALUE);
  CUgreenCtx green = nullptr;
  EXPECT_EQ(cuGreenCtxCreate(&green, nullptr, device_, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_VALUE);
  OK(cuDevResourceGenerateDesc(&description, twice, 1));
  EXPECT_EQ(cuGreenCtxCreate(&green, description, device_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGreenCtxDestroy(nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(GreenContext, KernelsStayOnTheirSms) {
  CUdevResource rest{};
  const auto groups = split(1, 16, &rest);
  const CUgreenCtx small = made(groups[0]), large = made(rest);
  CUstream on_small = nullptr, on_large = nullptr;
  EXPECT_EQ(cuGreenCtxStreamCreate(&on_small, small, 0, 0), CUDA_ERROR_INVALID_VALUE) << "it has to be non-blocking";
  OK(cuGreenCtxStreamCreate(&on_small, small, CU_STREAM_NON_BLOCKING, 0));
  OK(cuGreenCtxStreamCreate(&on_large, large, CU_STREAM_NON_BLOCKING, 0));
  OK(launch(on_small, 1024, out_));
  OK(launch(on_large, 1024, out_ + 4096));
  OK(cuCtxSynchronize());
  const auto few = sms(0, 1024), many = sms(1024, 1024);
  EXPECT_EQ(few.size(), 16u);
  EXPECT_EQ(many.size(), rest.sm.smCount);
  std::vector<unsigned> both;
  std::ranges::set_intersection(few, many, std::back_inserter(both));
  EXPECT_TRUE(both.empty());
  OK(launch(nullptr, 1024, out_));
  OK(cuCtxSynchronize());
  EXPECT_EQ(sms(0, 1024).size(), whole_.sm.smCount) << "other streams have them all";
  CUgreenCtx of_stream = nullptr;
  OK(cuStreamGetGreenCtx(on_small, &of_stream));
  EXPECT_EQ(of_stream, small);
  OK(cuStreamGetGreenCtx(nullptr, &of_stream));
  EXPECT_EQ(of_stream, nullptr);
  OK(cuStreamDestroy(on_large));
  OK(cuGreenCtxDestroy(large));
  OK(cuGreenCtxDestroy(small));
  EXPECT_EQ(launch(on_small, 1, out_), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuStreamSynchronize(on_small), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(GreenContext, ACurrentOneHasTheDefaultStream) {
  const CUgreenCtx green = made(split(1, 8)[0]);
  CUcontext context = nullptr, again = nullptr;
  OK(cuCtxFromGreenCtx(&context, green));
  OK(cuCtxFromGreenCtx(&again, green));
  EXPECT_EQ(context, again);
  OK(cuCtxPushCurrent(context));
  CUdevResource has{};
  OK(cuCtxGetDevResource(context, &has, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(has.sm.smCount, 8u);
  unsigned long long id = 0, same = 1;
  OK(cuGreenCtxGetId(green, &id));
  OK(cuGreenCtxGetId(nullptr, &same));
  EXPECT_EQ(id, same);
  CUstream created = nullptr;
  OK(cuStreamCreate(&created, CU_STREAM_NON_BLOCKING));
  OK(launch(nullptr, 64, out_));
  OK(launch(created, 64, out_ + 256));
  OK(cuCtxSynchronize());
  EXPECT_EQ(sms(0, 64).size(), 8u);
  EXPECT_EQ(sms(0, 64), sms(64, 64)) << "a stream that is made while it is current is its own";
  OK(cuCtxPopCurrent(nullptr));
  OK(launch(nullptr, 1024, out_));
  OK(cuCtxSynchronize());
  EXPECT_EQ(sms(0, 1024).size(), whole_.sm.smCount);
  OK(cuStreamDestroy(created));
  OK(cuGreenCtxDestroy(green));
  EXPECT_EQ(cuCtxPushCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(GreenContext, WhatDoesNotFitIsRefused) {
  const CUgreenCtx green = made(split(1, 8)[0]);
  CUstream stream = nullptr;
  OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  OK(launch(stream, 64, out_, 8));
  OK(cuCtxSynchronize());
  EXPECT_EQ(sms(0, 64).size(), 8u) << "a portable cluster fits into the least part";
  int per_sm = 0;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, where_, 32, 0));
  OK(launch(stream, unsigned(8 * per_sm), out_, 1, true));
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(stream, unsigned(8 * per_sm) + 1, out_, 1, true), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("the SMs of its green context hold"));
  OK(cuCtxSynchronize());
  CUdevResource tiny{};
  unsigned one = 1;
  OK(cuDevSmResourceSplitByCount(&tiny, &one, &whole_, nullptr, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 2));
  CUstream narrow = nullptr;
  const CUgreenCtx pair = made(tiny);
  OK(cuGreenCtxStreamCreate(&narrow, pair, CU_STREAM_NON_BLOCKING, 0));
  EXPECT_EQ(launch(narrow, 8, out_, 4), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  OK(cuStreamDestroy(narrow));
  OK(cuStreamDestroy(stream));
  OK(cuGreenCtxDestroy(pair));
  OK(cuGreenCtxDestroy(green));
}

}  // namespace
