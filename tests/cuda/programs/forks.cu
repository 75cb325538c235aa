// Launches, forks, and launches again in both processes. With "busy" it forks while another thread calls, with "calm"
// while one calls now and then, with "endless" while one waits for a kernel without an end, with "within" in a host
// function. Exits with 0 if all that ran was right.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

__global__ void add(int* p) { atomicAdd(p, 1); }

__global__ void late() {}

__global__ void endless(volatile int* p) {
  while (p[1] == 0) p[0] = p[0] + 1;
}

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
  if (e == cudaErrorInitializationError) {
    late<<<1, 1>>>();
    return cudaGetLastError() == e && (cudaDeviceReset() == cudaSuccess || count(sum) == e) ? 2 : 1;
  }
  return e == cudaSuccess && sum == 9600 ? 0 : 1;
}

struct Ends {
  int right = 0, wrong = 0, without = 0;

  void fork_one() {
    if (!fork()) {
      alarm(20);
      std::exit(child());  // through the exit handlers
    }
    int status = 0;
    wait(&status);
    ++(!WIFEXITED(status) || WEXITSTATUS(status) == 1 ? wrong : WEXITSTATUS(status) == 0 ? right : without);
  }
};

int main(int argc, char** argv) {
  const auto mode = [&](const char* name) { return argc > 1 && !std::strcmp(argv[1], name); };
  int sum = 0;
  bool right = count(sum) == cudaSuccess && sum == 9600;
  Ends ends;
  if (mode("within")) {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runs = nullptr;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaLaunchHostFunc(
        stream, [](void* to) { static_cast<Ends*>(to)->fork_one(); }, &ends);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&runs, graph, 0);
    cudaGraphLaunch(runs, stream);
    cudaStreamSynchronize(stream);
  } else if (mode("endless")) {
    std::thread([] {
      int* p = nullptr;
      cudaMalloc(&p, 8);
      cudaMemset(p, 0, 8);
      endless<<<1, 1>>>(p);
      cudaDeviceSynchronize();
    }).detach();
    usleep(300000);
    // A thread that launches a kernel for the first time meanwhile.
    std::thread([] { late<<<1, 1>>>(); }).detach();
    usleep(100000);
    ends.fork_one();
  } else {
    std::atomic<bool> over = false;
    std::thread other([&] {
      for (int own; !over && (mode("busy") || mode("calm"));) {
        count(own);
        if (mode("calm")) usleep(300);
      }
    });
    for (int i = 0; i < (argc > 1 ? 30 : 3); ++i) ends.fork_one();
    over = true;
    other.join();
  }
  right = right && (mode("endless") || (count(sum) == cudaSuccess && sum == 9600)) && ends.wrong == 0;
  std::printf("children: %d right, %d wrong, %d without calls\n", ends.right, ends.wrong, ends.without);
  std::fflush(stdout);
  if (mode("endless")) std::_Exit(right ? 0 : 1);
  return right ? 0 : 1;
}
