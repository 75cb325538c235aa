// Launches of CUDA 3 and before, which PyCUDA still makes: shape and parameters are set on the function, then it is
// launched.
#include <algorithm>
#include <map>
#include <vector>

#include "common/tinygpu/cuda/driver.h"

using namespace tinygpu::cuda;

namespace {

struct Steps {
  unsigned block[3] = {1, 1, 1}, shared = 0;
  std::vector<uint8_t> parameters;
};
/// What was set on each function; behind the lock of every call.
std::map<CUfunction, Steps>& steps() {
  static std::map<CUfunction, Steps> all;
  return all;
}

template <class F>
CUresult on_steps(CUfunction f, F&& set) {
  return on_kernel(f, [&](State&, Kernel&) { return CUresult(set(steps()[f])); });
}

CUresult set_parameter(CUfunction f, int offset, const void* value, unsigned bytes) {
  constexpr size_t kMost = 32764;  // bytes of parameters that a kernel can have
  return on_steps(f, [&](Steps& s) {
    if (offset < 0 || !value || size_t(offset) + bytes > kMost) return CUDA_ERROR_INVALID_VALUE;
    if (s.parameters.size() < size_t(offset) + bytes) s.parameters.resize(size_t(offset) + bytes);
    std::memcpy(s.parameters.data() + offset, value, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult launch_steps(CUfunction f, int width, int height, CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  Steps s;
  if (CUresult e = on_steps(f, [&](Steps& known) { return s = known, CUDA_SUCCESS; }); e != CUDA_SUCCESS) return e;
  size_t bytes = s.parameters.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, s.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  return cuLaunchKernel(f, unsigned(width), unsigned(height), 1, s.block[0], s.block[1], s.block[2], s.shared, stream,
                        nullptr, bytes ? extra : nullptr);
}

}  // namespace

extern "C" {

CUresult cuFuncSetBlockShape(CUfunction f, int x, int y, int z) {
  return on_steps(f, [&](Steps& s) {
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    s.block[0] = unsigned(x), s.block[1] = unsigned(y), s.block[2] = unsigned(z);
    return CUDA_SUCCESS;
  });
}
CUresult cuFuncSetSharedSize(CUfunction f, unsigned bytes) {
  return on_steps(f, [&](Steps& s) { return s.shared = bytes, CUDA_SUCCESS; });
}
CUresult cuParamSetSize(CUfunction f, unsigned bytes) {
  return on_steps(f, [&](Steps& s) { return s.parameters.resize(std::min<size_t>(bytes, 32764)), CUDA_SUCCESS; });
}
CUresult cuParamSetv(CUfunction f, int offset, void* value, unsigned bytes) {
  return set_parameter(f, offset, value, bytes);
}
CUresult cuParamSeti(CUfunction f, int offset, unsigned value) {
  return set_parameter(f, offset, &value, sizeof value);
}
CUresult cuParamSetf(CUfunction f, int offset, float value) { return set_parameter(f, offset, &value, sizeof value); }
CUresult cuLaunch(CUfunction f) { return launch_steps(f, 1, 1, nullptr); }
CUresult cuLaunchGrid(CUfunction f, int width, int height) { return launch_steps(f, width, height, nullptr); }
CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream) {
  return launch_steps(f, width, height, stream);
}
/// Counts uses of the context, of which there is one.
CUresult cuCtxDetach(CUcontext context) {
  return in_context([&](State&) { return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; });
}

}  // extern "C"
