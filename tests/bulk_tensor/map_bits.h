// A tensor map written field by field for the tests, from the table of bit positions alone: shares no code with the
// encoder in cuda/ or the decoder in engines/.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace tinygpu::test {

struct MapFields {
  uint64_t address = 0;
  int rank = 1;
  int type = 0;  // the object's code: 0 u8, 1 u16, 2 u32, 3 s32, 4 u64, 5 s64, 6 f16, 7 f32, 8 f32.ftz, 9 f64, 10 bf16,
                 // 11 16U4_ALIGN8B, 12 16U4_ALIGN16B, 13 16U6_ALIGN16B
  bool tf32 = false;
  int interleave = 0, swizzle = 0, atomicity = 0;
  bool nan_fill = false, im2col = false;
  bool large = false;  // bit 85, which CuTe DSL sets for tensors of 128 KiB and more
  bool wide = false;   // im2col for .im2col::w: corners of W alone, with a mark where the rank is 4 or 5
  uint64_t dim[5] = {1, 1, 1, 1, 1};
  uint64_t stride[5] = {0, 0, 0, 0, 0};  // bytes, [1] of dimension 1
  int box[5] = {1, 1, 1, 1, 1};
  int step[5] = {1, 1, 1, 1, 1};
  int lower[3] = {0, 0, 0}, upper[3] = {0, 0, 0};
  int channels = 1, pixels = 1;
};

struct Extent {
  int columns, rows;
};

/// A matrix whose rows lie `pitch` bytes apart, copied in boxes.
inline MapFields matrix_map(int type, Extent size, uint64_t pitch, Extent box, int swizzle = 0) {
  MapFields m;
  m.rank = 2;
  m.type = type;
  m.swizzle = swizzle;
  m.dim[0] = uint64_t(size.columns);
  m.dim[1] = uint64_t(size.rows);
  m.stride[1] = pitch;
  m.box[0] = box.columns;
  m.box[1] = box.rows;
  return m;
}

struct alignas(64) MapObject {
  std::array<uint8_t, 128> bytes{};
  void set(int low, int count, uint64_t value) {
    for (int i = 0; i < count; ++i) {
      const int bit = low + i;
      if (value >> i & 1)
        bytes[std::size_t(bit / 8)] |= uint8_t(1 << bit % 8);
      else
        bytes[std::size_t(bit / 8)] &= uint8_t(~(1 << bit % 8));
    }
  }
};

inline MapObject make_map(const MapFields& f) {
  MapObject m;
  m.set(0, 64, f.address);
  m.set(64, 1, f.im2col);
  m.set(65, 1, f.wide && f.rank > 3);
  m.set(68, 3, uint64_t(f.rank - 1));
  m.set(71, 4, uint64_t(f.type));
  m.set(75, 2, uint64_t(f.interleave));
  m.set(77, 2, uint64_t(f.swizzle));
  m.set(79, 1, f.nan_fill);
  m.set(80, 1, f.tf32);
  m.set(83, 2, uint64_t(f.atomicity));
  m.set(85, 1, f.large);
  for (int i = 0; i < f.rank && i < 5; ++i) {  // ranks that no map has are written as they are
    m.set(256 + 32 * i, 32, f.dim[i] - 1);
    m.set(416 + 3 * i, 3, uint64_t(f.step[i] - 1));
    if (i) {
      m.set(96 + 32 * (i - 1), 32, f.stride[i] >> 4);
      m.set(224 + 4 * (i - 1), 4, f.stride[i] >> 36);
    }
    if (!f.im2col) m.set(440 + 8 * i, 8, uint64_t(f.box[i] - 1));
  }
  if (f.im2col) {
    m.set(440, 8, uint64_t(f.channels - 1));
    const int n = f.wide ? 1 : f.rank - 2, width = n == 1 ? 16 : n == 2 ? 8 : 5;
    for (int i = 0; i < n; ++i) {
      m.set(448 + width * i, width, uint64_t(int64_t(f.lower[i])));
      m.set(464 + width * i, width, uint64_t(int64_t(f.upper[i])));
    }
    m.set(480, 10, uint64_t(f.pixels - 1));
  }
  return m;
}

}  // namespace tinygpu::test
