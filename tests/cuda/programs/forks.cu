// Launches, forks, and launches again in both processes; with "busy" it forks while another thread is in a call. Exits
// with 0 if all that ran was right.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

__global__ void add(int* p) { atomicAdd(p, 1); }

static cudaError_t count(int& sum) {
  int* p = nullptr;
  if (const cudaError_t e = cudaMalloc(&p, 4)) return e;
  cudaMemset(p, 0, 4);
  add<<<300, 32>>>(p);
  const cudaError_t e = cudaMemcpy(&sum, p, 4, cudaMemcpyDeviceToHost);
  cudaFree(p);
  return e;
}

/// 0: right; 1: wrong; 2: no call works.
static int child() {
  int sum = 0;
  const cudaError_t e = count(sum);
  if (e == cudaErrorInitializationError) return cudaDeviceReset() == cudaSuccess || count(sum) == e ? 2 : 1;
  return e == cudaSuccess && sum == 9600 ? 0 : 1;
}

int main(int argc, char** argv) {
  const bool busy = argc > 1 && !std::strcmp(argv[1], "busy");
  int sum = 0, ends[3] = {};
  bool right = count(sum) == cudaSuccess && sum == 9600;
  std::atomic<bool> over = false;
  std::thread other([&] {
    for (int own; busy && !over;) count(own);
  });
  for (int i = 0; i < (busy ? 30 : 3); ++i) {
    if (!fork()) {
      alarm(20);
      std::exit(child());  // through the exit handlers
    }
    int status = 0;
    wait(&status);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    ++ends[code > 2 ? 1 : code];
  }
  over = true;
  other.join();
  right = right && count(sum) == cudaSuccess && sum == 9600 && ends[1] == 0;
  std::printf("children: %d right, %d wrong, %d without calls\n", ends[0], ends[1], ends[2]);
  return right ? 0 : 1;
}
