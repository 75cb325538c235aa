// Virtual memory management: what CUDA's documentation says of cuMemCreate, cuMemAddressReserve, cuMemMap and the calls
// around them, their errors too.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/cuda/primary_context.h"

namespace {

using testing::HasSubstr;

/// Each thread adds 1 to its word.
constexpr const char* kPtx = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry bump(.param .u64 p) {
  .reg .b32 %r<5>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r1, %r1, %r2, %r3;
  mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;
  ret;
}
)";

class VirtualMemory : public PrimaryContext {
 protected:
  static constexpr size_t kMiB = size_t(1) << 20, kPage = 2 * kMiB;

  void SetUp() override {
    PrimaryContext::SetUp();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties_.location.id = device_;
    access_.location = properties_.location;
    access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  CUdeviceptr reserved(size_t size, CUdeviceptr wanted = 0) {
    CUdeviceptr p = 0;
    EXPECT_EQ(cuMemAddressReserve(&p, size, 0, wanted, 0), CUDA_SUCCESS);
    return p;
  }
  CUmemGenericAllocationHandle created(size_t size) {
    CUmemGenericAllocationHandle h = 0;
    EXPECT_EQ(cuMemCreate(&h, size, &properties_, 0), CUDA_SUCCESS);
    return h;
  }
  /// New memory at `at` that can be reached; nobody but its mapping keeps it.
  void fill(CUdeviceptr at, size_t size) {
    const auto h = created(size);
    OK(cuMemMap(at, size, 0, h, 0));
    OK(cuMemSetAccess(at, size, &access_, 1));
    OK(cuMemRelease(h));
  }
  size_t free_bytes() {
    size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
    return free;
  }
  CUresult bump(CUdeviceptr p, unsigned words) {
    CUmodule m;
    CUfunction f;
    EXPECT_EQ(cuModuleLoadData(&m, kPtx), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&f, m, "bump"), CUDA_SUCCESS);
    void* args[] = {&p};
    const CUresult e = cuLaunchKernel(f, words / 32, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr);
    return e == CUDA_SUCCESS ? cuCtxSynchronize() : e;
  }
  /// What stderr says of a call that gives this code.
  template <class F>
  std::string said(F&& call, CUresult code = CUDA_ERROR_INVALID_VALUE) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(call(), code);
    return testing::internal::GetCapturedStderr();
  }
  CUmemAllocationProp properties_{};
  CUmemAccessDesc access_{};
};

TEST_F(VirtualMemory, TheDeviceSaysThatItHasIt) {
  int can = 0, posix = 1;
  OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device_));
  OK(cuDeviceGetAttribute(&posix, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device_));
  EXPECT_EQ(can, 1);
  EXPECT_EQ(posix, 0);
  for (const auto option : {CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
    size_t granularity = 0;
    OK(cuMemGetAllocationGranularity(&granularity, &properties_, option));
    EXPECT_EQ(granularity, kPage);
  }
}

// The life of a buffer that grows: its second part is mapped behind the first, and a kernel, a copy and a fill go over
// the line between them.
TEST_F(VirtualMemory, ABufferGrows) {
  const CUdeviceptr p = reserved(64 * kPage);
  fill(p, kPage);
  OK(cuMemsetD32(p, 7, kPage / 4));
  fill(p + kPage, 2 * kPage);
  std::vector<unsigned> words(3 * kPage / 4, 1);
  OK(cuMemcpyDtoH(words.data(), p, 3 * kPage));
  EXPECT_EQ(words.front(), 7u);
  EXPECT_EQ(words[kPage / 4 - 1], 7u);
  EXPECT_EQ(words[kPage / 4], 0u);
  OK(cuMemsetD32(p + kPage - 64, 40, 32));
  OK(bump(p + kPage - 64, 32));
  OK(cuMemcpyDtoH(words.data(), p + kPage - 128, 256));
  EXPECT_EQ(words[15], 7u);
  EXPECT_EQ(words[16], 41u);
  EXPECT_EQ(words[47], 41u);
  EXPECT_EQ(words[48], 0u);
  EXPECT_EQ(cuMemsetD8(p + 3 * kPage - 1, 0, 2), CUDA_ERROR_INVALID_VALUE) << "past the end of what is mapped";
  OK(cuMemUnmap(p, 3 * kPage));
  OK(cuMemAddressFree(p, 64 * kPage));
}

TEST_F(VirtualMemory, RangesThatLieSideBySideAreOne) {
  const CUdeviceptr first = reserved(kPage), second = reserved(kPage, first + kPage);
  ASSERT_EQ(second, first + kPage) << "the addresses that are asked for are free";
  EXPECT_NE(reserved(kPage, first), first) << "and these are not: it is a hint";
  fill(first, kPage);
  fill(second, kPage);
  OK(cuMemsetD8(first, 1, 2 * kPage));
  OK(cuMemUnmap(first, 2 * kPage));
  fill(first, 2 * kPage);
  EXPECT_EQ(cuMemAddressFree(second, kPage), CUDA_ERROR_INVALID_VALUE) << "a mapping of both is in it";
  OK(cuMemUnmap(first, 2 * kPage));
  OK(cuMemAddressFree(first, kPage));
  OK(cuMemAddressFree(second, kPage));
}

TEST_F(VirtualMemory, MemoryKeepsItsBytesWhereverItIsMapped) {
  const CUdeviceptr p = reserved(4 * kPage);
  const auto h = created(kPage);
  OK(cuMemMap(p, kPage, 0, h, 0));
  OK(cuMemMap(p + 2 * kPage, kPage, 0, h, 0));
  OK(cuMemSetAccess(p, kPage, &access_, 1));
  OK(cuMemSetAccess(p + 2 * kPage, kPage, &access_, 1));
  OK(cuMemsetD32(p, 5, kPage / 4));
  OK(bump(p + 2 * kPage, 64));
  unsigned word = 0;
  OK(cuMemcpyDtoH(&word, p + 4 * 63, 4));
  EXPECT_EQ(word, 6u) << "both addresses lead to the same bytes";
  OK(cuMemUnmap(p, kPage));
  OK(cuMemUnmap(p + 2 * kPage, kPage));
  OK(cuMemMap(p + kPage, kPage, 0, h, 0));
  OK(cuMemSetAccess(p + kPage, kPage, &access_, 1));
  OK(cuMemcpyDtoH(&word, p + kPage + 4 * 64, 4));
  EXPECT_EQ(word, 5u);
  OK(cuMemUnmap(p + kPage, kPage));
  OK(cuMemRelease(h));
  fill(p, kPage);
  OK(cuMemcpyDtoH(&word, p, 4));
  EXPECT_EQ(word, 0u) << "new memory";
  OK(cuMemUnmap(p, kPage));
  OK(cuMemAddressFree(p, 4 * kPage));
}

TEST_F(VirtualMemory, MemoryEndsWithItsLastHandleAndMapping) {
  const size_t before = free_bytes();
  const CUdeviceptr p = reserved(kPage);
  EXPECT_EQ(free_bytes(), before) << "addresses are not memory";
  fill(p, kPage);
  EXPECT_EQ(free_bytes(), before - kPage) << "mapped, and without a handle";
  CUmemGenericAllocationHandle h = 0;
  OK(cuMemRetainAllocationHandle(&h, reinterpret_cast<void*>(p + 100)));
  CUmemAllocationProp has{};
  OK(cuMemGetAllocationPropertiesFromHandle(&has, h));
  EXPECT_EQ(has.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  OK(cuMemUnmap(p, kPage));
  EXPECT_EQ(free_bytes(), before - kPage) << "kept by its handle";
  OK(cuMemRelease(h));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_THAT(said([&] { return cuMemRelease(h); }), HasSubstr("is no live handle of memory"));
  OK(cuMemAddressFree(p, kPage));
}

TEST_F(VirtualMemory, WithoutAccessNothingIsReached) {
  const CUdeviceptr p = reserved(2 * kPage);
  unsigned long long flags = 9;
  EXPECT_EQ(cuMemGetAccess(&flags, &access_.location, p), CUDA_ERROR_INVALID_VALUE) << "nothing is mapped";
  const auto h = created(kPage);
  OK(cuMemMap(p, kPage, 0, h, 0));
  OK(cuMemGetAccess(&flags, &access_.location, p));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_EQ(cuMemsetD8(p, 0, 1), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemSetAccess(p, kPage, &access_, 1));
  OK(cuMemGetAccess(&flags, &access_.location, p));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  OK(cuMemsetD8(p, 0, 1));
  access_.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  OK(cuMemSetAccess(p, kPage, &access_, 1));
  testing::internal::CaptureStderr();
  EXPECT_EQ(bump(p, 32), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("illegal-address"));
  cuDevicePrimaryCtxReset(device_);
  OK(cuMemGetAccess(&flags, &access_.location, p)) << "it belongs to no context, and is there behind a reset";
  OK(cuMemUnmap(p, kPage));
  OK(cuMemRelease(h));
  OK(cuMemAddressFree(p, 2 * kPage));
}

TEST_F(VirtualMemory, WhatAPointerIs) {
  const CUdeviceptr p = reserved(8 * kPage);
  fill(p, kPage);
  fill(p + kPage, 2 * kPage);
  const auto ask = [&](CUpointer_attribute attribute) {
    size_t value = 0;
    EXPECT_EQ(cuPointerGetAttribute(&value, attribute, p + kPage + 8), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), p);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE), 8 * kPage);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR), p + kPage);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_MAPPING_SIZE), 2 * kPage);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE), size_t(CU_MEMORYTYPE_DEVICE));
  CUdeviceptr base = 0;
  size_t size = 0;
  OK(cuMemGetAddressRange(&base, &size, p + kPage + 8));
  EXPECT_EQ(base, p + kPage);
  EXPECT_EQ(size, 2 * kPage);
  EXPECT_EQ(cuMemFree(p), CUDA_ERROR_INVALID_VALUE) << "no allocation of cuMemAlloc";
  OK(cuMemUnmap(p, 3 * kPage));
  OK(cuMemAddressFree(p, 8 * kPage));
}

TEST_F(VirtualMemory, WrongMemory) {
  CUmemGenericAllocationHandle h = 0;
  EXPECT_THAT(said([&] { return cuMemCreate(&h, kMiB, &properties_, 0); }), HasSubstr("no multiple of 2097152"));
  EXPECT_THAT(said([&] { return cuMemCreate(&h, 0, &properties_, 0); }), HasSubstr("no multiple"));
  EXPECT_EQ(cuMemCreate(&h, kPage, &properties_, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(nullptr, kPage, &properties_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&h, kPage, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&h, size_t(1) << 50, &properties_, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemCreate(&h, ~size_t(0) / kPage * kPage, &properties_, 0), CUDA_ERROR_OUT_OF_MEMORY);
  auto other = properties_;
  other.location.id = 1;
  EXPECT_EQ(cuMemCreate(&h, kPage, &other, 0), CUDA_ERROR_INVALID_DEVICE);
  other = properties_;
  other.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  EXPECT_THAT(said([&] { return cuMemCreate(&h, kPage, &other, 0); }), HasSubstr("CU_MEM_ALLOCATION_TYPE_PINNED"));
  other = properties_;
  other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_EQ(cuMemCreate(&h, kPage, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
  other = properties_;
  other.location.type = CU_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(cuMemCreate(&h, kPage, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemRetainAllocationHandle(&h, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemory, WrongAddresses) {
  CUdeviceptr p = 0;
  EXPECT_THAT(said([&] { return cuMemAddressReserve(&p, 0, 0, 0, 0); }), HasSubstr("a size is a multiple of 2097152"));
  EXPECT_EQ(cuMemAddressReserve(&p, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&p, 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&p, kPage, 3 * kPage, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&p, kPage, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&p, kPage, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&p, size_t(1) << 60, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuMemAddressReserve(&p, kPage, 64 * kPage, 0, 0));
  EXPECT_EQ(p % (64 * kPage), 0u);
  EXPECT_THAT(said([&] { return cuMemAddressFree(p, 2 * kPage); }),
              HasSubstr("no range that cuMemAddressReserve gave"));
  fill(p, kPage);
  EXPECT_THAT(said([&] { return cuMemAddressFree(p, kPage); }), HasSubstr("memory is still mapped in the"));
  OK(cuMemUnmap(p, kPage));
  OK(cuMemAddressFree(p, kPage));
  EXPECT_EQ(cuMemAddressFree(p, kPage), CUDA_ERROR_INVALID_VALUE);
}

// The codes are those of an H200 (driver 580, 2026-11-28), but for access for reading alone, which it takes.
TEST_F(VirtualMemory, WrongMappings) {
  constexpr CUresult kNot = CUDA_ERROR_NOT_SUPPORTED;
  const CUdeviceptr p = reserved(6 * kPage);
  const auto h = created(2 * kPage);
  EXPECT_THAT(said([&] { return cuMemMap(p, kMiB, 0, h, 0); }, kNot), HasSubstr("both are multiples of 2097152"));
  EXPECT_EQ(cuMemMap(p + kMiB, kPage, 0, h, 0), kNot);
  EXPECT_EQ(cuMemMap(p, kPage, kPage, h, 0), kNot) << "an offset, which has to be 0";
  EXPECT_EQ(cuMemMap(p, kPage, 0, h, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(said([&] { return cuMemMap(p, 3 * kPage, 0, h, 0); }, kNot), HasSubstr("mapped of memory that has"));
  EXPECT_THAT(said([&] { return cuMemMap(p, kPage, 0, h + 1000, 0); }), HasSubstr("no live handle"));
  EXPECT_THAT(said([&] { return cuMemMap(p + 5 * kPage, 2 * kPage, 0, h, 0); }, kNot),
              HasSubstr("are addresses that cuMemAddressReserve gave"));
  OK(cuMemMap(p + kPage, 2 * kPage, 0, h, 0));
  EXPECT_THAT(said([&] { return cuMemMap(p, 2 * kPage, 0, h, 0); }, kNot), HasSubstr("memory is mapped already"));
  EXPECT_EQ(cuMemMap(p + 2 * kPage, kPage, 0, h, 0), kNot);
  EXPECT_THAT(said([&] { return cuMemSetAccess(p + kPage, kPage, &access_, 1); }),
              HasSubstr("a mapping is in them in part"));
  EXPECT_EQ(cuMemSetAccess(p + 3 * kPage, kPage, &access_, 1), CUDA_ERROR_INVALID_VALUE) << "nothing is mapped there";
  EXPECT_EQ(cuMemSetAccess(p + kPage, 2 * kPage, &access_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemSetAccess(p + kPage, 2 * kPage, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  auto other = access_;
  other.location.id = 1;
  EXPECT_EQ(cuMemSetAccess(p + kPage, 2 * kPage, &other, 1), CUDA_ERROR_INVALID_VALUE);
  other = access_;
  other.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  EXPECT_EQ(cuMemSetAccess(p + kPage, 2 * kPage, &other, 1), kNot);
  OK(cuMemMap(p + 4 * kPage, kPage, 0, h, 0));
  OK(cuMemSetAccess(p, 6 * kPage, &access_, 1)) << "with holes";
  OK(cuMemsetD8(p + 4 * kPage, 0, kPage));
  EXPECT_EQ(cuMemsetD8(p + 3 * kPage, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(said([&] { return cuMemUnmap(p + kPage, kPage); }), HasSubstr("a mapping is in them in part"));
  OK(cuMemUnmap(p, kPage)) << "nothing is mapped there";
  OK(cuMemUnmap(p, 6 * kPage));
  OK(cuMemRelease(h));
  OK(cuMemAddressFree(p, 6 * kPage));
}

}  // namespace
