// Two copies, one mbarrier
//
// Two copies of different sizes report to the same mbarrier. The thread that starts them expects the bytes of one copy
// only. Make the phase end when both have landed.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kLeft = 192, kRight = 64;  // words

__global__ void add(const uint32_t* left, const uint32_t* right, uint32_t* out) {
  __shared__ alignas(128) uint32_t a[kLeft];
  __shared__ alignas(128) uint32_t b[kRight];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(bar, sizeof a);  // your line
    bulk_load(shared_address(a), left, sizeof a, bar);
    bulk_load(shared_address(b), right, sizeof b, bar);
  }
  __syncthreads();
  mbarrier_wait_parity(bar, 0);
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x % kRight];
}

void judge() {
  const auto left = exercise::counted(kLeft), right = exercise::counted(kRight, 77);
  exercise::DeviceBuffer<uint32_t> a(left), b(right), out(kLeft);
  add<<<1, kLeft>>>(a.get(), b.get(), out.get());
  exercise::finish();
  exercise::Words want(kLeft);
  for (uint32_t i = 0; i < kLeft; ++i) want[i] = left[i] + right[i % kRight];
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
