// Layered and cube-map arrays: texels that hold their own place, read at points whose answer is worked out by hand from
// CUDA's programming guide or was an H200's, and surfaces of the same arrays. Returns 0 if all is as it should be. With
// an argument, a kernel that breaks a rule.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "arrays.h"

namespace {

enum class Read { line, plane, cube, cubes };

/// A read of one point: a direction of a cube, or coordinates; and its layer.
struct Point {
  float x, y, z;
  int layer;
};

__global__ void read(cudaTextureObject_t t, Read how, const Point* at, float* out) {
  const Point p = at[threadIdx.x];
  float& v = out[threadIdx.x];
  switch (how) {
    case Read::line: v = tex1DLayered<float>(t, p.x, p.layer); break;
    case Read::plane: v = tex2DLayered<float>(t, p.x, p.y, p.layer); break;
    case Read::cube: v = texCubemap<float>(t, p.x, p.y, p.z); break;
    case Read::cubes: v = texCubemapLayered<float>(t, p.x, p.y, p.z, p.layer); break;
  }
}
__global__ void read_plain(cudaTextureObject_t t, float* out) { *out = tex2D<float>(t, 0, 0); }

/// Each cell of a layer gets 100 more, and goes to the next layer of `layers`.
__global__ void shift_lines(cudaSurfaceObject_t s, int layers) {
  float v;
  surf1DLayeredread(&v, s, threadIdx.x * 4, threadIdx.z);
  __syncthreads();
  surf1DLayeredwrite(v + 100, s, threadIdx.x * 4, (threadIdx.z + 1) % layers);
}
__global__ void shift_planes(cudaSurfaceObject_t s, int layers) {
  float v;
  surf2DLayeredread(&v, s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
  __syncthreads();
  surf2DLayeredwrite(v + 100, s, threadIdx.x * 4, threadIdx.y, (threadIdx.z + 1) % layers);
}
__global__ void shift_faces(cudaSurfaceObject_t s) {
  float v;
  surfCubemapread(&v, s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
  __syncthreads();
  surfCubemapwrite(v + 100, s, threadIdx.x * 4, threadIdx.y, (threadIdx.z + 1) % 6);
}
__global__ void number_faces(cudaSurfaceObject_t s) {
  surfCubemapLayeredwrite(float(threadIdx.z), s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
}
__global__ void outside(cudaSurfaceObject_t s, int layer, float* out) {
  surf2DLayeredread(out, s, 0, 0, layer, cudaBoundaryModeClamp);
  surf2DLayeredread(out + 1, s, 0, 0, layer, cudaBoundaryModeZero);
}
__global__ void behind_the_last(cudaSurfaceObject_t s) { surf2DLayeredwrite(1.0f, s, 0, 0, 3); }
__global__ void without_layer(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, 0, 0); }

/// An array whose texel (x, y) of plane z is 100 z + 10 y + x.
struct Numbered {
  cudaArray_t array = nullptr;
  cudaExtent whole;
  Numbered(cudaExtent extent, unsigned flags) : whole(extent) {
    EXPECT(cudaMalloc3DArray(&array, &kFloat, extent, flags) == cudaSuccess);
    if (!whole.height) whole.height = 1;
    std::vector<float> texels;
    for (size_t z = 0; z < whole.depth; ++z)
      for (size_t y = 0; y < whole.height; ++y)
        for (size_t x = 0; x < whole.width; ++x) texels.push_back(float(100 * z + 10 * y + x));
    cudaMemcpy3DParms p{};
    p.srcPtr = make_cudaPitchedPtr(texels.data(), whole.width * 4, whole.width, whole.height);
    p.dstArray = array;
    p.extent = whole;
    p.kind = cudaMemcpyHostToDevice;
    EXPECT(cudaMemcpy3D(&p) == cudaSuccess);
  }
  ~Numbered() { EXPECT(cudaFreeArray(array) == cudaSuccess); }
  std::vector<float> texels() const {
    std::vector<float> out(whole.width * whole.height * whole.depth);
    cudaMemcpy3DParms p{};
    p.srcArray = array;
    p.dstPtr = make_cudaPitchedPtr(out.data(), whole.width * 4, whole.width, whole.height);
    p.extent = whole;
    p.kind = cudaMemcpyDeviceToHost;
    EXPECT(cudaMemcpy3D(&p) == cudaSuccess);
    return out;
  }
};

struct Case {
  Point at;
  float is;
};

void expect(const Numbered& a, cudaTextureDesc d, Read how, const std::vector<Case>& cases, int line) {
  const cudaResourceDesc r = resource_of(a.array);
  cudaTextureObject_t t = 0;
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaSuccess);
  Point* points;
  float* out;
  EXPECT(cudaMallocManaged(&points, cases.size() * sizeof *points) == cudaSuccess);
  EXPECT(cudaMallocManaged(&out, cases.size() * sizeof *out) == cudaSuccess);
  for (size_t i = 0; i < cases.size(); ++i) points[i] = cases[i].at;
  read<<<1, unsigned(cases.size())>>>(t, how, points, out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (size_t i = 0; i < cases.size(); ++i)
    if (out[i] != cases[i].is)
      ++wrong, std::printf("line %d, case %zu: %g instead of %g\n", line, i, double(out[i]), double(cases[i].is));
  EXPECT(cudaDestroyTextureObject(t) == cudaSuccess && cudaFree(points) == cudaSuccess && cudaFree(out) == cudaSuccess);
}
#define EXPECT_READS(...) expect(__VA_ARGS__, __LINE__)

cudaTextureDesc sampler(cudaTextureFilterMode filter, bool normalized, cudaTextureAddressMode mode) {
  cudaTextureDesc d{};
  d.filterMode = filter;
  d.normalizedCoords = normalized;
  for (auto& m : d.addressMode) m = mode;
  return d;
}

void layers() {
  const auto clamp = cudaAddressModeClamp;
  const Numbered lines(make_cudaExtent(8, 0, 3), cudaArrayLayered);
  EXPECT_READS(lines, sampler(cudaFilterModePoint, false, clamp), Read::line,
               {{{2.5f, 0, 0, 0}, 2}, {{2.5f, 0, 0, 2}, 202}, {{9, 0, 0, 1}, 107}, {{3, 0, 0, 3}, 203}});
  // Halfway between texels 2 and 3: no other layer takes part.
  EXPECT_READS(lines, sampler(cudaFilterModeLinear, false, clamp), Read::line,
               {{{3, 0, 0, 0}, 2.5f}, {{3, 0, 0, 2}, 202.5f}});
  // The row is read whole, though y has a border: half of texel 0 and half of nothing.
  EXPECT_READS(lines, sampler(cudaFilterModeLinear, false, cudaAddressModeBorder), Read::line,
               {{{3, 0, 0, 2}, 202.5f}, {{0, 0, 0, 2}, 100}});

  const Numbered planes(make_cudaExtent(4, 3, 5), cudaArrayLayered);
  EXPECT_READS(planes, sampler(cudaFilterModePoint, false, clamp), Read::plane,
               {{{3.5f, 2.5f, 0, 0}, 23}, {{0.5f, 1.5f, 0, 4}, 410}, {{-5, 9, 0, 2}, 220}, {{0, 0, 0, 7}, 400}});
  EXPECT_READS(planes, sampler(cudaFilterModeLinear, false, clamp), Read::plane,
               {{{1, 1, 0, 3}, 305.5f}, {{1, 1, 0, 4}, 405.5f}});
  // Wrapping is of a layer: one width to the right is the same texel of the same layer.
  EXPECT_READS(planes, sampler(cudaFilterModePoint, true, cudaAddressModeWrap), Read::plane,
               {{{1.125f, 0.5f, 0, 1}, 110}, {{-0.125f, -0.5f, 0, 2}, 213}});
}

/// The guide's table: face 0 looks along +x, and there s = -z and t = -y; and so on. A face has 4 x 4 texels, so its
/// texel (3, 1) has its middle at s = 0.75 and t = -0.25 of -1 to 1.
void cubes() {
  const auto clamp = cudaAddressModeClamp;
  const std::vector<Case> middles = {{{1, 0.25f, -0.75f, 0}, 13},  {{-1, 0.25f, 0.75f, 0}, 113},
                                     {{0.75f, 1, -0.25f, 0}, 213}, {{0.75f, -1, 0.25f, 0}, 313},
                                     {{0.75f, 0.25f, 1, 0}, 413},  {{-0.75f, 0.25f, -1, 0}, 513},
                                     {{4, 1, -3, 0}, 13},          {{-1.5f, 0.5f, -2, 0}, 513}};
  const Numbered one(make_cudaExtent(4, 4, 6), cudaArrayCubemap);
  EXPECT_READS(one, sampler(cudaFilterModePoint, true, clamp), Read::cube, middles);
  // On a texel's middle filtering gives the texel; in a face's middle the mean of four.
  EXPECT_READS(one, sampler(cudaFilterModeLinear, true, clamp), Read::cube, middles);
  EXPECT_READS(one, sampler(cudaFilterModeLinear, true, clamp), Read::cube,
               {{{1, 0, 0, 0}, 16.5f}, {{-2, 0, 0, 0}, 116.5f}, {{0, 0.5f, 0, 0}, 216.5f}, {{0, 0, -1, 0}, 516.5f}});
  // An H200's: where two parts are as large z goes before y, and y before x; what is no number is a middle.
  const float no_number = std::nanf(""), most = INFINITY;
  EXPECT_READS(one, sampler(cudaFilterModePoint, true, clamp), Read::cube,
               {{{1, 1, 1, 0}, 403}, {{1, 1, 0, 0}, 223}, {{-1, 0, -1, 0}, 523}, {{0, 0, 0, 0}, 422}});
  EXPECT_READS(one, sampler(cudaFilterModeLinear, true, clamp), Read::cube,
               {{{0, 0, 0, 0}, 416.5f},
                {{most, 0.25f, -0.75f, 0}, 416.5f},
                {{0.5f, most, -0.75f, 0}, 416.5f},
                {{0.5f, 0.25f, most, 0}, 216.5f},
                {{0.5f, 0.25f, no_number, 0}, 6.5f},
                {{1e38f, 0.25f, -0.75f, 0}, 416.5f}});
  // A cube map is read by a direction with coordinates of texels too.
  EXPECT_READS(one, sampler(cudaFilterModePoint, false, clamp), Read::cube, middles);
  auto seamless = sampler(cudaFilterModePoint, true, cudaAddressModeWrap);
  seamless.seamlessCubemap = 1;
  EXPECT_READS(one, seamless, Read::cube, middles);
  // Faces of layer 2 begin at plane 12.
  const Numbered three(make_cudaExtent(4, 4, 18), cudaArrayCubemap | cudaArrayLayered);
  EXPECT_READS(three, sampler(cudaFilterModePoint, true, clamp), Read::cubes,
               {{{1, 0.25f, -0.75f, 2}, 1213}, {{-0.75f, 0.25f, -1, 1}, 1113}, {{0.75f, 1, -0.25f, 0}, 213}});
}

/// What a shift made of an array of `size` x `size` (or one row) and its planes.
void expect_shifted(const Numbered& a) {
  const std::vector<float> texels = a.texels();
  size_t i = 0;
  for (size_t z = 0; z < a.whole.depth; ++z)
    for (size_t y = 0; y < a.whole.height; ++y)
      for (size_t x = 0; x < a.whole.width; ++x)
        EXPECT(texels[i++] == float(100 * ((z + a.whole.depth - 1) % a.whole.depth) + 10 * y + x + 100));
}

struct Surface {
  cudaSurfaceObject_t object = 0;
  explicit Surface(const Numbered& a) {
    const cudaResourceDesc r = resource_of(a.array);
    EXPECT(cudaCreateSurfaceObject(&object, &r) == cudaSuccess);
  }
  ~Surface() { EXPECT(cudaDestroySurfaceObject(object) == cudaSuccess); }
};

void surfaces() {
  const unsigned written = cudaArraySurfaceLoadStore;
  const Numbered lines(make_cudaExtent(8, 0, 3), cudaArrayLayered | written);
  shift_lines<<<1, dim3(8, 1, 3)>>>(Surface(lines).object, 3);
  expect_shifted(lines);
  const Numbered planes(make_cudaExtent(4, 3, 5), cudaArrayLayered | written);
  shift_planes<<<1, dim3(4, 3, 5)>>>(Surface(planes).object, 5);
  expect_shifted(planes);
  const Numbered cube(make_cudaExtent(4, 4, 6), cudaArrayCubemap | written);
  shift_faces<<<1, dim3(4, 4, 6)>>>(Surface(cube).object);
  expect_shifted(cube);
  const Numbered two(make_cudaExtent(2, 2, 12), cudaArrayCubemap | cudaArrayLayered | written);
  number_faces<<<1, dim3(2, 2, 12)>>>(Surface(two).object);
  for (size_t i = 0; i < 48; ++i) EXPECT(two.texels()[i] == float(i / 4));
  // A layer outside: the last one, below zero too, as an H200 has it; or none.
  float* out;
  EXPECT(cudaMallocManaged(&out, 8) == cudaSuccess);
  for (int layer : {-1, 5, 70000}) {
    outside<<<1, 1>>>(Surface(planes).object, layer, out);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && out[0] == 400 && out[1] == 0);
  }
  EXPECT(cudaFree(out) == cudaSuccess);
}

void refused() {
  cudaArray_t a;
  const auto made = [&](size_t w, size_t h, size_t d, unsigned flags) {
    return cudaMalloc3DArray(&a, &kFloat, make_cudaExtent(w, h, d), flags);
  };
  EXPECT(made(8, 8, 0, cudaArrayLayered) == cudaErrorInvalidValue);                     // no layers
  EXPECT(made(8, 4, 6, cudaArrayCubemap) == cudaErrorInvalidValue);                     // no square
  EXPECT(made(8, 8, 5, cudaArrayCubemap) == cudaErrorInvalidValue);                     // five faces
  EXPECT(made(8, 8, 12, cudaArrayCubemap) == cudaErrorInvalidValue);                    // two cubes are layers
  EXPECT(made(8, 8, 9, cudaArrayCubemap | cudaArrayLayered) == cudaErrorInvalidValue);  // one cube and a half
  EXPECT(made(8, 8, 2049, cudaArrayLayered) == cudaErrorInvalidValue);                  // at most 2,048
  EXPECT(made(8, 0, 3, 0) == cudaErrorInvalidValue);                                    // layers need the flag
  cudaExtent extent;
  unsigned flags = 0;
  const Numbered cube(make_cudaExtent(4, 4, 6), cudaArrayCubemap), planes(make_cudaExtent(4, 4, 6), cudaArrayLayered);
  EXPECT(cudaArrayGetInfo(nullptr, &extent, &flags, cube.array) == cudaSuccess);
  EXPECT(extent.width == 4 && extent.height == 4 && extent.depth == 6 && flags == cudaArrayCubemap);
  cudaTextureObject_t t;
  cudaResourceDesc r = resource_of(cube.array);
  auto d = sampler(cudaFilterModeLinear, true, cudaAddressModeClamp);
  d.seamlessCubemap = 1;
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorNotSupported);
  r = resource_of(planes.array);
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorInvalidValue);
  (void)cudaGetLastError();

  // The driver's arrays are the same.
  CUDA_ARRAY3D_DESCRIPTOR made_by_driver{4, 4, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED};
  CUarray driver;
  EXPECT(cuArray3DCreate(&driver, &made_by_driver) == CUDA_SUCCESS && cuArrayDestroy(driver) == CUDA_SUCCESS);
  made_by_driver.Depth = 13;
  EXPECT(cuArray3DCreate(&driver, &made_by_driver) == CUDA_ERROR_INVALID_VALUE);
}

/// `plain`: a read without a layer; `direction`: a cube read by a layer; `behind`, `without`: writes.
int broken(const std::string& name) {
  float* out;
  EXPECT(cudaMalloc(&out, 256) == cudaSuccess);
  const unsigned kind = name == "direction" ? cudaArrayCubemap : cudaArrayLayered;
  const Numbered a(make_cudaExtent(4, 4, name == "direction" ? 6 : 3), kind | cudaArraySurfaceLoadStore);
  const Surface s(a);
  const cudaResourceDesc r = resource_of(a.array);
  const auto d = sampler(cudaFilterModePoint, true, cudaAddressModeClamp);
  cudaTextureObject_t t;
  EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaSuccess);
  if (name == "plain") read_plain<<<1, 1>>>(t, out);
  if (name == "direction") read<<<1, 1>>>(t, Read::plane, reinterpret_cast<Point*>(out), out + 16);
  if (name == "behind") behind_the_last<<<1, 1>>>(s.object);
  if (name == "without") without_layer<<<1, 1>>>(s.object);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace

int main(int n, char** arguments) {
  if (n > 1) return broken(arguments[1]);
  layers();
  cubes();
  surfaces();
  refused();
  std::printf(wrong ? "%d wrong\n" : "layers right\n", wrong);
  return wrong != 0;
}
