// Compiles two pieces of CUDA at run time, links them by nvJitLink with link-time optimisation, and runs the PTX. With
// the argument cubin it asks for machine code instead.
#include <nvJitLink.h>
#include <nvrtc.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda/programs/made_code.h"

namespace {

std::vector<char> ltoir_of(const char* source, const std::string& arch) {
  nvrtcProgram p;
  nvrtcCreateProgram(&p, source, "piece.cu", 0, nullptr, nullptr);
  const std::string flag = "-arch=" + arch;
  const char* options[] = {flag.c_str(), "-dlto", "-rdc=true"};
  if (nvrtcCompileProgram(p, 3, options) != NVRTC_SUCCESS) return {};
  size_t bytes = 0;
  nvrtcGetLTOIRSize(p, &bytes);
  std::vector<char> out(bytes);
  nvrtcGetLTOIR(p, out.data());
  nvrtcDestroyProgram(&p);
  return out;
}

}  // namespace

int main(int n, char** arguments) {
  const bool cubin = n > 1 && !std::strcmp(arguments[1], "cubin");
  int capability = 0;
  if (const int code = use_device(capability)) return code;
  const std::string number = std::to_string(capability) + "a";
  const std::vector<char> pieces[] = {ltoir_of("extern __device__ int twice(int); extern \"C\" __global__ void k(int* "
                                               "p) { p[threadIdx.x] = twice(threadIdx.x); }",
                                               "compute_" + number),
                                      ltoir_of("__device__ int twice(int x) { return 2 * x; }", "compute_" + number)};
  const std::string arch = "-arch=sm_" + number;
  const char* options[] = {arch.c_str(), "-lto", "-ptx"};
  nvJitLinkHandle linker;
  CHECK(nvJitLinkCreate(&linker, cubin ? 2 : 3, options));
  for (const auto& piece : pieces)
    CHECK(nvJitLinkAddData(linker, NVJITLINK_INPUT_LTOIR, piece.data(), piece.size(), "piece"));
  CHECK(nvJitLinkComplete(linker));
  size_t bytes = 0;
  CHECK(cubin ? nvJitLinkGetLinkedCubinSize(linker, &bytes) : nvJitLinkGetLinkedPtxSize(linker, &bytes));
  std::vector<char> image(bytes + 1);
  CHECK(cubin ? nvJitLinkGetLinkedCubin(linker, image.data()) : nvJitLinkGetLinkedPtx(linker, image.data()));
  if (const int code = run_kernel(image.data(), 2)) return code;
  std::puts("linked at run time");
}
