// Arrays and texture objects through both APIs: what comes back, what is refused and by which error. Returns 0 if all
// of it holds.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "arrays.h"

namespace {

__global__ void read_2d(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2D<float>(t, float(threadIdx.x % 8), float(threadIdx.x / 8));
}
__global__ void read_3d(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex3D<float>(t, float(threadIdx.x % 4), float(threadIdx.x / 4), 1.0f);
}
__global__ void read_bytes(cudaTextureObject_t t, uchar4* out) {
  out[threadIdx.x] = tex2D<uchar4>(t, float(threadIdx.x), 0.0f);
}
__global__ void fetch(cudaTextureObject_t t, float2* out) {
  out[threadIdx.x] = tex1Dfetch<float2>(t, int(threadIdx.x));
}
__global__ void with_layers(cudaTextureObject_t t, float* out) { out[0] = tex2DLayered<float>(t, 0, 0, 0); }

std::vector<float> counted(size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 1.0f);
  return v;
}

template <class T>
std::vector<T> read(void (*kernel)(cudaTextureObject_t, T*), cudaTextureObject_t t, unsigned n) {
  T* out;
  EXPECT(cudaMalloc(&out, n * sizeof(T)) == cudaSuccess);
  kernel<<<1, n>>>(t, out);
  std::vector<T> back(n);
  EXPECT(cudaMemcpy(back.data(), out, n * sizeof(T), cudaMemcpyDefault) == cudaSuccess);
  EXPECT(cudaFree(out) == cudaSuccess);
  return back;
}

void copies() {
  cudaArray_t a, b;
  EXPECT(cudaMallocArray(&a, &kFloat, 8, 4) == cudaSuccess);
  EXPECT(cudaMallocArray(&b, &kFloat, 8, 4) == cudaSuccess);
  const std::vector<float> in = counted(32);
  EXPECT(cudaMemcpy2DToArray(a, 0, 0, in.data(), 32, 32, 4, cudaMemcpyHostToDevice) == cudaSuccess);
  EXPECT(cudaMemcpy2DArrayToArray(b, 4, 1, a, 0, 0, 16, 2, cudaMemcpyDeviceToDevice) == cudaSuccess);
  std::vector<float> out(4, -1.0f);
  EXPECT(cudaMemcpy2DFromArray(out.data(), 8, b, 8, 1, 8, 2, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT((out == std::vector<float>{2, 3, 10, 11}));  // texels 1 and 2 of rows 0 and 1 of a
  // A run of bytes goes on in the next row: three texels of row 1, then rows 2 and 3.
  const std::vector<float> run = counted(20);
  EXPECT(cudaMemcpyToArray(b, 20, 1, run.data(), 19 * 4, cudaMemcpyHostToDevice) == cudaSuccess);
  std::vector<float> rows(24, -1.0f), again(19);
  EXPECT(cudaMemcpy2DFromArray(rows.data(), 32, b, 0, 1, 32, 3, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(rows[5] == 1 && rows[7] == 3 && rows[8] == 4 && rows[23] == 19);
  EXPECT(cudaMemcpyFromArray(again.data(), b, 20, 1, 19 * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(std::equal(run.begin(), run.begin() + 19, again.begin()));
  EXPECT(cudaMemcpyToArray(b, 20, 1, run.data(), 20 * 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpyToArray(b, 32, 0, run.data(), 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  cudaChannelFormatDesc desc;
  cudaExtent extent;
  unsigned flags = 7;
  EXPECT(cudaArrayGetInfo(&desc, &extent, &flags, a) == cudaSuccess);
  EXPECT(desc.x == 32 && desc.y == 0 && desc.f == cudaChannelFormatKindFloat && extent.width == 8 &&
         extent.height == 4 && extent.depth == 0 && flags == 0);
  // What leaves the array, or goes the wrong way.
  EXPECT(cudaMemcpy2DToArray(a, 4, 0, in.data(), 32, 32, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy2DToArray(a, 0, 1, in.data(), 32, 32, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy2DToArray(a, 0, 0, in.data(), 16, 32, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
  EXPECT(cudaMemcpy2DToArray(a, 0, 0, in.data(), 32, 32, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidMemcpyDirection);
  EXPECT(cudaFreeArray(b) == cudaSuccess);
  EXPECT(cudaMemcpy2DToArray(b, 0, 0, in.data(), 32, 32, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidResourceHandle);
  EXPECT(cudaFree(a) == cudaErrorInvalidValue);  // it is no pointer
  EXPECT(cudaFreeArray(a) == cudaSuccess);
  (void)cudaGetLastError();
}

void reads() {
  cudaArray_t a;
  EXPECT(cudaMallocArray(&a, &kFloat, 8, 4) == cudaSuccess);
  const std::vector<float> in = counted(32);
  EXPECT(cudaMemcpy2DToArray(a, 0, 0, in.data(), 32, 32, 4, cudaMemcpyHostToDevice) == cudaSuccess);
  const cudaResourceDesc r = resource_of(a);
  cudaTextureDesc d{};
  cudaTextureObject_t t;
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaSuccess);
  EXPECT(read(read_2d, t, 32) == in);
  EXPECT(cudaDestroyTextureObject(t) == cudaSuccess);
  EXPECT(cudaFreeArray(a) == cudaSuccess);

  EXPECT(cudaMalloc3DArray(&a, &kFloat, make_cudaExtent(4, 3, 2)) == cudaSuccess);
  cudaMemcpy3DParms p{};
  p.srcPtr = make_cudaPitchedPtr(const_cast<float*>(in.data()), 16, 4, 3);
  p.dstArray = a;
  p.extent = make_cudaExtent(4, 3, 2);
  p.kind = cudaMemcpyHostToDevice;
  EXPECT(cudaMemcpy3D(&p) == cudaSuccess);
  const cudaResourceDesc deep = resource_of(a);
  EXPECT(cudaCreateTextureObject(&t, &deep, &d, nullptr) == cudaSuccess);
  EXPECT(read(read_3d, t, 12) == std::vector<float>(in.begin() + 12, in.begin() + 24));
  EXPECT(cudaDestroyTextureObject(t) == cudaSuccess);
  p.extent.depth = 3;
  EXPECT(cudaMemcpy3D(&p) == cudaErrorInvalidValue);
  EXPECT(cudaFreeArray(a) == cudaSuccess);

  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>();
  EXPECT(cudaMallocArray(&a, &bytes, 2, 1) == cudaSuccess);
  const uchar4 four[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  EXPECT(cudaMemcpy2DToArray(a, 0, 0, four, 8, 8, 1, cudaMemcpyHostToDevice) == cudaSuccess);
  const cudaResourceDesc of_bytes = resource_of(a);
  EXPECT(cudaCreateTextureObject(&t, &of_bytes, &d, nullptr) == cudaSuccess);
  const std::vector<uchar4> back = read(read_bytes, t, 2);
  EXPECT(back[0].x == 1 && back[0].w == 4 && back[1].y == 6);
  EXPECT(cudaDestroyTextureObject(t) == cudaSuccess);
  EXPECT(cudaFreeArray(a) == cudaSuccess);

  float* memory;
  EXPECT(cudaMalloc(&memory, 128) == cudaSuccess);
  EXPECT(cudaMemcpy(memory, in.data(), 128, cudaMemcpyDefault) == cudaSuccess);
  cudaResourceDesc line{};
  line.resType = cudaResourceTypeLinear;
  line.res.linear.devPtr = memory;
  line.res.linear.desc = cudaCreateChannelDesc<float2>();
  line.res.linear.sizeInBytes = 64;
  EXPECT(cudaCreateTextureObject(&t, &line, &d, nullptr) == cudaSuccess);
  const std::vector<float2> pairs = read(fetch, t, 9);
  EXPECT(pairs[7].x == 15 && pairs[7].y == 16 && pairs[8].x == 0 && pairs[8].y == 0);  // behind the end: zero
  EXPECT(cudaDestroyTextureObject(t) == cudaSuccess);
  line.res.linear.devPtr = memory + 1;
  EXPECT(cudaCreateTextureObject(&t, &line, &d, nullptr) == cudaErrorInvalidValue);
  EXPECT(cudaFree(memory) == cudaSuccess);
  (void)cudaGetLastError();
}

void refused() {
  cudaArray_t a;
  const cudaChannelFormatDesc three{32, 32, 32, 0, cudaChannelFormatKindFloat},
      mixed{32, 16, 0, 0, cudaChannelFormatKindFloat};
  EXPECT(cudaMallocArray(&a, &three, 8) == cudaErrorInvalidValue);
  EXPECT(cudaMallocArray(&a, &mixed, 8) == cudaErrorInvalidChannelDescriptor);
  EXPECT(cudaMallocArray(&a, &kFloat, 0) == cudaErrorInvalidValue);
  EXPECT(cudaMalloc3DArray(&a, &kFloat, make_cudaExtent(8, 8, 2), cudaArraySparse) == cudaErrorNotSupported);
  const cudaChannelFormatDesc words = cudaCreateChannelDesc<int>();
  EXPECT(cudaMallocArray(&a, &words, 8, 4) == cudaSuccess);
  const cudaResourceDesc r = resource_of(a);
  cudaTextureDesc d{};
  cudaTextureObject_t t;
  d.filterMode = cudaFilterModeLinear;
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorInvalidValue);
  d.filterMode = cudaFilterModePoint;
  d.readMode = cudaReadModeNormalizedFloat;
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorInvalidValue);
  d.readMode = cudaReadModeElementType;
  d.sRGB = 1;
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorNotSupported);
  d.sRGB = 0;
  EXPECT(cudaDestroyTextureObject(12345) == cudaErrorInvalidValue);
  EXPECT(cudaFreeArray(a) == cudaSuccess);
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorInvalidResourceHandle);
  (void)cudaGetLastError();
}

void driver() {
  const CUDA_ARRAY_DESCRIPTOR d{8, 4, CU_AD_FORMAT_FLOAT, 1};
  CUarray a;
  EXPECT(cuArrayCreate(&a, &d) == CUDA_SUCCESS);
  const std::vector<float> in = counted(32);
  CUDA_MEMCPY2D c{};
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = in.data();
  c.srcPitch = 32;
  c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  c.dstArray = a;
  c.WidthInBytes = 32;
  c.Height = 4;
  EXPECT(cuMemcpy2D(&c) == CUDA_SUCCESS);
  c.Height = 5;
  EXPECT(cuMemcpy2D(&c) == CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC r{};
  r.resType = CU_RESOURCE_TYPE_ARRAY;
  r.res.array.hArray = a;
  CUDA_TEXTURE_DESC s{};
  CUtexObject t;
  EXPECT(cuTexObjectCreate(&t, &r, &s, nullptr) == CUDA_SUCCESS);
  EXPECT(read(read_2d, t, 32) == in);
  CUDA_ARRAY3D_DESCRIPTOR back{};
  EXPECT(cuArray3DGetDescriptor(&back, a) == CUDA_SUCCESS && back.Width == 8 && back.Height == 4 && back.Depth == 0 &&
         back.NumChannels == 1);
  EXPECT(cuTexObjectDestroy(t) == CUDA_SUCCESS);
  EXPECT(cuArrayDestroy(a) == CUDA_SUCCESS && cuArrayDestroy(a) == CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace

/// api: all of it; api stale|otherwise|layers: a kernel that reads what it must not.
int main(int argc, char** argv) {
  if (argc == 1) {
    copies();
    reads();
    refused();
    driver();
    return wrong != 0;
  }
  cudaArray_t a;
  cudaTextureObject_t t;
  cudaTextureDesc d{};
  EXPECT(cudaMallocArray(&a, &kFloat, 8, 4) == cudaSuccess);
  const cudaResourceDesc r = resource_of(a);
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaSuccess);
  float* out;
  EXPECT(cudaMalloc(&out, 256) == cudaSuccess);
  if (argv[1][0] == 's') EXPECT(cudaDestroyTextureObject(t) == cudaSuccess);
  if (argv[1][0] == 's') read_2d<<<1, 32>>>(t, out);
  if (argv[1][0] == 'o') read_3d<<<1, 32>>>(t, out);
  if (argv[1][0] == 'l') with_layers<<<1, 1>>>(t, out);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return wrong != 0;
}
