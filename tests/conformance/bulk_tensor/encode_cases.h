// Cases for cuTensorMapEncode*: parameters within the documented limits, and the same with one parameter moved to or
// past a limit. What the driver answers (result code and the 128 bytes) is the golden file.
#pragma once
#include <cstdint>
#include <vector>

#include "tests/conformance/random.h"

namespace conformance {

struct EncodeCase {
  int kind = 0;  // 0 tiled, 1 im2col, 2 im2col wide
  uint32_t type = 0, rank = 1;
  uint64_t address = 0;
  uint64_t dims[5] = {1, 1, 1, 1, 1};
  uint64_t strides[4] = {16, 16, 16, 16};
  uint32_t box[5] = {1, 1, 1, 1, 1};
  uint32_t steps[5] = {1, 1, 1, 1, 1};
  int lower[3] = {0, 0, 0}, upper[3] = {0, 0, 0};
  uint32_t channels = 1, pixels = 1;
  uint32_t interleave = 0, swizzle = 0, promotion = 0, fill = 0, wide_mode = 0;
};

struct Extent {
  uint32_t columns, rows;
};

/// A matrix whose rows lie `pitch` bytes apart, copied in boxes.
inline EncodeCase matrix_case(uint32_t type, Extent size, uint64_t pitch, Extent box, uint32_t swizzle = 0) {
  EncodeCase c;
  c.type = type;
  c.rank = 2;
  c.dims[0] = size.columns;
  c.dims[1] = size.rows;
  c.strides[0] = pitch;
  c.box[0] = box.columns;
  c.box[1] = box.rows;
  c.swizzle = swizzle;
  return c;
}

/// Bits of one element by CUtensorMapDataType.
inline int encode_bits(uint32_t type) {
  constexpr int bits[16] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
  return bits[type & 15];
}

inline EncodeCase encode_case(Random& r) {
  EncodeCase c;
  c.kind = int(r.below(10)) < 6 ? 0 : r.below(10) < 7 ? 1 : 2;
  c.type = uint32_t(r.below(r.one_in(4) ? 16 : 13));
  c.interleave = r.one_in(5) && c.kind < 2 ? uint32_t(1 + r.below(2)) : 0;
  c.rank = uint32_t(c.kind || c.interleave ? r.between(3, 5) : r.between(1, 5));
  const int bits = encode_bits(c.type);
  const bool packed = c.type >= 14;
  c.swizzle = c.interleave == 2 ? 1 : uint32_t(r.below(r.one_in(4) ? 7 : 4));
  if (packed) c.swizzle = r.one_in(2) ? 3 : 0;
  if (c.kind == 2) c.swizzle = uint32_t(r.between(2, 4));
  c.promotion = uint32_t(r.below(4));
  const bool floats = (c.type >= 6 && c.type <= 12 && c.type != 8) || c.type == 8;
  c.fill = floats ? uint32_t(r.below(2)) : 0;
  c.address = 0x7f0000000000ull + r.below(1 << 20) * 32;
  const uint64_t unit = packed ? 128 : c.type == 13 ? 32 : 1;
  for (uint32_t i = 0; i < c.rank; ++i) {
    c.dims[i] = 1 + r.below(r.one_in(3) ? 0xffffffffull : 300);
    c.steps[i] = uint32_t(r.one_in(3) ? r.between(1, 8) : 1);
    c.box[i] = uint32_t(r.between(1, r.one_in(3) ? 256 : 16));
  }
  c.dims[0] = unit * (1 + r.below(r.one_in(4) ? (1u << 20) : 64));
  // A row of at most the swizzle's span, in whole 16-byte pieces.
  const int span = c.swizzle == 0 ? 256 : c.swizzle == 1 ? 32 : c.swizzle == 2 ? 64 : 128;
  const int pieces = span / 16;
  uint32_t inner = uint32_t(r.between(1, pieces)) * 128 / bits;
  if (packed) inner = 128;
  if (inner > 256) inner = 256;
  c.box[0] = inner;
  const uint64_t align = c.interleave == 2 || packed ? 32 : 16;
  uint64_t stride = (c.dims[0] * bits / 8 + align - 1) / align * align;
  for (uint32_t i = 0; i + 1 < c.rank; ++i) {
    c.strides[i] = stride + (r.one_in(3) ? align * r.below(100) : 0);
    stride = r.one_in(2) ? c.strides[i] * (1 + c.dims[i + 1] % 97) : c.strides[i] + align * r.below(1u << r.below(28));
    stride = stride / align * align;
    if (stride >= (1ull << 40)) stride = (1ull << 40) - align;
    if (c.strides[i] >= (1ull << 40)) c.strides[i] = (1ull << 40) - align;
  }
  const int corner_bits = c.rank == 3 ? 15 : c.rank == 4 ? 7 : 4;
  for (int i = 0; i < 3; ++i) {
    c.lower[i] = int(r.between(-(1 << corner_bits), (1 << corner_bits) - 1));
    c.upper[i] = int(r.between(-(1 << corner_bits), (1 << corner_bits) - 1));
    if (r.one_in(2)) c.lower[i] = int(r.between(-3, 3)), c.upper[i] = int(r.between(-3, 3));
  }
  if (c.kind == 2) c.lower[0] = int(r.between(-32768, 32767)), c.upper[0] = int(r.between(-32768, 32767));
  c.channels = inner;
  c.pixels = uint32_t(r.between(1, r.one_in(2) ? 1024 : 128));
  c.wide_mode = uint32_t(r.below(2));

  if (r.one_in(2)) {  // one parameter at or past a limit
    const int i = int(r.below(c.rank));
    switch (r.below(16)) {
      case 0: c.type = uint32_t(r.below(18)); break;
      case 1: c.rank = uint32_t(r.below(7)); break;
      case 2: c.address += r.pick({1ull, 8ull, 16ull, 64ull}); break;
      case 3: c.dims[i] = r.pick({0ull, 1ull, 0xffffffffull, 0x100000000ull, 0x100000001ull}); break;
      case 4: c.strides[i & 3] += r.pick({1ull, 8ull, 16ull, 64ull}); break;
      case 5:
        c.strides[i & 3] = r.pick({0ull, 16ull, 1ull << 40, (1ull << 40) - 16, (1ull << 40) - 32, 1ull << 41});
        break;
      case 6: c.box[i] = r.pick({0u, 1u, 255u, 256u, 257u, 512u}); break;
      case 7: c.steps[i] = r.pick({0u, 1u, 8u, 9u, 16u}); break;
      case 8: c.interleave = uint32_t(r.below(4)); break;
      case 9: c.swizzle = uint32_t(r.below(8)); break;
      case 10: c.promotion = uint32_t(r.below(6)); break;
      case 11: c.fill = uint32_t(r.below(3)); break;
      case 12:
        c.lower[i % 3] = int(r.pick({-32769, -32768, -129, -128, -17, -16, 15, 16, 127, 128, 32767, 32768}));
        break;
      case 13:
        c.upper[i % 3] = int(r.pick({-32769, -32768, -129, -128, -17, -16, 15, 16, 127, 128, 32767, 32768}));
        break;
      case 14: c.channels = r.pick({0u, 1u, 8u, 128u, 255u, 256u, 257u}); break;
      case 15: c.pixels = r.pick({0u, 1u, 1023u, 1024u, 1025u}); break;
    }
  }
  return c;
}

inline std::vector<EncodeCase> encode_cases(size_t count, uint64_t seed = 0x7e45) {
  Random r(seed);
  std::vector<EncodeCase> out;
  for (size_t i = 0; i < count; ++i) out.push_back(encode_case(r));
  return out;
}

}  // namespace conformance
