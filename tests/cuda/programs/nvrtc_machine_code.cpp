// Compiles CUDA for the very device at run time, as NVRTC's users do, and loads the machine code.
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

bool check(int code, const char* what) {
  if (code) std::printf("%s: %d\n", what, code);
  return code == 0;
}
#define CHECK(call) \
  if (!check(int(call), #call)) return 1

}  // namespace

int main() {
  CHECK(cuInit(0));
  CUdevice device;
  CUcontext context;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  int major = 0, minor = 0;
  CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  const std::string arch = "--gpu-architecture=sm_" + std::to_string(major * 10 + minor);
  const char* options[] = {arch.c_str()};
  nvrtcProgram program;
  CHECK(nvrtcCreateProgram(&program, "extern \"C\" __global__ void k(int* p) { p[threadIdx.x] = 3 * threadIdx.x; }",
                           "k.cu", 0, nullptr, nullptr));
  CHECK(nvrtcCompileProgram(program, 1, options));
  size_t bytes = 0;
  CHECK(nvrtcGetCUBINSize(program, &bytes));
  std::vector<char> image(bytes);
  CHECK(nvrtcGetCUBIN(program, image.data()));
  CUmodule module;
  CHECK(cuModuleLoadData(&module, image.data()));
  CUfunction k;
  CHECK(cuModuleGetFunction(&k, module, "k"));
  CUdeviceptr p;
  CHECK(cuMemAlloc(&p, 128));
  void* parameters[] = {&p};
  CHECK(cuLaunchKernel(k, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  int out[32];
  CHECK(cuMemcpyDtoH(out, p, 128));
  for (int i = 0; i < 32; ++i)
    if (out[i] != 3 * i) return 2;
  std::puts("compiled for the device");
}
