// Tensor loads of every mode against the reference.
#include "tests/bulk_tensor/tensor_fixture.h"

namespace tinygpu::test {
namespace {

class TensorLoad : public TensorCopy {
 protected:
  TensorLoad() : TensorCopy(load_kernels()) {}
};

TEST_F(TensorLoad, GemmTileWithSwizzle128) {
  Case c;
  c.map = matrix_map(10, {256, 512}, 512, {64, 128}, 3);
  c.at[0] = 64;
  c.at[1] = 100;
  compare_load("tile2", c, "128x64 bf16");
}

TEST_F(TensorLoad, RandomTiles) {
  for (int n = 0; n < 400 && !HasFailure(); ++n) {
    const int rank = pick(1, 5), type = pick(0, 10);
    Case c = random_case(rank, type);
    c.map.tf32 = (type == 7 || type == 8) && pick(0, 1);
    c.map.nan_fill = type >= 6 && pick(0, 1);
    for (int i = 1; i < rank; ++i)
      if (pick(0, 9) == 0) c.map.stride[i] = 16;  // rows may overlap
    for (int i = 0; i < rank; ++i) c.at[i] = pick(-4, 8);
    c.at[0] = pick(-3, 6) * 16 / unit_bytes(c.map);
    compare_load("tile" + std::to_string(rank), c, "case " + std::to_string(n));
  }
}

TEST_F(TensorLoad, RandomIm2col) {
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    const int rank = pick(3, 5), type = pick(0, 10);
    Case c = random_im2col(rank, type);
    c.mode = Mode::im2col;
    c.map.nan_fill = type >= 6 && pick(0, 1);
    c.at[0] = pick(-2, 4) * 16 / unit_bytes(c.map);
    for (int i = 1; i < rank - 1; ++i) {
      c.at[i] = pick(c.map.lower[i - 1], int(c.map.dim[i]) - 1 + c.map.upper[i - 1]);
      c.offset[i - 1] = pick(0, 3);
    }
    c.at[rank - 1] = pick(-1, int(c.map.dim[rank - 1]));
    compare_load("im2col" + std::to_string(rank), c, "case " + std::to_string(n));
  }
}

TEST_F(TensorLoad, RandomIm2colWide) {
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    const int rank = pick(3, 5);
    Case c = random_im2col(rank, pick(0, 10));
    c.map.wide = true;
    c.mode = pick(0, 1) ? Mode::im2col_w : Mode::im2col_w128;
    if (c.map.channels * unit_bytes(c.map) > 128) continue;  // 256 pixels of more do not fit
    c.map.lower[0] = pick(-300, 300);                        // 16 bits each, also where the rank is 5
    c.map.upper[0] = pick(-300, 300);
    c.at[0] = pick(-2, 4) * 16 / unit_bytes(c.map);
    for (int i = 1; i < rank; ++i) c.at[i] = pick(-3, 8);
    c.offset[0] = pick(0, 31);
    c.offset[1] = pick(0, 31);
    compare_load((c.mode == Mode::im2col_w ? "im2colw" : "im2colw128_") + std::to_string(rank), c,
                 "case " + std::to_string(n));
  }
}

TEST_F(TensorLoad, RandomGather4) {
  for (int n = 0; n < 100 && !HasFailure(); ++n) {
    Case c = random_case(2, pick(0, 10));
    c.mode = Mode::gather4;
    c.map.box[1] = 1;
    c.at[0] = pick(-3, 6) * 16 / unit_bytes(c.map);
    for (int i = 1; i < 5; ++i) c.at[i] = pick(-2, 10);
    compare_load("gather4", c, "case " + std::to_string(n));
  }
}

TEST_F(TensorLoad, RandomInterleaved) {
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    Case c;
    if (random_interleaved(c, 2, -2)) compare_load("tile" + std::to_string(c.map.rank), c, "case " + std::to_string(n));
  }
}

TEST_F(TensorLoad, PackedElementsAndTheirPadding) {
  // 16U4_ALIGN8B: 64 bytes of 128 elements, dense. 16U4_ALIGN16B and 16U6_ALIGN16B: 8 or 12 bytes of every 16 elements
  // at the start of 16 bytes; what lies behind stays (inferred), and is not counted (inferred).
  for (const int type : {11, 12, 13})
    for (const int swizzle : {0, 3}) {
      if (type == 11 && swizzle) continue;
      Case c;
      c.map = matrix_map(type, {256, 5}, 192, {128, 4}, swizzle);
      c.at[0] = 128;
      c.at[1] = 2;  // the last row is outside
      const uint32_t data = type == 13 ? 12 : 8, pitch = type == 11 ? 64 : 128, step = type == 11 ? 8 : 16;
      Expected want;
      for (uint32_t row = 0; row < 4; ++row)
        for (uint32_t group = 0; group < 8; ++group)
          for (uint32_t i = 0; i < data; ++i)
            want.shared[placed(c, row * pitch + group * step + i)] =
                row < 3 ? memory_[(row + 2) * 192 + 8 * data + group * data + i] : 0;
      const Expected got = loaded("tile2", c);
      compare(want.shared, got.shared, "type " + std::to_string(type));
      EXPECT_EQ(got.bytes, 4u * 8 * data) << type;
    }
}

}  // namespace
}  // namespace tinygpu::test
