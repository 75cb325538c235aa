// The 128-byte tensor map, bit by bit (little-endian, bit 0 is the lowest of byte 0). Source: 2,893 maps and 3,107
// refusals of NVIDIA's driver on an H200 (580.159.04), most fields also in the code that ptxas makes of
// tensormap.replace; tests/cuda replays them all. What only a Blackwell's driver takes is inferred: packed types
// (but for their codes), swizzle atoms, im2col wide above rank 3.
//
//   63:0     globalAddress
//   64       1: im2col                       65 1: im2col wide of rank 4 or 5 (inferred; rank 3 needs no mark)
//   70:68    rank − 1
//   74:71    element type: 0 u8 1 u16 2 u32 3 s32 4 u64 5 s64 6 f16 7 f32 8 f32.ftz 9 f64 10 bf16;
//            tf32 is 7 and tf32.ftz is 8 with bit 80 set; 11 b4x16 (16U4_ALIGN8B), 12 b4x16_p64 (16U4_ALIGN16B),
//            13 b6x16 (16U6_ALIGN16B): as ptxas 13.0 for sm_100a and CuTe DSL 4.8's encoder write them
//   76:75    interleave     78:77 swizzle (0 none, 1 32 B, 2 64 B, 3 128 B)     79 NaN fill     80 tf32
//   82:81    L2 promotion   84:83 atomicity of the 128 B swizzle (0 16 B, 1 32 B, 2 32 B with 8 B flip, 3 64 B)
//   85       CuTe DSL sets it for tensors of 128 KiB and more, this driver never; a copy does not depend on it
//   127:96, 159:128, 191:160, 223:192     strides of dimensions 1..4 >> 4, low 32 bits
//   227:224, 231:228, 235:232, 239:236    their high 4 bits
//   287:256 … 415:384                     dimension i − 1
//   418:416 … 430:428                     element stride i − 1
//   447:440 … 479:472                     tiled: box dimension i − 1
//   447:440                               im2col: channels per pixel − 1
//   463:448                               im2col: lower corner, W H D from the low end: 16, 2 × 8 or 3 × 5 bits
//   479:464                               im2col: upper corner, the same way
//   489:480                               im2col: pixels per column − 1
//   543:512                               bytes of a whole box: elements × product of floor(boxDim / elementStride), or
//                                         channels × pixels
//   607:576                               alignment that the swizzle asks of shared memory: 16, 256, 512, 1024
#include "common/tinygpu/cuda/tensor_map.h"

#include <cuda.h>
#include <fmt/format.h>

#include <cstring>

namespace tinygpu::cuda {

namespace {

constexpr uint32_t kBitsPerElement[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
constexpr uint64_t kStrideLimit = uint64_t(1) << 40;
constexpr uint64_t kDimLimit = uint64_t(1) << 32;
/// A box must fit an SM's shared memory, 228 KiB. The driver took 233,280 bytes and refused 235,200.
constexpr uint64_t kBoxLimit = 233472;

bool padded(uint32_t type) {
  return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B || type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

bool is_float(uint32_t type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

uint32_t swizzle_span(uint32_t swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE: return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B: return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B: return 64;
    default: return 128;
  }
}

/// Bytes of one run of `elements` in shared memory: packed types with padding take a byte for each element.
uint64_t run_bytes(uint32_t type, uint64_t elements) {
  return padded(type) ? elements : elements * kBitsPerElement[type] / 8;
}

std::string check_shape(const TensorMapParameters& p, bool wide_rows) {
  const uint32_t lowest = p.kind != TensorMapParameters::Kind::tiled || p.interleave ? 3 : 1;
  if (p.rank < lowest || p.rank > 5)
    return fmt::format("tensorRank is {}: it must be {} to 5{}", p.rank, lowest,
                       lowest == 3 ? " with interleave or im2col" : "");
  const uint64_t align = wide_rows ? 32 : 16;
  const char* why = wide_rows ? " with interleave 32B and with padded packed types" : "";
  if (p.address % align)
    return fmt::format("globalAddress is {:#x}: it must be a multiple of {}{}", p.address, align, why);
  for (uint32_t i = 0; i < p.rank; ++i) {
    if (p.dims[i] == 0 || p.dims[i] > kDimLimit)
      return fmt::format("globalDim[{}] is {}: it must be 1 to 2^32", i, p.dims[i]);
    if (i == 0 && padded(p.type) && p.dims[0] % 128)
      return fmt::format("globalDim[0] is {}: it must be a multiple of 128 with this type", p.dims[0]);
    if (i == 0 && p.type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B && p.dims[0] % 2)
      return fmt::format("globalDim[0] is {}: it must be even with this type", p.dims[0]);
  }
  for (uint32_t i = 0; i + 1 < p.rank; ++i)
    if (p.strides[i] % align || p.strides[i] >= kStrideLimit)
      return fmt::format("globalStrides[{}] is {}: it must be a multiple of {}{} and less than 2^40", i, p.strides[i],
                         align, why);
  for (uint32_t i = 0; i < p.rank; ++i)
    if (p.steps[i] == 0 || p.steps[i] > 8)
      return fmt::format("elementStrides[{}] is {}: it must be 1 to 8", i, p.steps[i]);
  return {};
}

std::string check_modes(const TensorMapParameters& p) {
  if (!p.blackwell && p.type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B && p.type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B)
    return fmt::format("tensorDataType is {}: packed types need compute capability 10.0", p.type);
  if (!p.blackwell && p.swizzle > CU_TENSOR_MAP_SWIZZLE_128B && p.swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)
    return fmt::format("swizzle is {}: swizzle atoms need compute capability 10.0", p.swizzle);
  if (!p.blackwell && p.kind == TensorMapParameters::Kind::im2col_wide && p.rank != 3)
    return "im2col wide needs compute capability 10.0";
  if (p.type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B)
    return fmt::format("tensorDataType is {}: it must be a CUtensorMapDataType, 0 to 15", p.type);
  if (p.interleave > CU_TENSOR_MAP_INTERLEAVE_32B)
    return fmt::format("interleave is {}: it must be NONE, 16B or 32B (0 to 2)", p.interleave);
  if (p.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)
    return fmt::format("swizzle is {}: it must be a CUtensorMapSwizzle, 0 to 6", p.swizzle);
  if (p.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return fmt::format("l2Promotion is {}: it must be NONE, 64B, 128B or 256B (0 to 3)", p.promotion);
  if (p.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return fmt::format("oobFill is {}: it must be NONE or NAN_REQUEST_ZERO_FMA (0 or 1)", p.fill);
  if (p.fill && !is_float(p.type))
    return "oobFill is NAN_REQUEST_ZERO_FMA: it needs a floating-point type that is not packed";
  if (p.interleave && p.type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B)
    return "interleave must be NONE with type 16U6_ALIGN16B";
  if (padded(p.type)) {
    const bool atom_64 =
        p.swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B && p.type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
    if (p.swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && p.swizzle != CU_TENSOR_MAP_SWIZZLE_128B &&
        p.swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B && !atom_64)
      return fmt::format("swizzle is {}: this packed type allows NONE, 128B, 128B_ATOM_32B{}", p.swizzle,
                         p.type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ? " and 128B_ATOM_64B" : "");
  }
  if (p.kind == TensorMapParameters::Kind::im2col_wide) {
    if (p.interleave) return "interleave must be NONE with im2col wide";
    if (p.swizzle < CU_TENSOR_MAP_SWIZZLE_64B || p.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B)
      return fmt::format("swizzle is {}: im2col wide allows 64B, 128B and 128B_ATOM_32B", p.swizzle);
    if (p.wide_mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128)
      return fmt::format("mode is {}: it must be W or W128 (0 or 1)", p.wide_mode);
  }
  return {};
}

std::string check_run(const TensorMapParameters& p, const char* name, uint32_t elements) {
  const uint64_t bytes = run_bytes(p.type, elements);
  if (padded(p.type) && elements != 128) return fmt::format("{} is {}: it must be 128 with this type", name, elements);
  if (uint64_t(elements) * kBitsPerElement[p.type] % 128)
    return fmt::format("{} is {}, {} bytes: they must be a multiple of 16", name, elements, bytes);
  if (!p.interleave && p.swizzle && bytes > swizzle_span(p.swizzle))
    return fmt::format("{} is {}, {} bytes: the swizzle allows at most {}", name, elements, bytes,
                       swizzle_span(p.swizzle));
  return {};
}

/// What the driver takes for the size of a box (it rounds the stride's quotient down, and dimension 0's as well).
uint64_t box_bytes(const TensorMapParameters& p) {
  const uint64_t bits = kBitsPerElement[p.type];
  if (p.kind != TensorMapParameters::Kind::tiled) return uint64_t(p.channels) * p.pixels * bits / 8;
  uint64_t n = bits;
  for (uint32_t i = 0; i < p.rank; ++i) n *= p.steps[i] ? p.box[i] / p.steps[i] : p.box[i];
  return n / 8;
}

uint32_t swizzle_alignment(uint32_t swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE: return 16;
    case CU_TENSOR_MAP_SWIZZLE_32B: return 256;
    case CU_TENSOR_MAP_SWIZZLE_64B: return 512;
    default: return 1024;
  }
}

std::string check_size(const TensorMapParameters& p) {
  const uint64_t bytes = box_bytes(p);
  if (bytes <= kBoxLimit) return {};
  return fmt::format("a box has {} bytes: it must fit shared memory, {} bytes", bytes, kBoxLimit);
}

std::string check_box(const TensorMapParameters& p) {
  for (uint32_t i = 0; i < p.rank; ++i)
    if (p.box[i] == 0 || p.box[i] > 256) return fmt::format("boxDim[{}] is {}: it must be 1 to 256", i, p.box[i]);
  return check_run(p, "boxDim[0]", p.box[0]);
}

std::string check_im2col(const TensorMapParameters& p) {
  const bool wide = p.kind == TensorMapParameters::Kind::im2col_wide;
  const uint32_t corners = wide ? 1 : p.rank - 2;
  const int limit = corners == 1 ? 32768 : corners == 2 ? 128 : 16;
  for (uint32_t i = 0; i < corners; ++i)
    for (const auto& [name, value] :
         {std::pair{"pixelBoxLowerCorner", p.lower[i]}, {"pixelBoxUpperCorner", p.upper[i]}}) {
      if (value < -limit || value >= limit)
        return fmt::format("{}[{}] is {}: it must be {} to {} with rank {}", name, i, value, -limit, limit - 1, p.rank);
    }
  // The driver computes the extent in 32 bits, and holds the corners of interleaved tensors against dimensions 0, 1, 2.
  const uint32_t first = p.interleave ? 0 : 1;
  for (uint32_t i = 0; i < corners; ++i)
    if (int64_t(int32_t(p.dims[i + first])) + p.upper[i] - p.lower[i] <= 0)
      return fmt::format(
          "pixelBoxLowerCorner[{0}] {1} and pixelBoxUpperCorner[{0}] {2} leave no pixel of globalDim[{3}] {4}", i,
          p.lower[i], p.upper[i], i + first, p.dims[i + first]);
  if (p.channels == 0 || p.channels > 256)
    return fmt::format("channelsPerPixel is {}: it must be 1 to 256", p.channels);
  if (p.pixels == 0 || p.pixels > 1024) return fmt::format("pixelsPerColumn is {}: it must be 1 to 1024", p.pixels);
  return check_run(p, "channelsPerPixel", p.channels);
}

/// Writes bits [low, low + count) of the object.
class Bits {
 public:
  explicit Bits(void* object) : bytes_(static_cast<uint8_t*>(object)) { std::memset(bytes_, 0, 128); }
  void put(uint32_t low, uint32_t count, uint64_t value) {
    for (uint32_t i = 0; i < count; ++i)
      if (value >> i & 1) bytes_[(low + i) / 8] |= uint8_t(1 << (low + i) % 8);
  }

 private:
  uint8_t* bytes_;
};

struct ElementCode {
  uint32_t code;
  bool tf32;
};
ElementCode element_code(uint32_t type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32: return {7, false};
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ: return {8, false};
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return {9, false};
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return {10, false};
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: return {7, true};
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: return {8, true};
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B: return {11, false};
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B: return {12, false};
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B: return {13, false};
    default: return {type, false};  // integers and f16 have the same number
  }
}

struct SwizzleCode {
  uint32_t mode, atomicity;
};
SwizzleCode swizzle_code(uint32_t swizzle) {
  if (swizzle <= CU_TENSOR_MAP_SWIZZLE_128B) return {swizzle, 0};
  return {3, swizzle - CU_TENSOR_MAP_SWIZZLE_128B};
}

}  // namespace

std::string check_tensor_map(const TensorMapParameters& p) {
  using Kind = TensorMapParameters::Kind;
  // The manual asks for 64 bytes' alignment; the driver of an H200 takes an object anywhere.
  if (!p.object) return "tensorMap is null";
  if (std::string e = check_modes(p); !e.empty()) return e;
  if (!p.dims || (!p.strides && p.rank > 1) || !p.steps) return "an array parameter is null";
  if (p.kind == Kind::tiled ? !p.box : !p.lower || !p.upper) return "an array parameter is null";
  const bool wide_rows = p.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || padded(p.type);
  if (std::string e = check_shape(p, wide_rows); !e.empty()) return e;
  if (std::string e = p.kind == Kind::tiled ? check_box(p) : check_im2col(p); !e.empty()) return e;
  return check_size(p);
}

void encode_tensor_map(const TensorMapParameters& p) {
  using Kind = TensorMapParameters::Kind;
  Bits bits(p.object);
  bits.put(0, 64, p.address);
  bits.put(64, 1, p.kind != Kind::tiled);
  bits.put(65, 1, p.kind == Kind::im2col_wide && p.rank > 3);
  bits.put(68, 3, p.rank - 1);
  const ElementCode element = element_code(p.type);
  bits.put(71, 4, element.code);
  bits.put(75, 2, p.interleave);
  const SwizzleCode swizzle = swizzle_code(p.swizzle);
  bits.put(77, 2, swizzle.mode);
  bits.put(79, 1, p.fill);
  bits.put(80, 1, element.tf32);
  bits.put(81, 2, p.promotion);
  bits.put(83, 2, swizzle.atomicity);
  for (uint32_t i = 0; i + 1 < p.rank; ++i) {
    const uint64_t units = p.strides[i] >> 4;
    bits.put(96 + 32 * i, 32, units & 0xffffffff);
    bits.put(224 + 4 * i, 4, units >> 32);
  }
  for (uint32_t i = 0; i < p.rank; ++i) {
    bits.put(256 + 32 * i, 32, p.dims[i] - 1);
    bits.put(416 + 3 * i, 3, p.steps[i] - 1);
  }
  bits.put(512, 32, box_bytes(p));
  bits.put(576, 32, swizzle_alignment(p.swizzle));
  if (p.kind == Kind::tiled) {
    for (uint32_t i = 0; i < p.rank; ++i) bits.put(440 + 8 * i, 8, p.box[i] - 1);
    return;
  }
  const uint32_t corners = p.kind == Kind::im2col_wide ? 1 : p.rank - 2;
  const uint32_t width = corners == 1 ? 16 : corners == 2 ? 8 : 5;
  bits.put(440, 8, p.channels - 1);
  for (uint32_t i = 0; i < corners; ++i) {
    bits.put(448 + width * i, width, uint32_t(p.lower[i]));
    bits.put(464 + width * i, width, uint32_t(p.upper[i]));
  }
  bits.put(480, 10, p.pixels - 1);
}

}  // namespace tinygpu::cuda
