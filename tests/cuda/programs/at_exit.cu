// Launches when the process ends: in the destructor of a static object and in an exit handler.
#include <cstdio>
#include <cstdlib>

__global__ void answer(int* p) { *p = 42; }

static void ask(const char* who) {
  int *p = nullptr, host = 0;
  cudaMalloc(&p, 4);
  answer<<<1, 1>>>(p);
  const cudaError_t e = cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost);
  cudaFree(p);
  std::printf("%s: %d %s\n", who, host, cudaGetErrorName(e));
}

struct AtEnd {
  ~AtEnd() { ask("destructor"); }
};

int main() {
  std::atexit([] { ask("handler"); });
  static const AtEnd at_end;
  ask("main");
  return 0;
}
