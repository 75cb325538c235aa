// What programs that make their code at run time share: the device that it is for, and a run of its kernel.
#pragma once
#include <cuda.h>

#include <cstdio>

inline bool check(int code, const char* what) {
  if (code) std::printf("%s: %d\n", what, code);
  return code == 0;
}
#define CHECK(call) \
  if (!check(int(call), #call)) return 1

/// Makes the first device's context current. `capability`: 100 of a B200. Returns 0, or what main() shall return.
inline int use_device(int& capability) {
  CHECK(cuInit(0));
  CUdevice device;
  CUcontext context;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  int major = 0, minor = 0;
  CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  capability = major * 10 + minor;
  return 0;
}

/// Loads the image and runs its kernel k by 32 threads, each of which shall write its number times `factor`. Returns 0,
/// or what main() shall return.
inline int run_kernel(const void* image, int factor) {
  CUmodule module;
  CHECK(cuModuleLoadData(&module, image));
  CUfunction k;
  CHECK(cuModuleGetFunction(&k, module, "k"));
  CUdeviceptr p;
  CHECK(cuMemAlloc(&p, 128));
  void* parameters[] = {&p};
  CHECK(cuLaunchKernel(k, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  int out[32];
  CHECK(cuMemcpyDtoH(out, p, 128));
  for (int i = 0; i < 32; ++i)
    if (out[i] != factor * i) return 2;
  return 0;
}
