// Runs the warp conformance cases on the GPU of this machine and writes what it computes:
//   run_on_gpu --ptx [TARGET]          prints the PTX; ptxas -arch=sm_90a makes the cubin of it
//   run_on_gpu CUBIN RESULTS           RESULTS: the result words of all cases, case after case
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/conformance/mma_sync/cases.h"

using namespace conformance::warp;

namespace {

void check(CUresult r, const std::string& what) {
  if (r == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(r, &name);
  throw std::runtime_error(what + ": " + (name ? name : "?"));
}

int run(const char* cubin_path, const char* results_path) {
  const std::vector<Case>& cases = all_cases();
  std::ifstream in(cubin_path, std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(in), {}};
  check(cuInit(0), "cuInit");
  CUdevice device;
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  CUcontext context;
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  CUmodule module;
  check(cuModuleLoadData(&module, cubin.data()), "cuModuleLoadData");
  CUdeviceptr inputs, outputs;
  check(cuMemAlloc(&inputs, 16 << 20), "cuMemAlloc");
  check(cuMemAlloc(&outputs, 16 << 20), "cuMemAlloc");
  std::ofstream out(results_path, std::ios::binary);
  for (size_t n = 0; n < cases.size(); ++n) {
    const Case& c = cases[n];
    const std::vector<uint32_t> words = operands_of(c);
    std::vector<uint32_t> got(result_words(c));
    CUfunction f;
    check(cuModuleGetFunction(&f, module, kernel_name(n).c_str()), c.name);
    check(cuMemcpyHtoD(inputs, words.data(), words.size() * 4), "copy");
    check(cuMemsetD8(outputs, 0, got.size() * 4), "memset");
    void* args[] = {&inputs, &outputs};
    check(cuLaunchKernel(f, kCtas, 1, 1, unsigned(c.threads), 1, 1, 0, nullptr, args, nullptr), c.name);
    check(cuCtxSynchronize(), c.name);
    check(cuMemcpyDtoH(got.data(), outputs, got.size() * 4), "copy");
    out.write(reinterpret_cast<const char*>(got.data()), std::streamsize(got.size() * 4));
  }
  std::printf("%zu cases, %d CTAs each\n", cases.size(), kCtas);
  return out.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc >= 2 && !std::strcmp(argv[1], "--ptx")) {
    std::fputs(module_text(all_cases(), 0, all_cases().size(), argc > 2 ? argv[2] : "sm_90a").c_str(), stdout);
    return 0;
  }
  if (argc != 3) return std::fprintf(stderr, "run_on_gpu CUBIN RESULTS | --ptx [TARGET]\n"), 2;
  return run(argv[1], argv[2]);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
