// Stands in for NVIDIA's runtime in the tests of GEN5_DEVICE: says who it is when a program registers with it.
#include <cstdio>
#include <cstdlib>

extern "C" void** __cudaRegisterFatBinary(void*) {
  std::puts("NVIDIA's runtime");
  std::exit(0);
}
#define UNUSED(name) \
  extern "C" int name() { return 0; }
UNUSED(__cudaRegisterFatBinaryEnd)
UNUSED(__cudaUnregisterFatBinary)
UNUSED(__cudaRegisterFunction)
UNUSED(__cudaPushCallConfiguration)
UNUSED(__cudaPopCallConfiguration)
UNUSED(__cudaGetKernel)
UNUSED(__cudaInitModule)
UNUSED(__cudaLaunchKernel)
UNUSED(cudaMalloc)
UNUSED(cudaMemcpy)
UNUSED(cudaGetErrorName)
UNUSED(cudaGetLastError)
