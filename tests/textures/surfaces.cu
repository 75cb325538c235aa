// Surface objects: bytes that kernels write through them, compared with the host's own copy of the array. Returns 0 if
// all is as it should be. With an argument, a kernel that breaks a rule.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "arrays.h"

namespace {

/// Moves each texel of a row one place to the right in the next row: 8 x 4.
template <class T>
__global__ void shift(cudaSurfaceObject_t s) {
  const int x = threadIdx.x, y = threadIdx.y;
  T value;
  surf2Dread(&value, s, x * int(sizeof(T)), y);
  __syncthreads();
  surf2Dwrite(value, s, (x + 1) % 8 * int(sizeof(T)), (y + 1) % 4);
}
__global__ void add_1d(cudaSurfaceObject_t s) {
  int v;
  surf1Dread(&v, s, threadIdx.x * 4);
  surf1Dwrite(v + 100, s, threadIdx.x * 4);
}
__global__ void number_3d(cudaSurfaceObject_t s) {
  const int v = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z;
  surf3Dwrite(v, s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
}
/// Around a surface of 8 x 4 words: reads that stay inside, and writes that do nothing outside.
__global__ void around(cudaSurfaceObject_t s, int* zero, int* clamped) {
  const int x = int(threadIdx.x) - 2, y = int(threadIdx.y) - 2, i = threadIdx.y * 12 + threadIdx.x;
  surf2Dread(zero + i, s, x * 4, y, cudaBoundaryModeZero);
  surf2Dread(clamped + i, s, x * 4, y, cudaBoundaryModeClamp);
  __syncthreads();
  if (x < 0 || x >= 8) surf2Dwrite(-1, s, x * 4, y, cudaBoundaryModeZero);
}
__global__ void outside(cudaSurfaceObject_t s) { surf2Dwrite(1, s, 8 * 4, 0); }
__global__ void crooked(cudaSurfaceObject_t s) { surf2Dwrite(1, s, 2, 0); }
__global__ void other(cudaSurfaceObject_t s) { surf1Dwrite(1, s, 0); }

struct Surface {
  cudaArray_t array = nullptr;
  cudaSurfaceObject_t object = 0;
  Surface(const cudaChannelFormatDesc& format, cudaExtent extent) {
    EXPECT(cudaMalloc3DArray(&array, &format, extent, cudaArraySurfaceLoadStore) == cudaSuccess);
    const cudaResourceDesc r = resource_of(array);
    EXPECT(cudaCreateSurfaceObject(&object, &r) == cudaSuccess);
  }
  ~Surface() {
    cudaDestroySurfaceObject(object);
    cudaFreeArray(array);
  }
};

template <class T>
void shifted() {
  Surface s(cudaCreateChannelDesc<T>(), make_cudaExtent(8, 4, 0));
  std::vector<T> in(32), out(32), expected(32);
  for (size_t i = 0; i < sizeof(T) * 32; ++i) reinterpret_cast<uint8_t*>(in.data())[i] = uint8_t(i * 37 + 11);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 8; ++x) expected[size_t((y + 1) % 4 * 8 + (x + 1) % 8)] = in[size_t(y * 8 + x)];
  const size_t row = 8 * sizeof(T);
  EXPECT(cudaMemcpy2DToArray(s.array, 0, 0, in.data(), row, row, 4, cudaMemcpyHostToDevice) == cudaSuccess);
  shift<T><<<1, dim3(8, 4)>>>(s.object);
  EXPECT(cudaMemcpy2DFromArray(out.data(), row, s.array, 0, 0, row, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(std::memcmp(out.data(), expected.data(), 4 * row) == 0);
}

void line() {
  Surface s(cudaCreateChannelDesc<int>(), make_cudaExtent(16, 0, 0));
  int in[16], out[16];
  for (int i = 0; i < 16; ++i) in[i] = i;
  EXPECT(cudaMemcpy2DToArray(s.array, 0, 0, in, 64, 64, 1, cudaMemcpyHostToDevice) == cudaSuccess);
  add_1d<<<1, 16>>>(s.object);
  EXPECT(cudaMemcpy2DFromArray(out, 64, s.array, 0, 0, 64, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int i = 0; i < 16; ++i) EXPECT(out[i] == i + 100);
}

void box() {
  Surface s(cudaCreateChannelDesc<int>(), make_cudaExtent(4, 3, 2));
  number_3d<<<1, dim3(4, 3, 2)>>>(s.object);
  int out[24];
  cudaMemcpy3DParms p{};
  p.srcArray = s.array;
  p.dstPtr = make_cudaPitchedPtr(out, 16, 4, 3);
  p.extent = make_cudaExtent(4, 3, 2);
  p.kind = cudaMemcpyDeviceToHost;
  EXPECT(cudaMemcpy3D(&p) == cudaSuccess);
  for (int i = 0; i < 24; ++i) EXPECT(out[i] == i % 4 + 10 * (i / 4 % 3) + 100 * (i / 12));
}

void boundaries() {
  Surface s(cudaCreateChannelDesc<int>(), make_cudaExtent(8, 4, 0));
  int in[32], out[32], *zero, *clamped;
  for (int i = 0; i < 32; ++i) in[i] = i + 1;
  EXPECT(cudaMemcpy2DToArray(s.array, 0, 0, in, 32, 32, 4, cudaMemcpyHostToDevice) == cudaSuccess);
  EXPECT(cudaMallocManaged(&zero, 96 * 4) == cudaSuccess && cudaMallocManaged(&clamped, 96 * 4) == cudaSuccess);
  around<<<1, dim3(12, 8)>>>(s.object, zero, clamped);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int y = -2; y < 6; ++y)
    for (int x = -2; x < 10; ++x) {
      const int i = (y + 2) * 12 + x + 2, cx = x < 0 ? 0 : x > 7 ? 7 : x, cy = y < 0 ? 0 : y > 3 ? 3 : y;
      EXPECT(zero[i] == (x == cx && y == cy ? in[y * 8 + x] : 0));
      EXPECT(clamped[i] == in[cy * 8 + cx]);
    }
  EXPECT(cudaMemcpy2DFromArray(out, 32, s.array, 0, 0, 32, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(std::memcmp(in, out, sizeof in) == 0);  // no write outside has come inside
}

void refused() {
  const cudaChannelFormatDesc words = cudaCreateChannelDesc<int>();
  cudaArray_t plain;
  EXPECT(cudaMallocArray(&plain, &words, 8, 4) == cudaSuccess);
  const cudaResourceDesc r = resource_of(plain);
  cudaSurfaceObject_t s = 0;
  EXPECT(cudaCreateSurfaceObject(&s, &r) == cudaErrorInvalidValue);  // it was not made for surfaces
  EXPECT(cudaCreateSurfaceObject(nullptr, &r) == cudaErrorInvalidValue);
  EXPECT(cudaDestroySurfaceObject(12345) == cudaErrorInvalidValue);
  EXPECT(cudaFreeArray(plain) == cudaSuccess);
  (void)cudaGetLastError();
}

int broken(const std::string& name) {
  Surface s(cudaCreateChannelDesc<int>(), make_cudaExtent(8, 4, 0));
  if (name == "outside") outside<<<1, 1>>>(s.object);
  if (name == "crooked") crooked<<<1, 1>>>(s.object);
  if (name == "other") other<<<1, 1>>>(s.object);
  if (name == "none") outside<<<1, 1>>>(s.object + 64);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}

}  // namespace

int main(int n, char** arguments) {
  if (n > 1) return broken(arguments[1]);
  shifted<unsigned char>();
  shifted<short>();
  shifted<float>();
  shifted<uint2>();
  shifted<uint4>();
  line();
  box();
  boundaries();
  refused();
  std::printf(wrong ? "%d wrong\n" : "surfaces right\n", wrong);
  return wrong != 0;
}
