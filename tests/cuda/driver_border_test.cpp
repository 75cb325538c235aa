// The border of the driver API: sizes that overflow, images and files that lie, handles that are dead. Whatever comes
// in, the answer is an error of CUDA's, never a crash, a hang, or success for what was not done.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/primary_context.h"

namespace {

using testing::HasSubstr;

constexpr size_t kMost = ~size_t(0);

constexpr const char* kPtx = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .global .align 4 .u32 counter = 5;
.visible .entry bump(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.global.u32 %r1, [counter]; add.u32 %r2, %r1, 1; st.global.u32 [counter], %r2; st.global.u32 [%rd1], %r2;
  ret;
}
.visible .entry fall() {
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 0; st.global.u32 [%rd1], 1;
  ret;
}
)";

/// Prints "line\n" n times.
constexpr const char* kPrinter = R"(.version 9.0
.target sm_100a
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 line[6] = {108, 105, 110, 101, 10, 0};
.visible .entry flood(.param .u32 n) {
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>;
  ld.param.u32 %r1, [n]; mov.u64 %rd1, line; cvta.global.u64 %rd2, %rd1;
L: { .param .b64 a0; st.param.b64 [a0], %rd2; .param .b64 a1; st.param.b64 [a1], 0; .param .b32 r0;
  call.uni (r0), vprintf, (a0, a1); ld.param.b32 %r2, [r0]; }
  sub.u32 %r1, %r1, 1; setp.ne.u32 %p, %r1, 0; @%p bra L;
  ret;
}
)";

class Border : public PrimaryContext {
 protected:
  void SetUp() override {
    PrimaryContext::SetUp();
    OK(cuMemAlloc(&d_, 4096));
    OK(cuMemsetD8(d_, 0x11, 4096));
  }
  CUdeviceptr d_ = 0;
  char h_[4096] = {};
};

/// Bytes that end where memory ends: one byte further is SIGSEGV.
class AtAPagesEnd {
 public:
  explicit AtAPagesEnd(const std::string& bytes) : length_((bytes.size() / kPage + 2) * kPage) {
    base_ = static_cast<char*>(mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + length_ - kPage, kPage, PROT_NONE);
    at_ = base_ + length_ - kPage - bytes.size();
    std::memcpy(at_, bytes.data(), bytes.size());
  }
  ~AtAPagesEnd() { munmap(base_, length_); }
  AtAPagesEnd(const AtAPagesEnd&) = delete;
  AtAPagesEnd& operator=(const AtAPagesEnd&) = delete;
  const char* get() const { return at_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t length_;
  char *base_, *at_;
};

std::string fatbin(const std::string& mode) {
  std::ifstream in(std::string(TEST_DATA) + "/tiny_" + mode + ".fatbin", std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

TEST_F(Border, CopiesWhoseSizesOverflow) {
  for (const size_t n : {kMost, kMost - 4095, size_t(1) << 63, size_t(4097)}) {
    EXPECT_EQ(cuMemcpyHtoD(d_, h_, n), CUDA_ERROR_INVALID_VALUE) << n;
    EXPECT_EQ(cuMemcpyDtoH(h_, d_, n), CUDA_ERROR_INVALID_VALUE) << n;
    EXPECT_EQ(cuMemcpyDtoD(d_, d_ + 8, n), CUDA_ERROR_INVALID_VALUE) << n;
    EXPECT_EQ(cuMemcpy(d_ + 8, d_, n), CUDA_ERROR_INVALID_VALUE) << n;
    EXPECT_EQ(cuMemsetD8(d_ + 8, 0, n), CUDA_ERROR_INVALID_VALUE) << n;
    EXPECT_EQ(cuMemsetD16(d_, 0, n), CUDA_ERROR_INVALID_VALUE) << n;
    EXPECT_EQ(cuMemsetD32(d_, 0, n), CUDA_ERROR_INVALID_VALUE) << n;
  }
  EXPECT_EQ(cuMemsetD32(d_, 0, size_t(1) << 62), CUDA_ERROR_INVALID_VALUE);          // 2^64 bytes
  EXPECT_EQ(cuMemsetD16(d_, 0, size_t(1) << 63), CUDA_ERROR_INVALID_VALUE);          // 2^64 bytes
  EXPECT_EQ(cuMemsetD2D8(d_, 0, 7, 16, kMost), CUDA_ERROR_INVALID_VALUE);            // rows that overlap, for ever
  EXPECT_EQ(cuMemsetD2D32(d_, 6, 7, 1, 2), CUDA_ERROR_INVALID_VALUE);                // rows that aren't aligned
  EXPECT_EQ(cuMemsetD2D8(d_, kMost, 7, 16, 2), CUDA_ERROR_INVALID_VALUE);            // the second row wraps
  EXPECT_EQ(cuMemsetD2D8(d_, size_t(1) << 62, 7, 16, 5), CUDA_ERROR_INVALID_VALUE);  // 4 pitches are 2^64
  unsigned char bytes[4096];
  OK(cuMemcpyDtoH(bytes, d_, sizeof bytes));
  for (const unsigned char b : bytes) ASSERT_EQ(b, 0x11) << "a refused call wrote";
}

TEST_F(Border, StridedCopiesThatOverflow) {
  const auto to_device = [&](auto p) {
    p.srcMemoryType = CU_MEMORYTYPE_HOST;
    p.srcHost = h_;
    p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    p.dstDevice = d_;
    p.srcPitch = p.dstPitch = p.WidthInBytes = 16;
    return p;
  };
  auto p = to_device(CUDA_MEMCPY2D{});
  p.Height = 4;
  OK(cuMemcpy2D(&p));
  const auto refuses = [](auto call, auto copy, auto change) {
    change(copy);
    return call(&copy) == CUDA_ERROR_INVALID_VALUE;
  };
  const auto refused = [&](auto change) { return refuses(cuMemcpy2D, p, change); };
  EXPECT_TRUE(refused([](auto& q) { q.dstPitch = kMost; }));
  EXPECT_TRUE(refused([](auto& q) { q.dstPitch = size_t(1) << 62, q.Height = 5; }));
  EXPECT_TRUE(refused([](auto& q) { q.srcPitch = kMost - 15; }));
  EXPECT_TRUE(refused([](auto& q) { q.Height = kMost; }));
  EXPECT_TRUE(refused([](auto& q) { q.dstY = size_t(1) << 60; }));  // 16 · 2^60 is 2^64: back at the beginning
  EXPECT_TRUE(refused([](auto& q) { q.dstXInBytes = kMost; }));
  EXPECT_TRUE(refused([](auto& q) { q.srcY = kMost; }));
  EXPECT_EQ(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
  auto c = to_device(CUDA_MEMCPY3D{});
  c.srcHeight = c.dstHeight = c.Height = 4;
  c.Depth = 2;
  OK(cuMemcpy3D(&c));
  const auto refused3 = [&](auto change) { return refuses(cuMemcpy3D, c, change); };
  EXPECT_TRUE(refused3([](auto& q) { q.dstHeight = size_t(1) << 60; }));
  EXPECT_TRUE(refused3([](auto& q) { q.dstHeight = 2; }));
  EXPECT_TRUE(refused3([](auto& q) { q.Depth = kMost; }));
  EXPECT_TRUE(refused3([](auto& q) { q.dstZ = size_t(1) << 58; }));
  EXPECT_TRUE(refused3([](auto& q) { q.dstZ = kMost; }));
  EXPECT_EQ(cuMemcpy3D(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Border, HostMemoryThatIsNotThere) {
  EXPECT_EQ(cuMemcpyHtoD(d_, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(nullptr, d_, 4), CUDA_ERROR_INVALID_VALUE);
  const AtAPagesEnd few("0123456789abcdef");
  OK(cuMemcpyHtoD(d_, few.get(), 16));
  EXPECT_EQ(cuMemcpyHtoD(d_, few.get(), 17), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(const_cast<char*>(few.get()), d_, 17), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(const_cast<char*>(kPtx), d_, 4), CUDA_ERROR_INVALID_VALUE) << "constants of the program";
  EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void*>(0x10000), 4096, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(h_, kMost, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void*>(d_), 4096, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(h_, 16, 0xffff), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(nullptr, 16, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemHostRegister(h_, sizeof h_, 0));
  EXPECT_EQ(cuMemHostRegister(h_ + 8, 8, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  OK(cuMemHostUnregister(h_));
}

TEST_F(Border, AllocationsThatOverflow) {
  CUdeviceptr p = 0;
  size_t pitch = 0;
  EXPECT_EQ(cuMemAlloc(&p, kMost), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&p, &pitch, kMost, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&p, &pitch, 1, kMost, 4), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocPitch(&p, &pitch, size_t(1) << 40, size_t(1) << 40, 4), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocPitch(&p, &pitch, 512, size_t(1) << 55, 4), CUDA_ERROR_OUT_OF_MEMORY);  // 2^64 bytes
  EXPECT_EQ(cuMemAllocPitch(&p, &pitch, 16, 16, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(d_ + 1), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemFree(d_));
  EXPECT_EQ(cuMemFree(d_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(d_, h_, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(h_), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemFreeHost(nullptr));
}

TEST_F(Border, ImagesAtAPagesEnd) {
  CUmodule m;
  for (const std::string& image :
       {std::string("\0", 1), std::string("a\0", 2), std::string("ab\0", 3), std::string("a"), std::string("abc"),
        std::string("\x50"), std::string("\x50\xed\x55"), std::string("\x50\xed\x55\xba"), std::string("\xb1\x43\x62"),
        std::string("\xb1\x43\x62\x46"),
        std::string("\x7f"
                    "EL"),
        std::string(".version 9.0\n.target sm_100a\n")})
    EXPECT_EQ(cuModuleLoadData(&m, AtAPagesEnd(image).get()), CUDA_ERROR_INVALID_IMAGE)
        << testing::PrintToString(image);
  const std::string whole = fatbin("size");
  for (size_t n = 1; n < whole.size(); n += 37)
    ASSERT_EQ(cuModuleLoadFatBinary(&m, AtAPagesEnd(whole.substr(0, n)).get()), CUDA_ERROR_INVALID_IMAGE) << n;
  OK(cuModuleLoadFatBinary(&m, AtAPagesEnd(whole).get()));
  EXPECT_EQ(cuModuleLoadData(&m, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(nullptr, kPtx), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(&m, reinterpret_cast<void*>(0x10000)), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadDataEx(&m, kPtx, 3, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Border, WrappersThatLie) {
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void *data = nullptr, *list = nullptr;
  } w;
  CUmodule m;
  EXPECT_EQ(cuModuleLoadData(&m, &w), CUDA_ERROR_INVALID_IMAGE);
  w.data = reinterpret_cast<void*>(0x10000);
  EXPECT_EQ(cuModuleLoadData(&m, &w), CUDA_ERROR_INVALID_IMAGE);
  const std::string good = fatbin("size");
  std::string pointers;
  for (int i = 0; i < 3; ++i) {
    const char* p = good.data();
    pointers.append(reinterpret_cast<const char*>(&p), sizeof p);
  }
  const AtAPagesEnd endless(pointers);
  w.version = 2;
  w.list = endless.get();
  EXPECT_EQ(cuModuleLoadData(&m, &w), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(Border, FilesThatAreNone) {
  CUmodule m;
  const std::string folder = testing::TempDir() + "/border_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string pipe = folder + "/pipe", file = folder + "/file";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/zero"), std::string("/"), folder, pipe, std::string()}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuModuleLoad(&m, path.c_str()), CUDA_ERROR_FILE_NOT_FOUND) << path;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cannot read " + path));
  }
  EXPECT_EQ(cuModuleLoad(&m, nullptr), CUDA_ERROR_INVALID_VALUE);
  const auto load = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return cuModuleLoad(&m, file.c_str());
  };
  const std::string whole = fatbin("size");
  for (size_t n = 0; n < whole.size(); n += 97) EXPECT_EQ(load(whole.substr(0, n)), CUDA_ERROR_INVALID_IMAGE) << n;
  EXPECT_EQ(load(whole), CUDA_SUCCESS);
  EXPECT_EQ(load(kPtx), CUDA_SUCCESS);
  EXPECT_EQ(load(""), CUDA_ERROR_INVALID_IMAGE);
  // A wrapper holds addresses: in a file they point nowhere.
  EXPECT_EQ(load(std::string("\xb1\x43\x62\x46\1\0\0\0", 8) + std::string(16, 'x')), CUDA_ERROR_INVALID_IMAGE);
  std::filesystem::remove_all(folder);
}

TEST_F(Border, LaunchParameters) {
  CUmodule m;
  CUfunction f;
  OK(cuModuleLoadData(&m, kPtx));
  OK(cuModuleGetFunction(&f, m, "bump"));
  const auto with = [&](void** args, void** extra) {
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, extra);
  };
  size_t size = 8;
  void* null_size[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &d_, CU_LAUNCH_PARAM_BUFFER_SIZE, nullptr, CU_LAUNCH_PARAM_END};
  void* null_buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, nullptr, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                         CU_LAUNCH_PARAM_END};
  void* unknown[] = {reinterpret_cast<void*>(77), &d_, CU_LAUNCH_PARAM_END};
  void* nothing[] = {CU_LAUNCH_PARAM_END};
  void* good[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &d_, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  void *null_arg[] = {nullptr}, *args[] = {&d_};
  for (void** extra : {null_size, null_buffer, unknown, nothing})
    EXPECT_EQ(with(nullptr, extra), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(null_arg, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(args, good), CUDA_ERROR_INVALID_VALUE) << "both forms at once";
  OK(with(nullptr, good));
  size = 7;
  EXPECT_EQ(with(nullptr, good), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 0x10000, 0x10000, 0x10000, 0, nullptr, args, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, ~0u, nullptr, args, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUlaunchAttribute a = {};
  a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  CUlaunchConfig c = {};
  c.gridDimX = c.gridDimY = c.gridDimZ = c.blockDimX = c.blockDimY = c.blockDimZ = 1;
  c.numAttrs = 1;
  EXPECT_EQ(cuLaunchKernelEx(&c, f, args, nullptr), CUDA_ERROR_INVALID_VALUE) << "an attribute, but no array";
  c.attrs = &a;
  a.value.clusterDim = {0x80000000u, 0x80000000u, 4};  // 2^64 CTAs
  EXPECT_EQ(cuLaunchKernelEx(&c, f, args, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  a.value.clusterDim = {0, 1, 1};
  EXPECT_EQ(cuLaunchKernelEx(&c, f, args, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  int n = -1;
  c.blockDimX = c.blockDimY = 0x10000;  // 2^32 threads
  EXPECT_NE(cuOccupancyMaxActiveClusters(&n, f, &c), CUDA_SUCCESS);
  c.numAttrs = 0;
  OK(cuOccupancyMaxActiveClusters(&n, f, &c));
  EXPECT_EQ(n, 0);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, -1, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 32, kMost));
  EXPECT_EQ(n, 0);
  int grid = 0, block = 0;
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, nullptr, 0, 0x7fffffff));
  EXPECT_EQ(block, 1024);
}

TEST_F(Border, DeclaredBlocksThatOverflow) {
  // What stands in the kernel's header is multiplied, and divided by: 65536 · 65536 is 2^32.
  for (const char* header : {".maxntid 65536, 65536, 1", ".maxntid 1024, 1, 1 .minnctapersm 4194304",
                             ".maxntid 32, 1, 1 .minnctapersm 4294967295", ".maxntid 2097152, 2097152, 4194304"}) {
    const std::string text =
        std::string(".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() ") + header + " { ret; }\n";
    CUmodule m;
    CUfunction f;
    if (cuModuleLoadData(&m, text.c_str()) != CUDA_SUCCESS) continue;  // refused: as good
    OK(cuModuleGetFunction(&f, m, "k"));
    int value = 0;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    EXPECT_LE(value, 1024) << header;
    EXPECT_GT(value, 0) << header;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  }
}

TEST_F(Border, ParametersThatNoKernelMayHave) {
  for (const char* size : {"32765", "40000", "4294967296", "4294967297", "18446744073709551615"}) {
    const std::string text =
        std::string(".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .b8 p[") + size +
        "]) { ret; }\n";
    CUmodule m;
    CUfunction f;
    if (cuModuleLoadData(&m, text.c_str()) != CUDA_SUCCESS) continue;  // refused: as good
    OK(cuModuleGetFunction(&f, m, "k"));
    std::vector<char> bytes(65536);
    void* args[] = {bytes.data()};
    EXPECT_NE(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), CUDA_SUCCESS) << size;
  }
  CUmodule m;
  CUfunction f;
  OK(cuModuleLoadData(&m, ".version 9.0\n.target sm_100a\n.visible .entry k(.param .b8 p[32764]) { ret; }\n"));
  OK(cuModuleGetFunction(&f, m, "k"));
  std::vector<char> bytes(32764);
  void* args[] = {bytes.data()};
  OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
}

TEST_F(Border, DeadHandles) {
  CUstream s;
  CUevent e;
  CUmodule m;
  CUfunction f;
  OK(cuStreamCreate(&s, 0));
  OK(cuEventCreate(&e, 0));
  OK(cuModuleLoadData(&m, kPtx));
  OK(cuModuleGetFunction(&f, m, "bump"));
  OK(cuStreamDestroy(s));
  OK(cuEventDestroy(e));
  OK(cuModuleUnload(m));
  EXPECT_EQ(cuStreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemcpyHtoDAsync(d_, h_, 4, s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemAllocAsync(&d_, 4, s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(e), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(e, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, e, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleGetFunction(&f, m, "bump"), CUDA_ERROR_INVALID_HANDLE);
  unsigned count = 0;
  EXPECT_EQ(cuModuleGetFunctionCount(&count, m), CUDA_ERROR_INVALID_HANDLE);
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuPointerGetAttributes(2, nullptr, nullptr, d_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&e, 0xffff), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(&s, 0xffff), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Border, AContextThatAnotherThreadDestroyed) {
  CUcontext own = nullptr;
  OK(cuCtxCreate(&own, nullptr, 0, 0));
  std::thread([&] { EXPECT_EQ(cuCtxDestroy(own), CUDA_SUCCESS); }).join();
  unsigned flags = 0;
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUdeviceptr p = 0;
  EXPECT_EQ(cuMemAlloc(&p, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxPopCurrent(nullptr));
  OK(cuMemAlloc(&p, 16));
}

TEST_F(Border, ResetEndsAFaultAndEverythingWithIt) {
  CUmodule m;
  CUlibrary l;
  CUfunction fall;
  CUkernel bump;
  OK(cuModuleLoadData(&m, kPtx));
  OK(cuModuleGetFunction(&fall, m, "fall"));
  OK(cuLibraryLoadData(&l, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryGetKernel(&bump, l, "bump"));
  const auto bumped = [&](CUdeviceptr p) {
    void* args[] = {&p};
    unsigned value = 0;
    EXPECT_EQ(cuLaunchKernel(reinterpret_cast<CUfunction>(bump), 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(&value, p, 4), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(bumped(d_), 6u);
  EXPECT_EQ(bumped(d_), 7u);
  CUstream s;
  CUevent e;
  OK(cuStreamCreate(&s, 0));
  OK(cuEventCreate(&e, 0));
  OK(cuLaunchKernel(fall, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr p = 0;
  EXPECT_EQ(cuMemAlloc(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  OK(cuDevicePrimaryCtxReset(0));
  OK(cuCtxSynchronize());
  EXPECT_EQ(cuMemFree(d_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
  size_t free = 0, total = 0;
  OK(cuMemGetInfo(&free, &total));
  EXPECT_EQ(free, total);
  OK(cuMemAlloc(&p, 16));
  EXPECT_EQ(bumped(p), 6u) << "a library outlives its context; its variables begin anew";
  OK(cuLibraryUnload(l));
}

TEST_F(Border, TheLastContextTakesTheMemoryWithIt) {
  OK(cuDevicePrimaryCtxRelease(0));
  OK(cuDevicePrimaryCtxRetain(&context_, 0));
  EXPECT_EQ(cuMemFree(d_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Border, AFloodOfPrintfIsWrittenOutAndNotKept) {
  CUmodule m;
  CUfunction f;
  OK(cuModuleLoadData(&m, kPrinter));
  OK(cuModuleGetFunction(&f, m, "flood"));
  unsigned lines = 300000;  // of 5 bytes: one and a half times what the FIFO has
  void* args[] = {&lines};
  testing::internal::CaptureStdout();
  OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
  void* pinned = nullptr;
  OK(cuMemAllocHost(&pinned, 16));  // the kernel runs first, but what it has printed need not be shown yet
  const size_t early = testing::internal::GetCapturedStdout().size();
  EXPECT_GT(early, 1000000u);
  EXPECT_LT(early, 1500000u);
  testing::internal::CaptureStdout();
  OK(cuCtxSynchronize());
  EXPECT_EQ(early + testing::internal::GetCapturedStdout().size(), 1500000u);
  OK(cuMemFreeHost(pinned));
}

TEST_F(Border, Limits) {
  size_t value = 0;
  OK(cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE));
  EXPECT_EQ(value, size_t(1) << 20);
  OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1));
  OK(cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE));
  EXPECT_EQ(value, 524288u);  // an H100's driver does the same
  EXPECT_EQ(cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetLimit(CUlimit(99), 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
}

}  // namespace
