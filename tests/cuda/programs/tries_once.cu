// Two copies into shared memory. Of the first mbarrier the kernel takes it for granted that try_wait has seen its phase
// end; the second it waits for. The program compares the sum: tries_once wrong | right.
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "common/ptx/address.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"

using namespace gen5::ptx;

constexpr int kWords = 256;

template <bool kRight>
__global__ void sum(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t words[2][kWords];
  __shared__ uint64_t full[2];
  if (threadIdx.x) return;
  for (int i = 0; i < 2; ++i) mbarrier_init(shared_address(&full[i]), 1);
  fence_mbarrier_init();
  for (int i = 0; i < 2; ++i) {
    mbarrier_arrive_expect_tx(shared_address(&full[i]), sizeof(words[i]));
    bulk_load(shared_address(words[i]), from + i * kWords, sizeof(words[i]), shared_address(&full[i]));
  }
  mbarrier_wait_parity(shared_address(&full[1]), 0);
  if constexpr (kRight)
    mbarrier_wait_parity(shared_address(&full[0]), 0);
  else
    mbarrier_try_wait_parity(shared_address(&full[0]), 0);
  uint32_t total = 0;
  for (int k = 0; k < kWords; ++k) total += words[0][k] + words[1][k];
  *out = total;
}

int main(int argc, char** argv) {
  uint32_t *from = nullptr, *out = nullptr, host[2 * kWords], total = 0;
  for (uint32_t& word : host) word = 3;
  cudaMalloc(&from, sizeof(host));
  cudaMalloc(&out, sizeof(*out));
  cudaMemcpy(from, host, sizeof(host), cudaMemcpyHostToDevice);
  if (argc > 1 && std::string_view(argv[1]) == "right")
    sum<true><<<1, 32>>>(from, out);
  else
    sum<false><<<1, 32>>>(from, out);
  cudaMemcpy(&total, out, sizeof(total), cudaMemcpyDeviceToHost);
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  return total != 6 * kWords;
}
