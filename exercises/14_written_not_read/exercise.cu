// Written, not only read
//
// A thread stores a buffer to global memory and then reads the result back from there. It waits until TMA has read the
// buffer, which is not enough. Wait until the bytes are written.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void there_and_back(uint32_t* scratch, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[64];
  for (uint32_t i = 0; i < 64; ++i) buffer[i] = i * i + 1;
  fence_proxy_async_shared();
  bulk_store(scratch, shared_address(buffer), sizeof buffer);
  bulk_commit_group();
  bulk_wait_group_read<0>();  // your line
  for (uint32_t i = 0; i < 64; ++i) out[i] = scratch[63 - i];
}

void judge() {
  exercise::DeviceBuffer<uint32_t> scratch(64), out(64);
  scratch.fill(0);
  there_and_back<<<1, 1>>>(scratch.get(), out.get());
  exercise::finish();
  exercise::Words want(64);
  for (uint32_t i = 0; i < 64; ++i) want[i] = (63 - i) * (63 - i) + 1;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
