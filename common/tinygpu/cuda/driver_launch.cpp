// Launches of the driver API.
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/launch_attributes.h"

using namespace tinygpu::cuda;

namespace {

/// The `extra` array: CU_LAUNCH_PARAM_BUFFER_POINTER, p, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END.
CUresult read_extra(void** extra, LaunchRequest& r) {
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (!extra[1]) return CUDA_ERROR_INVALID_VALUE;
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      r.packed = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      r.packed_size = *static_cast<size_t*>(extra[1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult start(CUfunction f, LaunchRequest r, CUstream stream, void** args, void** extra,
               const CUlaunchAttribute* attributes = nullptr, unsigned count = 0) {
  return on_kernel(f, [&](State& s, Kernel& k) {
    Stream* on = s.streams.find(stream);
    if (!on) return CUDA_ERROR_INVALID_HANDLE;
    if (args && extra) return CUDA_ERROR_INVALID_VALUE;
    r.kernel = &k;
    r.args = args;
    if (extra)
      if (CUresult e = read_extra(extra, r); e != CUDA_SUCCESS) return e;
    return launch_with(s, *on, attributes, count, r);
  });
}

}  // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void** args, void** extra) {
  LaunchRequest r;
  r.grid = {gx, gy, gz};
  r.block = {bx, by, bz};
  r.dynamic_shared = shared;
  return start(f, r, stream, args, extra);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction f, void** args, void** extra) {
  if (!c) return CUDA_ERROR_INVALID_VALUE;
  LaunchRequest r;
  r.grid = {c->gridDimX, c->gridDimY, c->gridDimZ};
  r.block = {c->blockDimX, c->blockDimY, c->blockDimZ};
  r.dynamic_shared = c->sharedMemBytes;
  return start(f, r, c->hStream, args, extra, c->attrs, c->numAttrs);
}
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void** args) {
  LaunchRequest r;
  r.grid = {gx, gy, gz};
  r.block = {bx, by, bz};
  r.dynamic_shared = shared;
  r.cooperative = true;
  return start(f, r, stream, args, nullptr);
}

}  // extern "C"
