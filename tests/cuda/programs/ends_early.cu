// Ends by exit(0) while another thread waits for a kernel that has no end.
#include <cstdlib>
#include <thread>

#include <unistd.h>

__global__ void count(volatile int* p) {
  while (p[1] == 0) p[0] = p[0] + 1;
}

int main() {
  std::thread([] {
    int* p = nullptr;
    cudaMalloc(&p, 8);
    cudaMemset(p, 0, 8);
    count<<<1, 1>>>(p);
    cudaDeviceSynchronize();
  }).detach();
  usleep(300000);
  std::exit(0);
}
