// Tests of the driver API in the device's primary context.
#pragma once
#include <cuda.h>
#include <gtest/gtest.h>

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

class PrimaryContext : public testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    OK(cuDeviceGet(&device_, 0));
    OK(cuDevicePrimaryCtxRetain(&context_, device_));
    OK(cuCtxSetCurrent(context_));
  }
  void TearDown() override { cuDevicePrimaryCtxRelease(device_); }
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};
