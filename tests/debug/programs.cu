// Programs to be debugged: such as leave the usual ways, and such as store words that anybody can work out.
//
//   debug_programs exit CODE     a kernel, then exit(CODE); `vanish`: _exit(CODE)
//   debug_programs crash         a kernel, then a store to address 0
//   debug_programs fork          a child launches a kernel; the parent waits for all its children
//   debug_programs read          a line of standard input between two kernels
//   debug_programs grid CTAS     as many CTAs of one warp
//   debug_programs spin STEPS    one warp, a loop of that many turns
//   debug_programs words|cells   rounds of words in shared and global memory, or in Tensor Memory too
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/ptx/address.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_ld_st.h"

namespace {

__global__ void mark(uint32_t* out) {
  out[blockIdx.x] = blockIdx.x + 1;  // line: mark
}

__global__ void spin(uint32_t* out, uint32_t steps) {
  uint32_t x = 1;
  for (uint32_t i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;  // line: spin
  out[threadIdx.x] = x;
}

constexpr uint32_t kThreads = 128;

__device__ uint32_t seed() { return blockIdx.x * 1000003u + threadIdx.x * 7919u + 12345u; }

// Each thread's words x, f(x), f(f(x)) …: the latest in shared memory, all of them in `log`.
__global__ void words(uint32_t* log, uint32_t rounds) {
  __shared__ volatile uint32_t kept[kThreads];
  uint32_t x = seed();
  for (uint32_t round = 0; round < rounds; ++round) {
    x = x * 1664525u + 1013904223u;
    kept[threadIdx.x] = x;
    log[(blockIdx.x * rounds + round) * kThreads + threadIdx.x] = x;
    __syncwarp();
  }
}

// The same in column round % 32 of Tensor Memory.
__global__ void cells(uint32_t* log, uint32_t rounds) {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
  using namespace gen5::ptx;
  constexpr uint32_t kColumns = 32;
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), kColumns);
  __syncthreads();
  const uint32_t address = slot;
  uint32_t x = seed();
  for (uint32_t round = 0; round < rounds; ++round) {
    x = x * 1664525u + 1013904223u;
    const uint32_t one[1] = {x};
    tcgen05_st_32x32b(address + (threadIdx.x / 32 << 21) + round % kColumns, one);
    tcgen05_wait_st();
    log[(blockIdx.x * rounds + round) * kThreads + threadIdx.x] = x;
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x < 32) tcgen05_dealloc(address, kColumns);
#endif
}

uint32_t* memory(size_t count) {
  uint32_t* p = nullptr;
  cudaMalloc(&p, count * 4);
  cudaMemset(p, 0, count * 4);
  return p;
}

void launch_mark(uint32_t ctas = 1) {
  uint32_t* out = memory(ctas);
  mark<<<ctas, 32>>>(out);
  const cudaError_t e = cudaDeviceSynchronize();
  uint32_t last = 0;
  cudaMemcpy(&last, out + ctas - 1, 4, cudaMemcpyDeviceToHost);
  std::printf("marked %u of %u: %s\n", last, ctas, cudaGetErrorName(e));
  std::fflush(stdout);
}

int run(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  const uint32_t number = count > 2 ? uint32_t(std::strtoul(arguments[2], nullptr, 10)) : 0;
  if (what == "spin") {
    spin<<<1, 32>>>(memory(32), number);
    return int(cudaDeviceSynchronize());
  }
  if (what == "words" || what == "cells") {
    constexpr uint32_t kCtas = 3, kRounds = 40;
    uint32_t* log = memory(kCtas * kRounds * kThreads);
    std::printf("log at %p, %u CTAs, %u rounds\n", static_cast<void*>(log), kCtas, kRounds);
    if (what == "words")
      words<<<kCtas, kThreads>>>(log, kRounds);
    else
      cells<<<kCtas, kThreads>>>(log, kRounds);
    return int(cudaDeviceSynchronize());
  }
  launch_mark(what == "grid" ? number : 1);
  if (what == "exit") std::exit(int(number));
  if (what == "vanish") _exit(int(number));
  if (what == "crash") *const_cast<volatile int*>(reinterpret_cast<int*>(std::strtoul("0", nullptr, 10))) = 1;
  if (what == "fork") {
    if (fork() == 0) {
      std::printf("the child goes on\n");
      launch_mark();
      std::exit(0);
    }
    int ended = 0;
    while (wait(nullptr) > 0) ++ended;
    std::printf("%d child has ended\n", ended);
    launch_mark();
  }
  if (what == "read") {
    char line[80] = "";
    std::printf("%s\n", std::fgets(line, sizeof(line), stdin) ? "a line" : "no line");
    launch_mark();
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) { return run(count, arguments); }
