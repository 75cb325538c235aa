// ldmatrix, stmatrix, movmatrix: which element lands where, against the manual's fragment figures written out by
// element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

/// Shared memory holds bytes 0, 1, 2 … (mod 251 so that rows differ); row i of the addresses is byte 16 i, rows
/// reversed in pairs to tell addresses from positions.
constexpr const char* kFill = R"(
  mov.u32 %r1, smem;
  shl.b32 %r2, %t, 4;
  mul.wide.u32 %rd1, %t, 16;
  add.s64 %rd2, %in, %rd1;
  ld.global.v4.u32 {%r3,%r4,%r5,%r6}, [%rd2];
  add.u32 %r7, %r1, %r2;
  st.shared.v4.u32 [%r7], {%r3,%r4,%r5,%r6};
  bar.warp.sync 0xffffffff;
  xor.b32 %r8, %t, 1;
  shl.b32 %r8, %r8, 4;
  add.u32 %r9, %r1, %r8;                   // thread t holds the address of row t ^ 1
)";

std::vector<uint8_t> content() {
  std::vector<uint8_t> b(512);
  for (size_t i = 0; i < b.size(); ++i) b[i] = uint8_t(i * 7 % 251);
  return b;
}

std::vector<uint32_t> words(const std::vector<uint8_t>& b) {
  std::vector<uint32_t> w(b.size() / 4);
  std::memcpy(w.data(), b.data(), b.size());
  return w;
}

/// Registers %r20 … of each thread after `instruction`.
std::vector<uint32_t> load(const std::string& instruction, int registers) {
  std::string body = std::string(kFill) + "  " + instruction + ";\n";
  for (int r = 0; r < registers; ++r)
    body += "  st.global.u32 [%dst+" + std::to_string(128 * r) + "], %r" + std::to_string(20 + r) + ";\n";
  RunPtx run(kernel(body));
  return run_kernel(run, 32, size_t(32 * registers), words(content()));
}

uint32_t half(const std::vector<uint8_t>& b, uint32_t row, uint32_t column) {
  const uint32_t at = (row ^ 1) * 16 + column * 2;
  return b[at] | uint32_t(b[at + 1]) << 8;
}

std::string registers(int n) {
  std::string s = "{";
  for (int i = 0; i < n; ++i) s += (i ? ",%r" : "%r") + std::to_string(20 + i);
  return s + "}";
}

TEST(LdMatrix, M8n8InAllCountsAndTransposed) {
  const auto b = content();
  for (int n : {1, 2, 4})
    for (bool trans : {false, true}) {
      const auto v = load("ldmatrix.sync.aligned.m8n8.x" + std::to_string(n) + (trans ? ".trans" : "") +
                              ".shared.b16 " + registers(n) + ", [%r9]",
                          n);
      for (uint32_t j = 0; j < uint32_t(n); ++j)
        for (uint32_t t = 0; t < 32; ++t) {
          const uint32_t row = t / 4, column = t % 4 * 2;
          const uint32_t expected = trans ? half(b, 8 * j + column, row) | half(b, 8 * j + column + 1, row) << 16
                                          : half(b, 8 * j + row, column) | half(b, 8 * j + row, column + 1) << 16;
          EXPECT_EQ(v[32 * j + t], expected)
              << "x" << n << (trans ? " trans" : "") << " matrix " << j << " thread " << t;
        }
    }
}

TEST(LdMatrix, GenericAddressesWork) {
  const auto plain = load("ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + registers(4) + ", [%r9]", 4);
  const auto generic =
      load("cvt.u64.u32 %rd9, %r9;\n  cvta.shared.u64 %rd9, %rd9;\n  ldmatrix.sync.aligned.m8n8.x4.b16 " +
               registers(4) + ", [%rd9]",
           4);
  EXPECT_EQ(plain, generic);
}

TEST(LdMatrix, M16n16TransposesBytes) {
  const auto b = content();
  for (int n : {1, 2}) {
    const auto v =
        load("ldmatrix.sync.aligned.m16n16.x" + std::to_string(n) + ".trans.shared.b8 " + registers(2 * n) + ", [%r9]",
             2 * n);
    for (uint32_t k = 0; k < uint32_t(2 * n); ++k)
      for (uint32_t t = 0; t < 32; ++t)
        for (uint32_t i = 0; i < 4; ++i) {
          const uint32_t row = 16 * (k / 2) + 4 * (t % 4) + i, column = t / 4 + 8 * (k % 2);
          EXPECT_EQ(v[32 * k + t] >> (8 * i) & 0xff, b[(row ^ 1) * 16 + column]);
        }
  }
}

TEST(LdMatrix, PackedSixAndFourBitElementsGetBytes) {
  const auto b = content();
  // Element e of a row: bits 6e … of the first 12 bytes; bits 4e … of the first 8 bytes, shifted to bits 5:2.
  const auto six = [&](uint32_t row, uint32_t e) {
    unsigned __int128 bits = 0;
    std::memcpy(&bits, &b[(row ^ 1) * 16], 12);
    return uint32_t(bits >> (6 * e)) & 63;
  };
  const auto four = [&](uint32_t row, uint32_t e) {
    uint64_t bits = 0;
    std::memcpy(&bits, &b[(row ^ 1) * 16], 8);
    return (uint32_t(bits >> (4 * e)) & 15) << 2;
  };
  const auto v6 = load("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32 " + registers(2) + ", [%r9]", 2);
  const auto v4 = load("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 " + registers(4) + ", [%r9]", 4);
  const auto t6 = load("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32 " + registers(2) + ", [%r9]", 2);
  const auto t4 = load("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b4x16_p64 " + registers(4) + ", [%r9]", 4);
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t i = 0; i < 4; ++i) {
      const auto byte = [&](const std::vector<uint32_t>& v, uint32_t j) { return v[32 * j + t] >> (8 * i) & 0xff; };
      for (uint32_t j = 0; j < 2; ++j) EXPECT_EQ(byte(v6, j), six(8 * j + t / 4, 4 * (t % 4) + i));
      for (uint32_t j = 0; j < 4; ++j) EXPECT_EQ(byte(v4, j), four(8 * j + t / 4, 4 * (t % 4) + i));
      for (uint32_t k = 0; k < 2; ++k) EXPECT_EQ(byte(t6, k), six(4 * (t % 4) + i, t / 4 + 8 * k));
      for (uint32_t k = 0; k < 4; ++k)
        EXPECT_EQ(byte(t4, k), four(16 * (k / 2) + 4 * (t % 4) + i, t / 4 + 8 * (k % 2)));
    }
}

TEST(StMatrix, InverseOfLdMatrix) {
  for (int n : {1, 2, 4})
    for (const char* trans : {"", ".trans"}) {
      const std::string shape = ".sync.aligned.m8n8.x" + std::to_string(n) + trans + ".shared.b16 ";
      // Loads rows, stores them 512 bytes on, copies that memory out.
      RunPtx run(kernel(std::string(kFill) + R"(
  mov.u32 %r10, 0;
  st.shared.v4.u32 [%r7+512], {%r10,%r10,%r10,%r10};
  bar.warp.sync 0xffffffff;
  ldmatrix)" + shape + registers(n) +
                        ", [%r9];\n  stmatrix" + shape + "[%r9+512], " + registers(n) + R"(;
  bar.warp.sync 0xffffffff;
  ld.shared.v4.u32 {%r3,%r4,%r5,%r6}, [%r7+512];
  add.s64 %rd3, %out, %rd1;
  st.global.v4.u32 [%rd3], {%r3,%r4,%r5,%r6};
)"));
      auto expected = words(content());
      std::fill(expected.begin() + 32 * n, expected.end(), 0u);
      EXPECT_EQ(run_kernel(run, 32, 128, words(content())), expected) << shape;
    }
}

TEST(StMatrix, ElementByElement) {
  // Register of thread t: halves 2t and 2t + 1; without .trans the matrix is then 0, 1, 2 … in row order.
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  shl.b32 %r2, %t, 4;
  add.u32 %r7, %r1, %r2;
  shl.b32 %r3, %t, 1;
  add.u32 %r4, %r3, 1;
  shl.b32 %r4, %r4, 16;
  or.b32 %r20, %r3, %r4;
  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7], {%r20};
  add.u32 %r8, %r7, 128;
  stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r8], {%r20};
  bar.warp.sync 0xffffffff;
  add.u32 %r9, %r1, 0;
  shl.b32 %r10, %t, 3;
  add.u32 %r9, %r9, %r10;
  ld.shared.v2.u32 {%r11,%r12}, [%r9];
  mul.wide.u32 %rd1, %t, 8;
  add.s64 %rd2, %out, %rd1;
  st.global.v2.u32 [%rd2], {%r11,%r12};
)"));
  const auto out = run_kernel(run, 32, 64);
  const auto* halves = reinterpret_cast<const uint16_t*>(out.data());
  for (uint32_t r = 0; r < 8; ++r)
    for (uint32_t c = 0; c < 8; ++c) {
      EXPECT_EQ(halves[8 * r + c], 8 * r + c);
      EXPECT_EQ(halves[64 + 8 * r + c], 8 * c + r);
    }
}

TEST(StMatrix, M16n8BytesTransposed) {
  // Byte i of thread t is 4t + i; the manual's map puts it at row 2 (t % 4) + (i & 1), column t / 4 + 8 (i >> 1).
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  shl.b32 %r2, %t, 4;
  add.u32 %r7, %r1, %r2;
  shl.b32 %r3, %t, 2;
  mad.lo.u32 %r20, %r3, 0x01010101, 0x03020100;
  stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r7], {%r20};
  bar.warp.sync 0xffffffff;
  shl.b32 %r10, %t, 2;
  add.u32 %r9, %r1, %r10;
  ld.shared.u32 %r11, [%r9];
  st.global.u32 [%dst], %r11;
)"));
  const auto out = run_kernel(run, 32, 32);
  const auto* bytes = reinterpret_cast<const uint8_t*>(out.data());
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(bytes[(2 * (t % 4) + (i & 1)) * 16 + t / 4 + 8 * (i >> 1)], 4 * t + i);
}

TEST(MovMatrix, Transposes) {
  RunPtx run(kernel(R"(
  shl.b32 %r3, %t, 1;
  add.u32 %r4, %r3, 1;
  shl.b32 %r4, %r4, 16;
  or.b32 %r20, %r3, %r4;
  movmatrix.sync.aligned.m8n8.trans.b16 %r21, %r20;
  st.global.u32 [%dst], %r21;
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t row = t / 4, column = t % 4 * 2;
    EXPECT_EQ(out[t], (8 * column + row) | (8 * (column + 1) + row) << 16);
  }
}

TEST(LdMatrix, MisalignedRowIsAFault) {
  RunPtx run(kernel("  mov.u32 %r9, smem;\n  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r9+8];\n"));
  EXPECT_EQ(run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).kind,
            FaultKind::misaligned_address);
}

TEST(LdMatrix, OnlyTheAddressesOfItsMatricesCount) {
  // x1 takes rows from threads 0 to 7; the others may hold anything.
  const auto v = load(
      "setp.gt.u32 %p0, %t, 7;\n  selp.b32 %r9, 3, %r9, %p0;\n  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, "
      "[%r9]",
      1);
  EXPECT_EQ(v[0], half(content(), 0, 0) | half(content(), 0, 1) << 16);
}

}  // namespace
}  // namespace tinygpu::test
