// Runs the wgmma conformance cases on the GPU of this machine:
//   run_on_gpu --ptx                prints the PTX; ptxas -arch=sm_90a makes the cubin of it
//   run_on_gpu CUBIN GOLDEN "DEVICE, DRIVER, DATE"     writes the golden file: that line, then the hashes
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/conformance/wgmma/cases.h"

using namespace conformance::wgmma;

namespace {

void check(CUresult r, const std::string& what) {
  if (r == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(r, &name);
  throw std::runtime_error(what + ": " + (name ? name : "?"));
}

int run(const char* cubin_path, const char* golden_path, const char* platform) {
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
  CUdeviceptr image, registers, words, out;
  for (CUdeviceptr* p : {&image, &registers, &words, &out}) check(cuMemAlloc(p, 1 << 20), "cuMemAlloc");
  std::ofstream golden(golden_path, std::ios::binary);
  golden << platform << "\n";
  for (size_t i = 0; i < case_count(); ++i) {
    const Inputs inputs = inputs_of(i);
    const Kernel& k = kernels()[i / kCasesPerKernel];
    std::vector<uint32_t> got(128 * k.registers());
    CUfunction f;
    check(cuModuleGetFunction(&f, module, kernel_name(i / kCasesPerKernel).c_str()), describe(i));
    check(cuMemcpyHtoD(image, inputs.image.data(), inputs.image.size()), "copy");
    check(cuMemcpyHtoD(registers, inputs.registers.data(), inputs.registers.size() * 4), "copy");
    check(cuMemcpyHtoD(words, inputs.words.data(), 24), "copy");
    void* args[] = {&image, &registers, &words, &out};
    check(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, nullptr, args, nullptr), describe(i));
    check(cuCtxSynchronize(), describe(i));
    check(cuMemcpyDtoH(got.data(), out, got.size() * 4), "copy");
    const auto h = hashes(got);
    golden.write(reinterpret_cast<const char*>(h.data()), sizeof h);
  }
  std::printf("%zu cases\n", case_count());
  return golden.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && !std::strcmp(argv[1], "--ptx")) {
    std::fputs(module_text(0, kernels().size()).c_str(), stdout);
    return 0;
  }
  if (argc != 4) return std::fprintf(stderr, "run_on_gpu --ptx | CUBIN GOLDEN PLATFORM\n"), 2;
  return run(argv[1], argv[2], argv[3]);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
