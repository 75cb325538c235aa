// Compiled with -G: variables of all kinds, whose values anybody can work out. Each thread t of one warp.
#include <cstdint>
#include <cstdio>

namespace {

struct Inner {
  int16_t low, high;
};
struct Point {
  float x;
  int y[3];
  Inner inner;
};
struct Node {
  int value;
  Node* next;
};
enum class Colour : uint8_t { red = 1, green = 7 };

__device__ __noinline__ int twice(int value, Point* point) {
  int two = value * 2;
  point->y[1] = two;
  return two + point->y[0];  // line: inside
}

__global__ void variables(uint32_t* out, float scale, Point given) {
  __shared__ uint32_t tile[32];
  const int t = int(threadIdx.x);
  Point point = given;
  uint32_t grid[2][3] = {{10, 11, 12}, {20, 21, uint32_t(t)}};
  Node last = {100 + t, nullptr};
  Node first = {-1, &last};
  Colour colour = t & 1 ? Colour::green : Colour::red;
  volatile bool odd = t & 1;
  double wide = scale * 2.0 + t;
  char letter = 'g';
  int64_t large = -5000000000ll - t;
  uint32_t sum = 0;
  tile[t] = uint32_t(t) * 3;
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t inner = i * 10 + threadIdx.x;
    sum += inner;
    if (i == 1) {
      uint32_t sum = 77;  // hides the other
      tile[t] += sum;
      out[0] = tile[t];  // line: hidden
    }
    grid[0][i] += inner;  // line: loop
  }
  __syncthreads();
  const int doubled = twice(t, &point);
  sum += uint32_t(doubled) + uint32_t(wide) + uint32_t(colour);  // line: after
  sum += uint32_t(letter) + uint32_t(large) + uint32_t(first.next->value);
  out[t] = sum + grid[1][2] + tile[31 - t] + uint32_t(point.y[1]) + odd;
}

}  // namespace

int main() {
  uint32_t* out = nullptr;
  cudaMalloc(&out, 4096);
  variables<<<1, 32>>>(out, 1.5f, Point{0.25f, {4, 5, 6}, {-7, 8}});
  const cudaError_t e = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(e));
  return int(e);
}
