// passes_over_errors CODE [right]: launches a kernel that stores to address 0 (unless it shall be right), looks at no
// error, and returns CODE.
#include <cstdlib>

__global__ void store(int* to) { *to = 1; }

int main(int argc, char** argv) {
  int* to = nullptr;
  if (argc > 2) cudaMalloc(&to, sizeof *to);
  store<<<1, 1>>>(to);
  cudaDeviceSynchronize();
  return std::atoi(argv[1]);
}
