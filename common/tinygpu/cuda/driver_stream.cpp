// Streams and events of the driver API.
#include <algorithm>

#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/graph.h"

using namespace tinygpu::cuda;
using StreamCallback = CUstreamCallback;

extern "C" {

#include "common/tinygpu/cuda/stream_calls.inc"

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream&) { return cuCtxGetCurrent(context); });
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) { return cuEventElapsedTime_v2(ms, from, to); }

}  // extern "C"
