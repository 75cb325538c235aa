// Two proxies
//
// 256 threads write a buffer with ordinary stores, then one thread starts a bulk store of it to global memory. The
// stores use the generic proxy, and the copy reads through the async proxy. A barrier of threads orders nothing between
// the two proxies. Add the line that does, in the right place.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void store(uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[256];
  buffer[threadIdx.x] = threadIdx.x * 5;
  // Your line here.
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(out, shared_address(buffer), sizeof buffer);
    bulk_commit_group();
    bulk_wait_group<0>();
  }
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(256);
  store<<<1, 256>>>(out.get());
  exercise::finish();
  exercise::Words want(256);
  for (uint32_t i = 0; i < 256; ++i) want[i] = i * 5;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
