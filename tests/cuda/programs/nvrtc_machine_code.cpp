// Compiles CUDA for the very device at run time, as NVRTC's users do, and loads the machine code.
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/cuda/programs/made_code.h"

int main() {
  int capability = 0;
  if (const int code = use_device(capability)) return code;
  const std::string arch = "--gpu-architecture=sm_" + std::to_string(capability);
  const char* options[] = {arch.c_str()};
  nvrtcProgram program;
  CHECK(nvrtcCreateProgram(&program, "extern \"C\" __global__ void k(int* p) { p[threadIdx.x] = 3 * threadIdx.x; }",
                           "k.cu", 0, nullptr, nullptr));
  CHECK(nvrtcCompileProgram(program, 1, options));
  size_t bytes = 0;
  CHECK(nvrtcGetCUBINSize(program, &bytes));
  std::vector<char> image(bytes);
  CHECK(nvrtcGetCUBIN(program, image.data()));
  if (const int code = run_kernel(image.data(), 3)) return code;
  std::puts("compiled for the device");
}
