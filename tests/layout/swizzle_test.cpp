// Swizzle patterns against the documentation's pictures, typed as the order of 16-byte chunks in each row.
#include "common/layout/swizzle.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "common/layout/smem_descriptor.h"

namespace {

using namespace gen5::layout;

// PTX ISA 5.5.7: in a box of 128-byte rows, row r's chunk c lies at chunk c XOR r. Typed row by row.
TEST(Swizzle, B128ChunksAsPictured) {
  const std::array<std::array<int, 8>, 8> picture = {{{0, 1, 2, 3, 4, 5, 6, 7},
                                                      {1, 0, 3, 2, 5, 4, 7, 6},
                                                      {2, 3, 0, 1, 6, 7, 4, 5},
                                                      {3, 2, 1, 0, 7, 6, 5, 4},
                                                      {4, 5, 6, 7, 0, 1, 2, 3},
                                                      {5, 4, 7, 6, 1, 0, 3, 2},
                                                      {6, 7, 4, 5, 2, 3, 0, 1},
                                                      {7, 6, 5, 4, 3, 2, 1, 0}}};
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t place = 0; place < 8; ++place)
      EXPECT_EQ(swizzled(Swizzle::b128, row * 128 + picture[row][place] * 16 + 5), row * 128 + place * 16 + 5);
}

// Rows of 64 bytes: pairs of rows share a phase, four phases.
TEST(Swizzle, B64ChunksAsPictured) {
  const std::array<std::array<int, 4>, 8> picture = {
      {{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 3, 2}, {1, 0, 3, 2}, {2, 3, 0, 1}, {2, 3, 0, 1}, {3, 2, 1, 0}, {3, 2, 1, 0}}};
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t place = 0; place < 4; ++place)
      EXPECT_EQ(swizzled(Swizzle::b64, row * 64 + picture[row][place] * 16), row * 64 + place * 16);
}

// Rows of 32 bytes: four rows share a phase, two phases.
TEST(Swizzle, B32ChunksAsPictured) {
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t place = 0; place < 2; ++place)
      EXPECT_EQ(swizzled(Swizzle::b32, row * 32 + place * 16), row * 32 + (row % 8 < 4 ? place : 1 - place) * 16);
}

// 128-byte rows with 32-byte atoms: the atom index is exchanged with the row's low two bits.
TEST(Swizzle, Atom32ChunksAsPictured) {
  const std::array<std::array<int, 4>, 4> picture = {{{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}}};
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t place = 0; place < 4; ++place)
      EXPECT_EQ(swizzled(Swizzle::b128_atom32, row * 128 + picture[row % 4][place] * 32 + 17),
                row * 128 + place * 32 + 17);
}

TEST(Swizzle, RepeatsAndIsItsOwnInverse) {
  for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32})
    for (uint32_t a = 0; a < 4096; ++a) {
      EXPECT_EQ(swizzled(s, swizzled(s, a)), a);
      EXPECT_EQ(swizzled(s, a + repeat_bytes(s)), swizzled(s, a) + repeat_bytes(s));
    }
  EXPECT_EQ(span_bytes(Swizzle::b64), 64u);
  EXPECT_EQ(repeat_bytes(Swizzle::b128), 1024u);
  EXPECT_EQ(repeat_bytes(Swizzle::b64), 512u);
  EXPECT_EQ(repeat_bytes(Swizzle::b32), 256u);
}

TEST(TileOffsets, HoldEveryByteOnce) {
  for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    std::set<uint32_t> k, mn;
    for (uint32_t i = 0; i < 64; ++i)
      for (uint32_t j = 0; j < 256; ++j) {
        k.insert(k_major_offset(s, 64, i, j));
        mn.insert(mn_major_offset(s, 64, j, i));
      }
    EXPECT_EQ(k.size(), 64u * 256);
    EXPECT_EQ(*k.rbegin(), 64u * 256 - 1);
    EXPECT_EQ(mn, k);
  }
}

TEST(TileOffsets, Literals) {
  EXPECT_EQ(k_major_offset(Swizzle::b128, 128, 0, 0), 0u);
  EXPECT_EQ(k_major_offset(Swizzle::b128, 128, 9, 32), 128u * 9 + 48);  // row 1 of its group: chunk 2 -> 3
  EXPECT_EQ(k_major_offset(Swizzle::b128, 128, 0, 128), 128u * 128);    // the next 128 bytes of K: the next box
  EXPECT_EQ(k_major_offset(Swizzle::none, 64, 3, 20), 64u * 16 + 3 * 16 + 4);
  EXPECT_EQ(mn_major_offset(Swizzle::b64, 16, 70, 2), 16u * 64 + 2 * 64 + 16 + 6);  // rows 2, 3: chunk 0 -> 1
}

}  // namespace
