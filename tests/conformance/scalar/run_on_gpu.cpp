// Runs the scalar conformance cases on the GPU of this machine and writes what it computes:
//   run_on_gpu CASES CUBIN RESULTS      CUBIN: `run_on_gpu --ptx CASES > scalar.ptx; ptxas -arch=sm_90a scalar.ptx -o
//   CUBIN` run_on_gpu --ptx CASES [TARGET]     prints the PTX
// RESULTS, all little-endian 64-bit words: per case kKept × outputs words, then one hash per kHashed tuples of all of
// them.
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/conformance/scalar/cases.h"

using namespace conformance;

namespace {

void check(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(r, &name);
  throw std::runtime_error(std::string(what) + ": " + (name ? name : "?"));
}

int run(const char* cases_path, const char* cubin_path, const char* results_path) {
  const std::vector<Case> cases = read_cases(cases_path);
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
  check(cuMemAlloc(&inputs, kTuples * 8 * 8), "cuMemAlloc");
  check(cuMemAlloc(&outputs, kTuples * 8 * 4), "cuMemAlloc");
  std::ofstream out(results_path, std::ios::binary);
  for (size_t n = 0; n < cases.size(); ++n) {
    const Case& c = cases[n];
    const std::vector<uint64_t> words = operands_of(c);
    std::vector<uint64_t> got(kTuples * c.outputs());
    CUfunction f;
    check(cuModuleGetFunction(&f, module, kernel_name(n).c_str()), c.text.c_str());
    check(cuMemcpyHtoD(inputs, words.data(), words.size() * 8), "copy");
    void* args[] = {&inputs, &outputs};
    check(cuLaunchKernel(f, kTuples / 256, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr), "launch");
    check(cuCtxSynchronize(), c.text.c_str());
    check(cuMemcpyDtoH(got.data(), outputs, got.size() * 8), "copy");
    out.write(reinterpret_cast<const char*>(got.data()), std::streamsize(kKept * c.outputs() * 8));
    for (size_t t = 0; t < kTuples; t += kHashed) {
      const uint64_t h = hash(&got[t * c.outputs()], kHashed * c.outputs());
      out.write(reinterpret_cast<const char*>(&h), 8);
    }
  }
  std::printf("%zu cases, %zu tuples each\n", cases.size(), kTuples);
  return out.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc >= 3 && !std::strcmp(argv[1], "--ptx")) {
    std::fputs(module_text(read_cases(argv[2]), argc > 3 ? argv[3] : "sm_90a").c_str(), stdout);
    return 0;
  }
  if (argc != 4) return std::fprintf(stderr, "run_on_gpu CASES CUBIN RESULTS | --ptx CASES [TARGET]\n"), 2;
  return run(argv[1], argv[2], argv[3]);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
