// mma.sync: fragments against the element tables of PTX ISA 9.7.14.5, one shape after the other as the manual words
// them, with small integers whose products and sums are exact in every format.
#include <gtest/gtest.h>

#include <functional>
#include <span>

#include "common/tinygpu/isa/mma_pieces.h"
#include "tests/isa_warp/kernel.h"
#include "tests/support/ptx_type.h"

namespace tinygpu::test {
namespace {

struct At {
  int row, column;
};
using Map = std::function<At(int lane, int i)>;  // element i of a thread's fragment

struct Fragments {
  Map a, b, c;
  int count_a, count_b, count_c;
};

/// The manual's tables, in its words: g is its groupID, lane >> 2, t its threadID_in_group, lane % 4.
using Place = At (*)(int g, int t, int i);
struct Table {
  const char* shape;
  int least_bits, most_bits;  // of an element
  Place a, b, c;
  int count_a, count_b, count_c;
};

At c_of_16_rows(int g, int t, int i) { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; }
At c_of_8_rows(int g, int t, int i) { return {g, t * 2 + (i & 1)}; }

const Table kHalves[] = {
    {"m16n8k8", 16, 16,
     [](int g, int t, int i) {
       return At{i < 2 ? g : g + 8, t * 2 + (i & 1)};
     },
     [](int g, int t, int i) {
       return At{t * 2 + i, g};
     },
     c_of_16_rows, 4, 2, 4},
    {"m16n8k16", 16, 16,
     [](int g, int t, int i) {
       const bool upper = (i >= 0 && i < 2) || (i >= 4 && i < 6);
       return At{upper ? g : g + 8, i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
     },
     [](int g, int t, int i) {
       return At{i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g};
     },
     c_of_16_rows, 8, 4, 4},
};

const Table kWords[] = {
    {"m16n8k4", 32, 64,
     [](int g, int t, int i) {
       return At{i == 0 ? g : g + 8, t};
     },
     [](int g, int t, int) {
       return At{t, g};
     },
     c_of_16_rows, 2, 1, 4},
    {"m16n8k8", 32, 64,
     [](int g, int t, int i) {
       return At{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
     },
     [](int g, int t, int i) {
       return At{i == 0 ? t : t + 4, g};
     },
     c_of_16_rows, 4, 2, 4},
    {"m8n8k4", 64, 64,
     [](int g, int t, int) {
       return At{g, t};
     },
     [](int g, int t, int) {
       return At{t, g};
     },
     c_of_8_rows, 1, 1, 2},
    {"m16n8k16", 64, 64,
     [](int g, int t, int i) {
       return At{i % 2 == 0 ? g : g + 8, t + 4 * (i / 2)};
     },
     [](int g, int t, int i) {
       return At{t + 4 * i, g};
     },
     c_of_16_rows, 8, 4, 4},
};

const Table kBytes[] = {
    {"m8n8k16", 8, 8,
     [](int g, int t, int i) {
       return At{g, t * 4 + i};
     },
     [](int g, int t, int i) {
       return At{t * 4 + i, g};
     },
     c_of_8_rows, 4, 4, 2},
    {"m16n8k16", 8, 8,
     [](int g, int t, int i) {
       return At{i < 4 ? g : g + 8, t * 4 + (i & 3)};
     },
     [](int g, int t, int i) {
       return At{t * 4 + i, g};
     },
     c_of_16_rows, 8, 4, 4},
    {"m16n8k32", 8, 8,
     [](int g, int t, int i) {
       const bool upper = i < 4 || (i >= 8 && i < 12);
       return At{upper ? g : g + 8, i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
     },
     [](int g, int t, int i) {
       return At{i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g};
     },
     c_of_16_rows, 16, 8, 4},
};

const Table kNibblesAndBits[] = {
    {"m16n8k64", 4, 4,
     [](int g, int t, int i) {
       const bool upper = i < 8 || (i >= 16 && i < 24);
       return At{upper ? g : g + 8, i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32};
     },
     [](int g, int t, int i) {
       return At{i < 8 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32, g};
     },
     c_of_16_rows, 32, 16, 4},
    {"m8n8k32", 4, 4,
     [](int g, int t, int i) {
       return At{g, t * 8 + i};
     },
     [](int g, int t, int i) {
       return At{t * 8 + i, g};
     },
     c_of_8_rows, 8, 8, 2},
    {"m16n8k256", 1, 1,
     [](int g, int t, int i) {
       const bool upper = i < 32 || (i >= 64 && i < 96);
       return At{upper ? g : g + 8, i < 64 ? t * 32 + (i & 31) : t * 32 + (i & 31) + 128};
     },
     [](int g, int t, int i) {
       return At{i < 32 ? t * 32 + (i & 31) : t * 32 + (i & 31) + 128, g};
     },
     c_of_16_rows, 128, 64, 4},
};

Fragments fragments(const std::string& shape, int element_bits) {
  const auto map = [](Place place) -> Map { return [=](int lane, int i) { return place(lane >> 2, lane % 4, i); }; };
  for (const std::span<const Table> tables : {std::span<const Table>(kHalves), std::span<const Table>(kWords),
                                              std::span<const Table>(kBytes), std::span<const Table>(kNibblesAndBits)})
    for (const Table& t : tables)
      if (shape == t.shape && element_bits >= t.least_bits && element_bits <= t.most_bits)
        return {map(t.a), map(t.b), map(t.c), t.count_a, t.count_b, t.count_c};
  ADD_FAILURE() << "no table for " << shape;
  return {};
}

/// Bits of a small integer in a format.
uint64_t encode(const std::string& type, int v) {
  if (type == "f64") {
    const double d = v;
    uint64_t b;
    std::memcpy(&b, &d, 8);
    return b;
  }
  const float f = float(v);
  uint32_t b;
  std::memcpy(&b, &f, 4);
  if (type == "f32" || type == "tf32") return b;
  if (type == "bf16") return b >> 16;
  if (v == 0 || type[0] == 's' || type[0] == 'u' || type == "b1") {
    const int bits = type == "b1" ? 1 : type[1] == '4' ? 4 : type[1] == '8' ? 8 : 32;
    return bits == 32 ? uint32_t(v) : uint32_t(v) & ((1u << bits) - 1);
  }
  // Small powers and odd numbers fit the narrow formats exactly: rebias the exponent, keep the top of the fraction.
  const int exponent = int(b >> 23 & 255) - 127;
  const uint32_t sign = b >> 31, fraction = b & 0x7fffff;
  if (type == "f16") return sign << 15 | uint32_t(exponent + 15) << 10 | fraction >> 13;
  if (type == "e4m3") return sign << 7 | uint32_t(exponent + 7) << 3 | fraction >> 20;
  return sign << 7 | uint32_t(exponent + 15) << 2 | fraction >> 21;  // e5m2
}

struct Case {
  std::string shape, d, a, b, c, suffix;
};

class MmaSync : public ::testing::TestWithParam<Case> {};

TEST_P(MmaSync, MultipliesAsTheFragmentTablesSay) {
  const Case& p = GetParam();
  int m = 0, n = 0, k = 0;
  std::sscanf(p.shape.c_str(), "m%dn%dk%d", &m, &n, &k);
  const int bits = bits_of(p.a), c_bits = bits_of(p.c), word = bits == 64 ? 64 : 32;
  const Fragments f = fragments(p.shape, bits);
  // Values that fit e5m2 (-3 … 3) or the type's own range.
  std::vector<std::vector<int>> A(m, std::vector<int>(k)), B(k, std::vector<int>(n)), C(m, std::vector<int>(n));
  uint32_t seed = 12345;
  const auto next = [&](const std::string& type) {
    seed = seed * 1664525 + 1013904223;
    const int v = int(seed >> 16);
    if (type == "b1") return v & 1;
    if (type == "u8") return v & 255;
    if (type == "u4") return v & 15;
    if (type == "s8") return v % 128 - 64;
    if (type == "s4") return v % 16 - 8;
    return v % 7 - 3;
  };
  for (auto& row : A)
    for (int& v : row) v = next(p.a);
  for (auto& row : B)
    for (int& v : row) v = next(p.b);
  for (auto& row : C)
    for (int& v : row) v = next("f16");

  // Registers of each thread: A, B, C fragments packed into words of 32 or 64 bits.
  const auto words = [&](int elements, int width) { return elements * width / word; };
  const int na = words(f.count_a, bits), nb = words(f.count_b, bits), nc = words(f.count_c, c_bits),
            total = na + nb + nc;
  std::vector<uint64_t> in(size_t(32 * total));
  for (int lane = 0; lane < 32; ++lane) {
    uint64_t* mine = &in[size_t(lane * total)];
    const auto put = [&](uint64_t* to, int i, int width, uint64_t value) {
      to[i * width / word] |= value << (i * width % word);
    };
    for (int i = 0; i < f.count_a; ++i) {
      const At e = f.a(lane, i);
      put(mine, i, bits, encode(p.a, A[e.row][e.column]));
    }
    for (int i = 0; i < f.count_b; ++i) {
      const At e = f.b(lane, i);
      put(mine + na, i, bits, encode(p.b, B[e.row][e.column]));
    }
    for (int i = 0; i < f.count_c; ++i) {
      const At e = f.c(lane, i);
      put(mine + na + nb, i, c_bits, encode(p.c, C[e.row][e.column]));
    }
  }

  const std::string reg = word == 64 ? "%fd" : "%r", type = word == 64 ? "f64" : "u32";
  const auto list = [&](int first, int count) {
    std::string s = "{";
    for (int i = 0; i < count; ++i) s += (i ? "," : "") + reg + std::to_string(first + i);
    return s + "}";
  };
  // f64 registers are declared up to 63 here.
  std::string text = R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .b32 %r<64>, %t; .reg .f64 %fd<64>; .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [pin];
  ld.param.u64 %rd1, [pout];
  mov.u32 %t, %tid.x;
)";
  text += "  mul.wide.u32 %rd2, %t, " + std::to_string(8 * total) + ";\n  add.s64 %rd3, %rd0, %rd2;\n";
  for (int i = 0; i < total; ++i)
    text += "  ld.global." + type + " " + reg + std::to_string(i) + ", [%rd3+" + std::to_string(8 * i) + "];\n";
  const int nd = nc;
  text += "  mma.sync.aligned." + p.shape + ".row.col" + (p.suffix == ".satfinite" ? p.suffix : "") + "." + p.d + "." +
          p.a + "." + p.b + "." + p.c + (p.suffix == ".satfinite" ? "" : p.suffix) + " " + list(total, nd) + ", " +
          list(0, na) + ", " + list(na, nb) + ", " + list(na + nb, nc) + ";\n";
  text += "  mul.wide.u32 %rd4, %t, " + std::to_string(8 * nd) + ";\n  add.s64 %rd5, %rd1, %rd4;\n";
  for (int i = 0; i < nd; ++i)
    text += "  st.global." + type + " [%rd5+" + std::to_string(8 * i) + "], " + reg + std::to_string(total + i) + ";\n";
  RunPtx run(text + "  ret;\n}\n");
  const uint64_t from = run.upload(in), to = run.buffer<uint64_t>(size_t(32 * nd));
  auto stats = run.launch("k", {1}, {32}, from, to);
  const auto out = run.download<uint64_t>(to, size_t(32 * nd));
  EXPECT_EQ(stats.counters["mma.sync"], 1u);
  EXPECT_EQ(stats.counters["mma.sync operations"], uint64_t(p.shape.starts_with("m16") ? 16 : 8) * 8 * uint64_t(k) * 2);
  if (p.a.starts_with("e")) {  // fp8 has no vector code here
    EXPECT_EQ(stats.counters["matrix sums, scalar"], 128u);
  }

  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < f.count_c; ++i) {
      const At e = f.c(lane, i);
      int expected = C[e.row][e.column];
      for (int j = 0; j < k; ++j)
        expected += p.suffix == ".xor.popc" ? A[e.row][j] ^ B[j][e.column] : A[e.row][j] * B[j][e.column];
      const uint64_t got = out[size_t(lane * nd + i * c_bits / word)] >> (i * c_bits % word);
      const uint64_t mask = c_bits == 64 ? ~0ull : (1ull << c_bits) - 1;
      EXPECT_EQ(got & mask, encode(p.c, expected) & mask)
          << "row " << e.row << " column " << e.column << " of " << expected;
    }
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"m16n8k8", "f32", "f16", "f16", "f32", ""},          {"m16n8k16", "f32", "f16", "f16", "f32", ""},
      {"m16n8k8", "f16", "f16", "f16", "f16", ""},          {"m16n8k16", "f16", "f16", "f16", "f16", ""},
      {"m16n8k8", "f32", "bf16", "bf16", "f32", ""},        {"m16n8k16", "f32", "bf16", "bf16", "f32", ""},
      {"m16n8k4", "f32", "tf32", "tf32", "f32", ""},        {"m16n8k8", "f32", "tf32", "tf32", "f32", ""},
      {"m16n8k32", "f32", "e4m3", "e5m2", "f32", ""},       {"m16n8k32", "f32", "e5m2", "e4m3", "f32", ""},
      {"m16n8k16", "f32", "e4m3", "e4m3", "f32", ""},       {"m16n8k16", "f32", "e5m2", "e5m2", "f32", ""},
      {"m16n8k64", "s32", "s4", "u4", "s32", ""},           {"m8n8k32", "s32", "u4", "s4", "s32", ""},
      {"m16n8k256", "s32", "b1", "b1", "s32", ".xor.popc"}, {"m16n8k256", "s32", "b1", "b1", "s32", ".and.popc"},
      {"m8n8k4", "f64", "f64", "f64", "f64", ""},           {"m16n8k4", "f64", "f64", "f64", "f64", ""},
      {"m16n8k8", "f64", "f64", "f64", "f64", ""},          {"m16n8k16", "f64", "f64", "f64", "f64", ""},
  };
  for (const char* shape : {"m8n8k16", "m16n8k16", "m16n8k32"})
    for (const char* a : {"s8", "u8"})
      for (const char* b : {"s8", "u8"})
        all.push_back({shape, "s32", a, b, "s32", a == std::string(b) ? ".satfinite" : ""});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, MmaSync, ::testing::ValuesIn(cases()), [](const auto& info) {
  const Case& c = info.param;
  std::string s = c.shape + "_" + c.d + "_" + c.a + "_" + c.b + c.suffix;
  for (char& x : s)
    if (x == '.') x = '_';
  return s;
});

uint32_t one_word(const std::string& instruction_suffix, const std::string& before) {
  // Every thread's operands are the same constants; the first word of D comes back.
  RunPtx run(kernel(before + "  mma.sync.aligned." + instruction_suffix + ";\n  st.global.u32 [%dst], %r40;\n"));
  return run_kernel(run, 32, 32)[0];
}

TEST(MmaSyncNumbers, SatfiniteClampsAndPlainWraps) {
  const std::string before = R"(
  mov.b32 %r0, 0x7f7f7f7f; mov.b32 %r1, 0x7f7f7f7f; mov.b32 %r2, 0x7fffffff;
)";
  const std::string operands = ".s32.s8.s8.s32 {%r40,%r41}, {%r0}, {%r1}, {%r2,%r2}";
  EXPECT_EQ(one_word("m8n8k16.row.col.satfinite" + operands, before), 0x7fffffffu);
  EXPECT_EQ(one_word("m8n8k16.row.col" + operands, before), 0x7fffffffu + 16 * 127 * 127);
}

TEST(MmaSyncNumbers, OneWindowTruncatedTowardZero) {
  // 1 + 2^-25 in one K step: the small product lies below f32's last place and is cut, where rounding up twice would
  // show. bf16: A = (1, 2^-13 …), B = (1, 2^-12 …); sixteen products, 1 + 15 * 2^-25 = 1 + 0.94 * 2^-21; f32 keeps
  // 2^-23: cut to 1 + 7.5 * 2^-24 -> 3 * 2^-23. Thread t holds k = 2t, 2t + 1 (and + 8): the 1 stands in thread 0's low
  // half of the first registers only.
  const std::string before = R"(
  mov.b32 %r0, 0x39003900; mov.b32 %r1, 0x39803980;        // 2^-13 twice, 2^-12 twice
  and.b32 %r5, %t, 3; setp.eq.u32 %p0, %r5, 0;
  selp.b32 %r2, 0x39003f80, %r0, %p0;
  selp.b32 %r3, 0x39803f80, %r1, %p0;
  mov.b32 %r4, 0;
)";
  EXPECT_EQ(
      one_word(
          "m16n8k16.row.col.f32.bf16.bf16.f32 {%r40,%r41,%r42,%r43}, {%r2,%r2,%r0,%r0}, {%r3,%r1}, {%r4,%r4,%r4,%r4}",
          before),
      0x3f800003u);
}

TEST(MmaSyncNumbers, NansAndZeros) {
  const std::string nan = "  mov.b32 %r0, 0x7e007c00; mov.b32 %r1, 0x3c003c00; mov.b32 %r4, 0;\n";
  const std::string f16 = "m16n8k8.row.col.f32.f16.f16.f32 {%r40,%r41,%r42,%r43}, {%r0,%r0}, {%r1}, {%r4,%r4,%r4,%r4}";
  EXPECT_EQ(one_word(f16, nan), 0x7fffffffu);
  const std::string zeros = "  mov.b32 %r0, 0x80008000; mov.b32 %r1, 0x3c003c00; mov.b32 %r4, 0x80000000;\n";
  EXPECT_EQ(one_word(f16, zeros), 0u) << "a sum of negative zeros is +0 on tensor cores";
}

// Rows of mma.sync.m16n8k16.f16.e4m3.e5m2.f16 on an H200 (2026-11-22) whose e4m3 operands are subnormal: as f16 words
// they are not, and with the exponents that they have as e4m3 each of these results would be another.
TEST(Fp8WithF16Accumulators, SubnormalOperandsAreWidenedFirst) {
  const struct {
    uint32_t a[16], b[16], c, d;
  } rows[] = {
      {{0x84, 0x03, 0x8a, 0x01, 0x01, 0x02, 0x05, 0x83, 0x84, 0x80, 0x92, 0x85, 0x80, 0x81, 0x17, 0x1e},
       {0x57, 0x77, 0x69, 0x63, 0xd9, 0x10, 0xfa, 0x3d, 0x91, 0x03, 0xc7, 0x0d, 0xbc, 0x68, 0x30, 0x47},
       0x02cd,
       0xddb1},
      {{0x2e, 0x00, 0x80, 0x6a, 0x82, 0x80, 0x80, 0xa8, 0x00, 0x00, 0xf3, 0x95, 0x00, 0x80, 0x80, 0x83},
       {0x00, 0x80, 0x86, 0xb7, 0x17, 0x80, 0x62, 0x38, 0xbd, 0xd8, 0x00, 0x58, 0x53, 0xa0, 0x3e, 0x79},
       0x0000,
       0xdc67},
      {{0x06, 0x85, 0x87, 0x9f, 0x0c, 0x07, 0x9d, 0x07, 0x80, 0x02, 0x84, 0x02, 0x03, 0x01, 0x05, 0x93},
       {0x06, 0x56, 0x74, 0xea, 0x5a, 0x86, 0x53, 0x9e, 0x86, 0xf8, 0xea, 0x01, 0xe8, 0x1e, 0x55, 0xd8},
       0x0323,
       0x4e0e},
      {{0x13, 0x05, 0x8c, 0x86, 0x04, 0x00, 0x9b, 0x01, 0x87, 0x97, 0x85, 0x81, 0x05, 0x17, 0x85, 0x86},
       {0x30, 0x27, 0x04, 0x44, 0xd5, 0x5b, 0x44, 0x78, 0x42, 0xbe, 0x0c, 0x78, 0x42, 0xc0, 0xbe, 0xdd},
       0xa8e7,
       0x4159},
      {{0x03, 0x82, 0x80, 0x1d, 0x02, 0x9f, 0x84, 0x15, 0x80, 0x02, 0x84, 0x0a, 0x1a, 0x8e, 0x83, 0x01},
       {0x62, 0xb2, 0xa3, 0x44, 0x87, 0x54, 0x60, 0x85, 0x02, 0xd3, 0x75, 0x54, 0x9f, 0x13, 0x60, 0x6a},
       0x8333,
       0xd915},
      {{0x8e, 0x86, 0x80, 0x01, 0x9d, 0x05, 0x01, 0x0b, 0x04, 0x83, 0x86, 0x02, 0x99, 0x04, 0x10, 0x04},
       {0x40, 0xcb, 0xec, 0x75, 0xc9, 0xae, 0xe7, 0x70, 0x3e, 0x19, 0x8a, 0x86, 0xe7, 0xa1, 0x92, 0x1b},
       0x8268,
       0x5d4f},
  };
  for (const auto& r : rows)
    EXPECT_EQ(isa::fp8_sum(true, numerics::Format::e4m3, numerics::Format::e5m2, r.a, r.b, r.c), r.d);
}

}  // namespace
}  // namespace tinygpu::test
