// cuTensorMapEncode*: what NVIDIA's driver answered on an H200, case by case and bit by bit, and each documented limit.
#include "common/tinygpu/cuda/tensor_map.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "tests/support/zstd_file.h"

namespace tinygpu::cuda {
namespace {

using Kind = TensorMapParameters::Kind;
using testing::HasSubstr;
using testing::IsEmpty;

std::string hex(const uint8_t* bytes) {
  std::string out;
  for (int i = 0; i < 128; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", bytes[i]);
    out += two;
  }
  return out;
}

/// What a map is described by, of a 3-D f16 tensor at first.
struct Arrays {
  uint64_t dims[5] = {64, 32, 16, 4, 4};
  uint64_t strides[4] = {128, 4096, 65536, 262144};
  uint32_t box[5] = {64, 8, 2, 1, 1};
  uint32_t steps[5] = {1, 1, 1, 1, 1};
  int lower[3] = {-1, -1, -1}, upper[3] = {1, 1, 1};

  void read(std::istream& in) {
    const auto all = [&](auto&... arrays) {
      const auto one = [&](auto& array) {
        for (auto& v : array) in >> v;
      };
      (one(arrays), ...);
    };
    all(dims, strides, box, steps, lower, upper);
  }
  void put_into(TensorMapParameters& p) {
    p.dims = dims;
    p.strides = strides;
    p.box = box;
    p.steps = steps;
    p.lower = lower;
    p.upper = upper;
  }
};

TEST(TensorMap, AnswersAsTheDriverOfAnH200) {
  std::istringstream rows(gen5::test::read_packed(std::string(TEST_DATA) + "/h200_tensor_maps.txt.zst"));
  int accepted = 0, refused = 0;
  for (std::string line; std::getline(rows, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    alignas(64) uint8_t object[128];
    TensorMapParameters p;
    Arrays a;
    int kind, result;
    std::string expected;
    in >> kind >> p.type >> p.rank >> p.address;
    a.read(in);
    in >> p.channels >> p.pixels >> p.interleave >> p.swizzle >> p.promotion >> p.fill >> p.wide_mode >> result >>
        expected;
    ASSERT_TRUE(in) << line;
    p.kind = Kind(kind);
    p.object = object;
    a.put_into(p);
    p.blackwell = false;
    const std::string wrong = check_tensor_map(p);
    ASSERT_EQ(wrong.empty(), result == 0) << line << "\n" << wrong;
    if (result != 0) {
      ++refused;
      continue;
    }
    ++accepted;
    encode_tensor_map(p);
    expected.resize(256, '0');
    ASSERT_EQ(hex(object), expected) << line;
  }
  EXPECT_EQ(accepted, 1211);
  EXPECT_EQ(refused, 1289);
}

/// A valid 3-D f16 map, to be spoilt in one place.
struct Map : Arrays {
  alignas(64) uint8_t object[128] = {};
  TensorMapParameters p;
  explicit Map(Kind kind = Kind::tiled) {
    p.kind = kind;
    p.object = object;
    p.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    p.rank = 3;
    p.address = 0x7f0000000000;
    put_into(p);
    p.channels = 64;
    p.pixels = 16;
    if (kind == Kind::im2col_wide) p.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  }
  Map& packed(uint32_t type) {
    p.type = type;
    dims[0] = 256;
    box[0] = p.channels = 128;
    p.swizzle = p.kind == Kind::im2col_wide ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE;
    return *this;
  }
  std::string check() { return check_tensor_map(p); }
};

TEST(TensorMapLimits, TheUnspoiltMapsPass) {
  EXPECT_THAT(Map().check(), IsEmpty());
  EXPECT_THAT(Map(Kind::im2col).check(), IsEmpty());
  EXPECT_THAT(Map(Kind::im2col_wide).check(), IsEmpty());
  for (uint32_t type : {13u, 14u, 15u}) EXPECT_THAT(Map().packed(type).check(), IsEmpty()) << type;
}

TEST(TensorMapEncoding, PackedTypes) {
  // The codes in bits 74:71 that CuTe DSL 4.8's own encoder writes for e2m1, e2m1 unpacked to bytes, and e2m3.
  for (const auto& [type, code] : {std::pair{13u, 11u}, {14u, 12u}, {15u, 13u}}) {
    Map m;
    encode_tensor_map(m.packed(type).p);
    uint32_t word;
    std::memcpy(&word, m.object + 8, 4);
    EXPECT_EQ(word, code << 7 | 2 << 4) << type;
  }
}

TEST(TensorMapLimits, ObjectMayLieAnywhere) {  // as on an H200, at 1, 2, 4 … 64 bytes past a multiple of 128
  Map m;
  encode_tensor_map(m.p);
  alignas(64) uint8_t room[192];
  for (int offset : {1, 2, 4, 8, 16, 32}) {
    Map other;
    other.p.object = room + offset;
    EXPECT_THAT(other.check(), IsEmpty()) << offset;
    encode_tensor_map(other.p);
    EXPECT_EQ(std::memcmp(room + offset, m.object, 128), 0) << offset;
  }
  m.p.object = nullptr;
  EXPECT_THAT(m.check(), HasSubstr("tensorMap is null"));
}

TEST(TensorMapLimits, Type) {
  Map m;
  m.p.type = 16;
  EXPECT_THAT(m.check(), HasSubstr("tensorDataType is 16"));
}

TEST(TensorMapLimits, PackedTypesNeedBlackwell) {
  Map m;
  m.packed(14).p.blackwell = false;
  EXPECT_THAT(m.check(), HasSubstr("packed types need compute capability 10.0"));
}

TEST(TensorMapLimits, Rank) {
  Map m;
  m.p.rank = 0;
  EXPECT_THAT(m.check(), HasSubstr("tensorRank is 0: it must be 1 to 5"));
  m.p.rank = 6;
  EXPECT_THAT(m.check(), HasSubstr("tensorRank is 6"));
  m.p.rank = 2;
  EXPECT_THAT(m.check(), IsEmpty());
  m.p.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
  EXPECT_THAT(m.check(), HasSubstr("tensorRank is 2: it must be 3 to 5"));
  Map im(Kind::im2col);
  im.p.rank = 2;
  EXPECT_THAT(im.check(), HasSubstr("tensorRank is 2: it must be 3 to 5"));
}

TEST(TensorMapLimits, Address) {
  Map m;
  m.p.address += 8;
  EXPECT_THAT(m.check(), HasSubstr("it must be a multiple of 16"));
  m.p.address += 8;
  EXPECT_THAT(m.check(), IsEmpty());
  m.p.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
  m.p.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  EXPECT_THAT(m.check(), HasSubstr("globalAddress is 0x7f0000000010: it must be a multiple of 32"));
  Map packed;
  packed.packed(14).p.address += 16;
  EXPECT_THAT(packed.check(), HasSubstr("it must be a multiple of 32"));
}

TEST(TensorMapLimits, Dimensions) {
  Map m;
  m.dims[1] = 0;
  EXPECT_THAT(m.check(), HasSubstr("globalDim[1] is 0: it must be 1 to 2^32"));
  m.dims[1] = (1ull << 32) + 1;
  EXPECT_THAT(m.check(), HasSubstr("globalDim[1] is 4294967297"));
  m.dims[1] = 1ull << 32;
  EXPECT_THAT(m.check(), IsEmpty());
  Map odd;
  odd.packed(13).dims[0] = 255;
  EXPECT_THAT(odd.check(), HasSubstr("globalDim[0] is 255: it must be even"));
  Map padded;
  padded.packed(15).dims[0] = 192;
  EXPECT_THAT(padded.check(), HasSubstr("globalDim[0] is 192: it must be a multiple of 128"));
}

TEST(TensorMapLimits, Strides) {
  Map m;
  m.strides[1] = 4104;
  EXPECT_THAT(m.check(), HasSubstr("globalStrides[1] is 4104: it must be a multiple of 16"));
  m.strides[1] = 1ull << 40;
  EXPECT_THAT(m.check(), HasSubstr("less than 2^40"));
  Map wide;
  wide.p.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
  wide.p.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  wide.strides[0] = 144;
  EXPECT_THAT(wide.check(), HasSubstr("globalStrides[0] is 144: it must be a multiple of 32"));
  Map packed;
  packed.packed(14).strides[0] = 144;
  EXPECT_THAT(packed.check(), HasSubstr("it must be a multiple of 32"));
}

TEST(TensorMapLimits, Box) {
  Map m;
  m.box[2] = 0;
  EXPECT_THAT(m.check(), HasSubstr("boxDim[2] is 0: it must be 1 to 256"));
  m.box[2] = 257;
  EXPECT_THAT(m.check(), HasSubstr("boxDim[2] is 257"));
  m.box[2] = 2;
  m.box[0] = 4;
  EXPECT_THAT(m.check(), HasSubstr("boxDim[0] is 4, 8 bytes: they must be a multiple of 16"));
  Map packed;
  packed.packed(14).box[0] = 64;
  EXPECT_THAT(packed.check(), HasSubstr("boxDim[0] is 64: it must be 128"));
  Map large;
  large.box[0] = 64, large.box[1] = 256, large.box[2] = 16;
  EXPECT_THAT(large.check(), HasSubstr("a box has 524288 bytes"));
}

TEST(TensorMapLimits, ElementStrides) {
  Map m;
  m.steps[1] = 0;
  EXPECT_THAT(m.check(), HasSubstr("elementStrides[1] is 0: it must be 1 to 8"));
  m.steps[1] = 9;
  EXPECT_THAT(m.check(), HasSubstr("elementStrides[1] is 9"));
}

TEST(TensorMapLimits, InterleaveAndSwizzle) {
  Map m;
  m.p.interleave = 3;
  EXPECT_THAT(m.check(), HasSubstr("interleave is 3"));
  m.p.interleave = 0;
  m.p.swizzle = 7;
  EXPECT_THAT(m.check(), HasSubstr("swizzle is 7"));
  for (const auto& [swizzle, span] : {std::pair{1, 32}, {2, 64}}) {
    m.p.swizzle = uint32_t(swizzle);
    EXPECT_THAT(m.check(), HasSubstr("the swizzle allows at most " + std::to_string(span)));
  }
  m.p.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  EXPECT_THAT(m.check(), IsEmpty());
  m.p.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
  EXPECT_THAT(m.check(), IsEmpty());
  m.p.blackwell = false;
  EXPECT_THAT(m.check(), HasSubstr("swizzle atoms need compute capability 10.0"));
  Map six;
  six.packed(15).p.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
  EXPECT_THAT(six.check(), HasSubstr("interleave must be NONE"));
}

TEST(TensorMapLimits, SwizzlesOfPackedTypes) {
  for (const auto& [type, allowed] : {std::pair<uint32_t, std::string>{14, "034"}, {15, "0346"}})
    for (uint32_t swizzle = 0; swizzle <= 6; ++swizzle) {
      Map m;
      m.packed(type).p.swizzle = swizzle;
      EXPECT_EQ(m.check().empty(), allowed.find(char('0' + swizzle)) != std::string::npos) << type << " " << swizzle;
    }
}

TEST(TensorMapLimits, PromotionAndFill) {
  Map m;
  m.p.promotion = 4;
  EXPECT_THAT(m.check(), HasSubstr("l2Promotion is 4"));
  m.p.promotion = 3;
  m.p.fill = 2;
  EXPECT_THAT(m.check(), HasSubstr("oobFill is 2"));
  m.p.fill = 1;
  EXPECT_THAT(m.check(), IsEmpty());
  m.p.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
  EXPECT_THAT(m.check(), HasSubstr("it needs a floating-point type"));
  Map packed;
  packed.packed(13).p.fill = 1;
  EXPECT_THAT(packed.check(), HasSubstr("it needs a floating-point type that is not packed"));
}

TEST(TensorMapLimits, Corners) {
  for (const auto& [rank, limit] : {std::pair{3u, 32768}, {4u, 128}, {5u, 16}}) {
    Map m(Kind::im2col);
    m.p.rank = rank;
    m.lower[0] = -limit - 1;
    EXPECT_THAT(m.check(), HasSubstr("pixelBoxLowerCorner[0]")) << rank;
    m.lower[0] = -limit;
    EXPECT_THAT(m.check(), IsEmpty()) << rank;
    m.lower[0] = 0;
    m.upper[0] = limit;
    EXPECT_THAT(m.check(), HasSubstr("pixelBoxUpperCorner[0]")) << rank;
  }
  Map empty(Kind::im2col);
  empty.lower[0] = 10;
  empty.upper[0] = -22;
  EXPECT_THAT(empty.check(), HasSubstr("leave no pixel of globalDim[1] 32"));
}

TEST(TensorMapLimits, ChannelsAndPixels) {
  Map m(Kind::im2col);
  m.p.channels = 0;
  EXPECT_THAT(m.check(), HasSubstr("channelsPerPixel is 0"));
  m.p.channels = 257;
  EXPECT_THAT(m.check(), HasSubstr("channelsPerPixel is 257"));
  m.p.channels = 64;
  m.p.pixels = 1025;
  EXPECT_THAT(m.check(), HasSubstr("pixelsPerColumn is 1025"));
  Map packed(Kind::im2col);
  packed.packed(15).p.channels = 64;
  EXPECT_THAT(packed.check(), HasSubstr("channelsPerPixel is 64: it must be 128"));
}

TEST(TensorMapLimits, Im2colWide) {
  Map m(Kind::im2col_wide);
  m.p.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
  EXPECT_THAT(m.check(), HasSubstr("interleave must be NONE with im2col wide"));
  m.p.interleave = 0;
  for (uint32_t swizzle : {0u, 1u, 5u, 6u}) {
    m.p.swizzle = swizzle;
    EXPECT_THAT(m.check(), HasSubstr("im2col wide allows 64B, 128B and 128B_ATOM_32B")) << swizzle;
  }
  m.p.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  m.p.wide_mode = 2;
  EXPECT_THAT(m.check(), HasSubstr("mode is 2"));
  m.p.wide_mode = 1;
  m.p.rank = 4;
  EXPECT_THAT(m.check(), IsEmpty());
  m.p.blackwell = false;
  EXPECT_THAT(m.check(), HasSubstr("im2col wide needs compute capability 10.0"));
}

}  // namespace
}  // namespace tinygpu::cuda
