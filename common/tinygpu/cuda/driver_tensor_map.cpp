// cuTensorMapEncode*: the violated parameter is named on stderr.
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/tensor_map.h"

using namespace tinygpu::cuda;

namespace {

CUresult encode(const char* function, TensorMapParameters p) {
  return in_context([&](State& s) {
    p.blackwell = s.machine.spec().compute_major >= 10;
    const std::string wrong = check_tensor_map(p);
    if (!wrong.empty()) {
      say("tensor-map", std::string(function) + ": " + wrong);
      return CUDA_ERROR_INVALID_VALUE;
    }
    encode_tensor_map(p);
    return CUDA_SUCCESS;
  });
}

TensorMapParameters common(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                           const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* steps,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  TensorMapParameters p;
  p.object = map;
  p.type = type;
  p.rank = rank;
  p.address = reinterpret_cast<uint64_t>(address);
  p.dims = dims;
  p.strides = strides;
  p.steps = steps;
  p.interleave = interleave;
  p.swizzle = swizzle;
  p.promotion = promotion;
  p.fill = fill;
  return p;
}

}  // namespace

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  TensorMapParameters p = common(map, type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill);
  p.box = box;
  return encode("cuTensorMapEncodeTiled", p);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* dims, const cuuint64_t* strides, const int* lower, const int* upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  TensorMapParameters p = common(map, type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill);
  p.kind = TensorMapParameters::Kind::im2col;
  p.lower = lower;
  p.upper = upper;
  p.channels = channels;
  p.pixels = pixels;
  return encode("cuTensorMapEncodeIm2col", p);
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                     const cuuint64_t* dims, const cuuint64_t* strides, int lower, int upper,
                                     cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                     CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                     CUtensorMapFloatOOBfill fill) {
  TensorMapParameters p = common(map, type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill);
  p.kind = TensorMapParameters::Kind::im2col_wide;
  p.lower = &lower;
  p.upper = &upper;
  p.channels = channels;
  p.pixels = pixels;
  p.wide_mode = mode;
  return encode("cuTensorMapEncodeIm2colWide", p);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return in_context([&](State&) {
    if (!map || reinterpret_cast<uintptr_t>(map) % 64 || reinterpret_cast<uintptr_t>(address) % 16) {
      say("tensor-map", "cuTensorMapReplaceAddress: the map must be aligned to 64 bytes and globalAddress to 16");
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(map, &address, sizeof address);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
