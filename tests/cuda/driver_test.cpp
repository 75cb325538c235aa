// The driver API: contexts, modules from PTX with the JIT log, launches, functions by name.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <vector>

#include "tests/cuda/primary_context.h"

namespace {

using testing::HasSubstr;

constexpr const char* kPtx = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .global .align 4 .u32 scale = 3;
.visible .entry times(.param .u64 p, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
  ld.global.u32 %r7, [scale];
  mul.lo.s32 %r6, %r6, %r7;
  st.global.u32 [%rd3], %r6;
done:
  ret;
}
.visible .entry ranks(.param .u64 p)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %cluster_ctarank;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

using Driver = PrimaryContext;

TEST(DriverBefore, NothingWorksBeforeInit) {
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  int version = 0;
  OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
}

TEST(DriverBefore, MemoryNeedsAContext) {
  OK(cuInit(0));
  CUdeviceptr p = 0;
  EXPECT_EQ(cuMemAlloc(&p, 16), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Driver, Contexts) {
  CUcontext own = nullptr, now = nullptr;
  OK(cuCtxCreate(&own, nullptr, 0, device_));
  OK(cuCtxGetCurrent(&now));
  EXPECT_EQ(now, own);
  OK(cuCtxPushCurrent(context_));
  OK(cuCtxGetCurrent(&now));
  EXPECT_EQ(now, context_);
  OK(cuCtxPopCurrent(&now));
  EXPECT_EQ(now, context_);
  OK(cuCtxDestroy(own));
  EXPECT_EQ(cuCtxPushCurrent(own), CUDA_ERROR_INVALID_CONTEXT);
  CUdevice which = -1;
  OK(cuCtxGetDevice(&which));
  EXPECT_EQ(which, 0);
  EXPECT_EQ(cuDeviceGet(&which, 1), CUDA_ERROR_INVALID_DEVICE);
  unsigned flags = 0;
  int active = 0;
  OK(cuDevicePrimaryCtxGetState(device_, &flags, &active));
  EXPECT_EQ(active, 1);
}

TEST_F(Driver, PtxModule) {
  CUmodule m;
  CUfunction f;
  OK(cuModuleLoadData(&m, kPtx));
  OK(cuModuleGetFunction(&f, m, "times"));
  EXPECT_EQ(cuModuleGetFunction(&f, m, "nothing"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr scale;
  size_t size = 0;
  OK(cuModuleGetGlobal(&scale, &size, m, "scale"));
  EXPECT_EQ(size, 4u);
  OK(cuMemsetD32(scale, 5, 1));
  std::vector<unsigned> values(100);
  std::iota(values.begin(), values.end(), 0u);
  CUdeviceptr p;
  OK(cuMemAlloc(&p, 400));
  OK(cuMemcpyHtoD(p, values.data(), 400));
  unsigned n = 100;
  void* args[] = {&p, &n};
  OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr));
  struct {
    CUdeviceptr p;
    unsigned n;
  } packed{p, 100};
  size_t bytes = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  OK(cuCtxSynchronize());
  OK(cuMemcpyDtoH(values.data(), p, 400));
  for (unsigned i = 0; i < 100; ++i) ASSERT_EQ(values[i], i * 25);
  unsigned count = 0;
  OK(cuModuleGetFunctionCount(&count, m));
  EXPECT_EQ(count, 2u);
  size_t offset = 0;
  OK(cuFuncGetParamInfo(f, 1, &offset, &size));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(cuFuncGetParamInfo(f, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr), CUDA_ERROR_INVALID_VALUE);
  OK(cuModuleUnload(m));
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, LibraryAndClusterLaunch) {
  CUlibrary l;
  CUkernel k;
  OK(cuLibraryLoadData(&l, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryGetKernel(&k, l, "ranks"));
  CUdeviceptr p;
  OK(cuMemAlloc(&p, 64));
  CUlaunchAttribute a;
  a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  a.value.clusterDim = {4, 1, 1};
  CUlaunchConfig c = {};
  c.gridDimX = 8;
  c.gridDimY = c.gridDimZ = c.blockDimY = c.blockDimZ = 1;
  c.blockDimX = 32;
  c.attrs = &a;
  c.numAttrs = 1;
  void* args[] = {&p};
  OK(cuLaunchKernelEx(&c, reinterpret_cast<CUfunction>(k), args, nullptr));
  unsigned ranks[8];
  OK(cuMemcpyDtoH(ranks, p, 32));
  EXPECT_THAT(ranks, testing::ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  CUmodule m;
  OK(cuLibraryGetModule(&m, l));
  CUfunction f;
  OK(cuModuleGetFunction(&f, m, "times"));
  int value = 0;
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
  EXPECT_EQ(value, 1024);
  OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
  EXPECT_EQ(value, 200000);
  int grid = 0, block = 0;
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, nullptr, 0, 0));
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * 148);
  OK(cuLibraryUnload(l));
}

CUresult load_with_log(const char* text, std::string& log, uintptr_t& used) {
  char buffer[2048] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {buffer, reinterpret_cast<void*>(sizeof buffer)};
  CUmodule m;
  const CUresult e = cuModuleLoadDataEx(&m, text, 2, options, values);
  log = buffer;
  used = reinterpret_cast<uintptr_t>(values[1]);
  return e;
}

TEST_F(Driver, JitLogHoldsTheDiagnosis) {
  std::string text = kPtx, log;
  uintptr_t used = 0;
  text.replace(text.find("mul.lo.s32"), 10, "mul.lo.q32");
  EXPECT_EQ(load_with_log(text.c_str(), log, used), CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(log, HasSubstr("22:9: error:"));  // where the mistake stands
  EXPECT_EQ(used, log.size());
  EXPECT_EQ(load_with_log(kPtx, log, used), CUDA_SUCCESS);
  EXPECT_EQ(log, "");
}

TEST_F(Driver, WrongTargetAndWrongImages) {
  std::string text = kPtx, log;
  uintptr_t used = 0;
  text.replace(text.find("sm_100a"), 7, "sm_90a ");
  EXPECT_EQ(load_with_log(text.c_str(), log, used), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_THAT(log, HasSubstr("the PTX is for sm_90a, and the machine b200 is sm_100"));
  text = kPtx;
  text.replace(text.find("sm_100a"), 7, "sm_80  ");
  EXPECT_EQ(load_with_log(text.c_str(), log, used), CUDA_SUCCESS);
  EXPECT_EQ(load_with_log("int main() {}                                   ", log, used), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load_with_log("\x7f"
                          "ELF                                     ",
                          log, used),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_THAT(log, HasSubstr("a cubin was given, and tinygpu runs PTX"));
  CUmodule m;
  EXPECT_EQ(cuModuleLoad(&m, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(Driver, FatbinImagesAndFiles) {
  for (const char* mode : {"size", "speed", "none"}) {
    const std::string path = std::string(TEST_DATA) + "/tiny_" + mode + ".fatbin";
    CUmodule from_file, from_memory;
    OK(cuModuleLoad(&from_file, path.c_str()));
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
    OK(cuModuleLoadFatBinary(&from_memory, bytes.data()));
    CUdeviceptr p;
    OK(cuMemAlloc(&p, 4));
    void* args[] = {&p};
    for (CUmodule m : {from_file, from_memory}) {
      OK(cuMemsetD32(p, 0, 1));
      CUfunction f;
      OK(cuModuleGetFunction(&f, m, "tiny"));
      int registers = 0;
      OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
      EXPECT_EQ(registers, 8);  // ptxas' number, from the cubin beside the PTX
      OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
      int got = 0;
      OK(cuMemcpyDtoH(&got, p, 4));
      EXPECT_EQ(got, 42);
    }
  }
}

TEST_F(Driver, MemoryCalls) {
  CUdeviceptr a, b;
  size_t pitch = 0;
  OK(cuMemAlloc(&a, 1000));
  OK(cuMemAllocPitch(&b, &pitch, 100, 10, 4));
  OK(cuMemsetD8(a, 0x11, 1000));
  OK(cuMemsetD16(a, 0x2222, 10));
  OK(cuMemsetD32Async(a + 20, 0x33333333, 5, nullptr));
  EXPECT_EQ(cuMemsetD32(a + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  unsigned char bytes[64];
  OK(cuMemcpyDtoHAsync(bytes, a, 64, nullptr));
  EXPECT_EQ(bytes[19], 0x22);
  EXPECT_EQ(bytes[20], 0x33);
  EXPECT_EQ(bytes[40], 0x11);
  CUDA_MEMCPY2D p = {};
  p.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = a;
  p.srcPitch = 100;
  p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.dstDevice = b;
  p.dstPitch = pitch;
  p.WidthInBytes = 100;
  p.Height = 10;
  OK(cuMemcpy2D(&p));
  OK(cuMemcpyDtoH(bytes, b + pitch, 4));
  EXPECT_EQ(bytes[0], 0x11);
  CUdeviceptr base;
  size_t size;
  OK(cuMemGetAddressRange(&base, &size, a + 500));
  EXPECT_EQ(base, a);
  EXPECT_EQ(size, 1000u);
  unsigned type = 0;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(cuMemcpyHtoD(a + 990, bytes, 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(a + 1), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemFree(a));
  OK(cuMemFree(b));
}

TEST_F(Driver, StreamsAndEvents) {
  CUstream s;
  CUevent a, b;
  OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&a, 0));
  OK(cuEventCreate(&b, 0));
  CUdeviceptr p;
  OK(cuMemAlloc(&p, 1 << 20));
  OK(cuEventRecord(a, s));
  OK(cuMemsetD8Async(p, 0, 1 << 20, s));
  OK(cuEventRecord(b, s));
  OK(cuStreamWaitEvent(s, b, 0));
  OK(cuStreamSynchronize(s));
  float ms = -1;
  OK(cuEventElapsedTime(&ms, a, b));
  EXPECT_GT(ms, 0);
  OK(cuStreamDestroy(s));
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, FunctionsByName) {
  void* p = nullptr;
  CUdriverProcAddressQueryResult status;
  OK(cuGetProcAddress("cuMemAlloc", &p, 13000, 0, &status));
  CUdeviceptr memory = 0;
  OK(reinterpret_cast<decltype(&cuMemAlloc)>(p)(&memory, 16));
  OK(cuGetProcAddress("cuEventElapsedTime", &p, 12000, 0, &status));
  void* newer = nullptr;
  OK(cuGetProcAddress("cuEventElapsedTime", &newer, 12080, 0, &status));
  EXPECT_NE(p, newer);
  EXPECT_EQ(cuGetProcAddress("cuNothing", &p, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  const char* text = nullptr;
  OK(cuGetErrorName(CUDA_ERROR_INVALID_PTX, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_PTX");
  OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(CUresult(54321), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, TensorMapsNameTheWrongParameter) {
  CUtensorMap map;
  CUdeviceptr p;
  OK(cuMemAlloc(&p, 1 << 16));
  const cuuint64_t dims[] = {64, 64}, strides[] = {128};
  const cuuint32_t box[] = {64, 300}, steps[] = {1, 1};
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, reinterpret_cast<void*>(p), dims, strides,
                                   box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cuTensorMapEncodeTiled: boxDim[1] is 300"));
}

}  // namespace
