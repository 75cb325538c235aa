// Reads textures of plain formats in many ways and writes the words that come back to a file: the same program on a GPU
// made the digests that textures.py compares with. A line a configuration: its name and where its words begin.
#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kReads = 1024;

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

enum class As { f32, s32, u32 };

/// Read i: at coordinates[3 i …], into out[4 i …]. `fetch`: a 1D read by an integer.
template <As as, int dims, bool fetch>
__global__ void read(cudaTextureObject_t t, const float* coordinates, uint32_t* out) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  const float x = coordinates[3 * i], y = coordinates[3 * i + 1], z = coordinates[3 * i + 2];
  uint32_t r[4];
#define OUT "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
#define TEX(type)                                                                                            \
  if constexpr (fetch) {                                                                                     \
    asm volatile("tex.1d.v4." type ".s32 {%0, %1, %2, %3}, [%4, {%5}];" : OUT : "l"(t), "r"(int(x)));        \
  } else if constexpr (dims == 1) {                                                                          \
    asm volatile("tex.1d.v4." type ".f32 {%0, %1, %2, %3}, [%4, {%5}];" : OUT : "l"(t), "f"(x));             \
  } else if constexpr (dims == 2) {                                                                          \
    asm volatile("tex.2d.v4." type ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" : OUT : "l"(t), "f"(x), "f"(y)); \
  } else {                                                                                                   \
    asm volatile("tex.3d.v4." type ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"                          \
                 : OUT                                                                                       \
                 : "l"(t), "f"(x), "f"(y), "f"(z));                                                          \
  }
  if constexpr (as == As::f32) {
    float f[4];
#undef OUT
#define OUT "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3])
    TEX("f32")
    for (int c = 0; c < 4; ++c) r[c] = __float_as_uint(f[c]);
#undef OUT
#define OUT "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
  } else if constexpr (as == As::s32) {
    TEX("s32")
  } else {
    TEX("u32")
  }
  for (int c = 0; c < 4; ++c) out[4 * i + c] = r[c];
}

struct Random {
  uint64_t state;
  uint32_t word() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(state >> 32);
  }
  float unit() { return float(word() >> 8) * 0x1p-24f; }
};

struct Format {
  const char* name;
  cudaChannelFormatKind kind;
  int bits;
};
constexpr Format kFormats[] = {{"u8", cudaChannelFormatKindUnsigned, 8},   {"s8", cudaChannelFormatKindSigned, 8},
                               {"u16", cudaChannelFormatKindUnsigned, 16}, {"s16", cudaChannelFormatKindSigned, 16},
                               {"u32", cudaChannelFormatKindUnsigned, 32}, {"s32", cudaChannelFormatKindSigned, 32},
                               {"f16", cudaChannelFormatKindFloat, 16},    {"f32", cudaChannelFormatKindFloat, 32}};

/// Texels: any bits for integers; floats of magnitudes near 1, or (`wide`) of many.
std::vector<uint8_t> texels(const Format& f, int channels, size_t count, bool wide) {
  Random random{uint64_t(f.bits * 16 + channels * 4 + int(f.kind) + (wide ? 4096 : 0))};
  std::vector<uint8_t> out(count * size_t(channels * f.bits / 8));
  for (size_t i = 0; i < count * size_t(channels); ++i) {
    uint32_t w = random.word();
    if (f.kind == cudaChannelFormatKindFloat && f.bits == 32) {
      const int exponent = wide ? int(random.word() % 40) - 20 : 0;
      w = std::bit_cast<uint32_t>(std::ldexp(1 + random.unit(), exponent)) | (w & 0x80000000u);
    } else if (f.kind == cudaChannelFormatKindFloat) {
      w = (w & 0x83ffu) | ((wide ? random.word() % 24 + 3 : 15u) << 10);
    }
    std::memcpy(&out[i * size_t(f.bits / 8)], &w, size_t(f.bits / 8));
  }
  return out;
}

/// In units of texels: anywhere from one size below to one above, on texels' middles and edges, next to them, and what
/// is no number.
float coordinate(Random& r, int size, int i) {
  const float anywhere = (3 * r.unit() - 1) * float(size);
  const float whole = std::floor(anywhere);
  const float special[] = {std::nanf(""), INFINITY, -INFINITY, -0.0f, 3e9f, -3e9f, 1e20f, float(size), 1e-40f};
  if (i < 9) return special[i];
  switch (r.word() % 8) {
    case 0: return whole;
    case 1: return whole + 0.5f;
    case 2: return std::nextafter(whole, r.word() % 2 ? INFINITY : -INFINITY);
    case 3: return std::nextafter(whole + 0.5f, r.word() % 2 ? INFINITY : -INFINITY);
    case 4: return whole + float(r.word() % 1024) / 1024;
    default: return anywhere;
  }
}

FILE* words;
long written = 0;

void run(const std::string& name, cudaTextureObject_t t, As as, int dims, const int* size, bool normalized,
         bool fetch) {
  Random random{12345};
  std::vector<float> at(3 * kReads);
  for (int i = 0; i < kReads; ++i)
    for (int d = 0; d < 3; ++d) {
      // What is no number in one dimension at a time.
      const float c = coordinate(random, size[d], i < 27 && i % 3 == d ? i / 3 : 9);
      at[size_t(3 * i + d)] = fetch        ? std::fmin(std::fmax(std::floor(c), -1e9f), 1e9f)
                              : normalized ? c / float(size[d])
                                           : c;
    }
  if (fetch)
    for (float& c : at)
      if (!(c == c)) c = 0;
  float* in;
  uint32_t* out;
  CHECK(cudaMalloc(&in, at.size() * 4));
  CHECK(cudaMalloc(&out, kReads * 16));
  CHECK(cudaMemcpy(in, at.data(), at.size() * 4, cudaMemcpyHostToDevice));
  auto launch = [&](auto kernel) { kernel<<<kReads / 128, 128>>>(t, in, out); };
  if (fetch)
    as == As::f32   ? launch(read<As::f32, 1, true>)
    : as == As::s32 ? launch(read<As::s32, 1, true>)
                    : launch(read<As::u32, 1, true>);
  else if (dims == 1)
    as == As::f32   ? launch(read<As::f32, 1, false>)
    : as == As::s32 ? launch(read<As::s32, 1, false>)
                    : launch(read<As::u32, 1, false>);
  else if (dims == 2)
    as == As::f32   ? launch(read<As::f32, 2, false>)
    : as == As::s32 ? launch(read<As::s32, 2, false>)
                    : launch(read<As::u32, 2, false>);
  else
    as == As::f32   ? launch(read<As::f32, 3, false>)
    : as == As::s32 ? launch(read<As::s32, 3, false>)
                    : launch(read<As::u32, 3, false>);
  CHECK(cudaGetLastError());
  std::vector<uint32_t> back(kReads * 4);
  CHECK(cudaMemcpy(back.data(), out, kReads * 16, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  std::printf("%s %ld\n", name.c_str(), written);
  written += long(std::fwrite(back.data(), 4, back.size(), words));
}

struct Sampler {
  cudaTextureAddressMode mode[3] = {cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp};
  cudaTextureFilterMode filter = cudaFilterModePoint;
  cudaTextureReadMode read = cudaReadModeElementType;
  bool normalized = false;
};

void sample(const std::string& name, const cudaResourceDesc& resource, const Sampler& s, As as, int dims,
            const int* size, bool fetch = false) {
  cudaTextureDesc d{};
  for (int i = 0; i < 3; ++i) d.addressMode[i] = s.mode[i];
  d.filterMode = s.filter;
  d.readMode = s.read;
  d.normalizedCoords = s.normalized;
  cudaTextureObject_t t;
  if (const cudaError_t e = cudaCreateTextureObject(&t, &resource, &d, nullptr)) {
    (void)cudaGetLastError();
    std::printf("%s %s\n", name.c_str(), cudaGetErrorName(e));
    return;
  }
  run(name, t, as, dims, size, s.normalized, fetch);
  CHECK(cudaDestroyTextureObject(t));
}

cudaArray_t make_array(const Format& f, int channels, int dims, const int* size, bool wide) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc(f.bits, channels > 1 ? f.bits : 0, channels > 2 ? f.bits : 0,
                                                           channels > 3 ? f.bits : 0, f.kind);
  const size_t texel = size_t(channels * f.bits / 8), row = texel * size_t(size[0]);
  const size_t h = dims > 1 ? size_t(size[1]) : 1, depth = dims > 2 ? size_t(size[2]) : 1;
  const std::vector<uint8_t> data = texels(f, channels, size_t(size[0]) * h * depth, wide);
  cudaArray_t a;
  if (dims < 3) {
    CHECK(cudaMallocArray(&a, &desc, size_t(size[0]), dims > 1 ? h : 0));
    CHECK(cudaMemcpy2DToArray(a, 0, 0, data.data(), row, row, h, cudaMemcpyHostToDevice));
  } else {
    CHECK(cudaMalloc3DArray(&a, &desc, make_cudaExtent(size_t(size[0]), h, depth)));
    cudaMemcpy3DParms p{};
    p.srcPtr = make_cudaPitchedPtr(const_cast<uint8_t*>(data.data()), row, size_t(size[0]), h);
    p.dstArray = a;
    p.extent = make_cudaExtent(size_t(size[0]), h, depth);
    p.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&p));
  }
  return a;
}

cudaResourceDesc of_array(cudaArray_t a) {
  cudaResourceDesc r{};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = a;
  return r;
}

const char* kModes[] = {"wrap", "clamp", "mirror", "border"};

void formats() {
  const int size[] = {13, 11, 1};
  for (const Format& f : kFormats)
    for (int channels : {1, 2, 4}) {
      cudaArray_t a = make_array(f, channels, 2, size, false);
      const std::string name = "format." + std::string(f.name) + "x" + std::to_string(channels);
      const bool is_float = f.kind == cudaChannelFormatKindFloat;
      const As as = is_float ? As::f32 : f.kind == cudaChannelFormatKindSigned ? As::s32 : As::u32;
      Sampler s;
      sample(name + ".point", of_array(a), s, as, 2, size);
      if (!is_float && f.bits < 32) {
        s.read = cudaReadModeNormalizedFloat;
        sample(name + ".point.unit", of_array(a), s, As::f32, 2, size);
      }
      if (is_float || f.bits < 32) {
        s.filter = cudaFilterModeLinear;
        sample(name + ".linear", of_array(a), s, As::f32, 2, size);
      }
      CHECK(cudaFreeArray(a));
    }
}

void dimensions() {
  const int sizes[][3] = {{37, 1, 1}, {13, 11, 1}, {7, 6, 5}};
  for (int dims : {1, 2, 3})
    for (bool wide : {false, true}) {
      cudaArray_t a = make_array(kFormats[7], 1, dims, sizes[dims - 1], wide);
      for (int mode = 0; mode < 4; ++mode)
        for (bool linear : {false, true})
          for (bool normalized : {false, true}) {
            Sampler s;
            for (auto& m : s.mode) m = cudaTextureAddressMode(mode);
            s.filter = linear ? cudaFilterModeLinear : cudaFilterModePoint;
            s.normalized = normalized;
            sample(std::to_string(dims) + "d." + kModes[mode] + (linear ? ".linear" : ".point") +
                       (normalized ? ".normalized" : "") + (wide ? ".wide" : ""),
                   of_array(a), s, As::f32, dims, sizes[dims - 1]);
          }
      Sampler mixed;
      mixed.mode[0] = cudaAddressModeBorder, mixed.mode[1] = cudaAddressModeMirror, mixed.mode[2] = cudaAddressModeWrap;
      mixed.filter = cudaFilterModeLinear, mixed.normalized = true;
      sample(std::to_string(dims) + "d.mixed" + (wide ? ".wide" : ""), of_array(a), mixed, As::f32, dims,
             sizes[dims - 1]);
      CHECK(cudaFreeArray(a));
    }
}

void memory() {
  for (const Format& f : kFormats)
    for (int channels : {1, 4}) {
      const int size[] = {100, 1, 1};
      const std::vector<uint8_t> data = texels(f, channels, 100, false);
      void* p;
      CHECK(cudaMalloc(&p, data.size()));
      CHECK(cudaMemcpy(p, data.data(), data.size(), cudaMemcpyHostToDevice));
      cudaResourceDesc r{};
      r.resType = cudaResourceTypeLinear;
      r.res.linear.devPtr = p;
      r.res.linear.desc = cudaCreateChannelDesc(f.bits, channels > 1 ? f.bits : 0, channels > 2 ? f.bits : 0,
                                                channels > 3 ? f.bits : 0, f.kind);
      r.res.linear.sizeInBytes = data.size();
      const As as = f.kind == cudaChannelFormatKindFloat    ? As::f32
                    : f.kind == cudaChannelFormatKindSigned ? As::s32
                                                            : As::u32;
      Sampler s;
      sample("linear." + std::string(f.name) + "x" + std::to_string(channels), r, s, as, 1, size, true);
      if (f.bits < 32 && f.kind != cudaChannelFormatKindFloat) {
        s.read = cudaReadModeNormalizedFloat;
        sample("linear." + std::string(f.name) + "x" + std::to_string(channels) + ".unit", r, s, As::f32, 1, size,
               true);
      }
      CHECK(cudaFree(p));
    }
  const int size[] = {13, 11, 1};
  const std::vector<uint8_t> data = texels(kFormats[7], 1, 13 * 11, false);
  void* p;
  size_t pitch;
  CHECK(cudaMallocPitch(&p, &pitch, 52, 11));
  CHECK(cudaMemcpy2D(p, pitch, data.data(), 52, 52, 11, cudaMemcpyHostToDevice));
  cudaResourceDesc r{};
  r.resType = cudaResourceTypePitch2D;
  r.res.pitch2D.devPtr = p;
  r.res.pitch2D.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  r.res.pitch2D.width = 13, r.res.pitch2D.height = 11, r.res.pitch2D.pitchInBytes = pitch;
  Sampler s;
  sample("pitch.point", r, s, As::f32, 2, size);
  s.filter = cudaFilterModeLinear;
  sample("pitch.linear", r, s, As::f32, 2, size);
  CHECK(cudaFree(p));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !(words = std::fopen(argv[1], "wb"))) return std::printf("textures FILE: name a file to write\n"), 2;
  formats();
  dimensions();
  memory();
  CHECK(cudaDeviceSynchronize());
  std::fclose(words);
}
