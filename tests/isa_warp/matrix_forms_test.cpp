// wmma as a program uses it (load, multiply, store) against the product of the matrices; mma.sp.sync against the dense
// product of the same matrix; multimem, istypep.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "tests/isa_warp/kernel.h"
#include "tests/support/ptx_type.h"

namespace tinygpu::test {
namespace {

/// The pattern of a small integer in a type; f16 and bf16 by table, so that nothing is converted here.
uint64_t pattern(const std::string& type, int v) {
  static const uint16_t half[] = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400};
  const auto sign = [&](uint64_t bits, int top) { return bits | uint64_t(v < 0) << top; };
  const int magnitude = v < 0 ? -v : v;
  if (type == "f16") return sign(half[magnitude], 15);
  if (type == "bf16") return std::bit_cast<uint32_t>(float(v)) >> 16;
  if (type == "f32" || type == "tf32") return std::bit_cast<uint32_t>(float(v));
  if (type == "f64") return std::bit_cast<uint64_t>(double(v));
  const int bits = bits_of(type);
  return uint32_t(v) & (bits == 32 ? ~0u : (1u << bits) - 1);
}

void put(std::vector<uint32_t>& memory, size_t first_bit, int bits, uint64_t value) {
  for (int i = 0; i < bits; ++i) {
    uint32_t& word = memory[(first_bit + size_t(i)) / 32];
    const uint32_t bit = 1u << (first_bit + size_t(i)) % 32;
    word = value >> i & 1 ? word | bit : word & ~bit;
  }
}

/// `n` registers of a kind: "{%r8,%r9}".
std::string registers(const char* kind, int first, int n) {
  std::string s = "{";
  for (int i = 0; i < n; ++i) s += (i ? "," : "") + std::string(kind) + std::to_string(first + i);
  return s + "}";
}

struct Wmma {
  std::string shape, a, c;  // types of A and B, of C and D
  int na, nb, nc;           // registers
};

void expect_product(const Wmma& w, bool a_row, bool b_row, bool d_row) {
  int m = 0, n = 0, k = 0;
  ASSERT_EQ(std::sscanf(w.shape.c_str(), "m%dn%dk%d", &m, &n, &k), 3);
  std::mt19937 random(7);
  const bool is_signed = w.a[0] != 'u' && w.a != "b1";
  const auto small = [&] { return int(random() % (w.a == "b1" ? 2 : 4)) - (is_signed ? 2 : 0); };
  std::vector<int> a(size_t(m * k)), b(size_t(k * n)), c(size_t(m * n));
  for (int& v : a) v = small();
  for (int& v : b) v = small();
  for (int& v : c) v = int(random() % 4) - 2;
  // One buffer: A at 0, B at 4 KiB, C at 8 KiB, D at 16 KiB; strides leave gaps.
  std::vector<uint32_t> memory(6144, 0xa5a5a5a5);
  const auto gap = [&](int length, const std::string& type) { return length + 128 / bits_of(type); };
  const int lda = gap(a_row ? k : m, w.a), ldb = gap(b_row ? n : k, w.a), ldc = gap(d_row ? n : m, w.c);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < k; ++j)
      put(memory, size_t((a_row ? i * lda + j : j * lda + i) * bits_of(w.a)), bits_of(w.a),
          pattern(w.a, a[size_t(i * k + j)]));
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < n; ++j)
      put(memory, 32768 + size_t((b_row ? i * ldb + j : j * ldb + i) * bits_of(w.a)), bits_of(w.a),
          pattern(w.a, b[size_t(i * n + j)]));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      put(memory, 65536 + size_t((d_row ? i * ldc + j : j * ldc + i) * bits_of(w.c)), bits_of(w.c),
          pattern(w.c, c[size_t(i * n + j)]));
  const bool wide = w.a == "f64";
  const char* of_a = wide ? "%fd" : "%r";
  const char* of_c = wide ? "%fd" : "%r";
  const std::string ra = registers(of_a, 0, w.na), rb = registers(of_a, w.na, w.nb),
                    rc = registers(of_c, w.na + w.nb, w.nc), rd = registers(of_c, w.na + w.nb + w.nc, w.nc);
  const auto order = [](bool row) { return std::string(row ? ".row" : ".col"); };
  std::string types = "." + w.c + "." + w.a + "." + w.a + "." + w.c;
  if (w.a == "f16") types = "." + w.c + "." + w.c;
  RunPtx run(kernel("wmma.load.a.sync.aligned" + order(a_row) + "." + w.shape + ".global." + w.a + " " + ra +
                    ", [%in], " + std::to_string(lda) + ";\nwmma.load.b.sync.aligned" + order(b_row) + "." + w.shape +
                    "." + w.a + " " + rb + ", [%in+4096], " + std::to_string(ldb) + ";\nmov.b32 %r60, " +
                    std::to_string(ldc) + ";\nwmma.load.c.sync.aligned" + order(d_row) + "." + w.shape + ".global." +
                    w.c + " " + rc + ", [%in+8192], %r60;\nwmma.mma" + (w.a == "b1" ? ".and.popc" : "") +
                    ".sync.aligned" + order(a_row) + order(b_row) + "." + w.shape + types + " " + rd + ", " + ra +
                    ", " + rb + ", " + rc + ";\nwmma.store.d.sync.aligned" + order(d_row) + "." + w.shape + ".global." +
                    w.c + " [%in+16384], " + rd + ", %r60;\n"));
  const uint64_t in = run.upload(memory);
  run.launch("k", {1}, {32}, in, in);
  std::vector<uint32_t> expected = memory;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = c[size_t(i * n + j)];
      for (int l = 0; l < k; ++l) sum += a[size_t(i * k + l)] * b[size_t(l * n + j)];
      const uint64_t bits = w.c == "f32"   ? std::bit_cast<uint32_t>(float(sum))
                            : w.c == "f64" ? std::bit_cast<uint64_t>(double(sum))
                                           : uint32_t(sum);
      put(expected, 131072 + size_t((d_row ? i * ldc + j : j * ldc + i) * bits_of(w.c)), bits_of(w.c), bits);
    }
  EXPECT_EQ(run.download<uint32_t>(in, memory.size()), expected)
      << w.shape << " " << w.a << (a_row ? " row" : " col") << (b_row ? " row" : " col") << (d_row ? " row" : " col");
}

TEST(Wmma, ProductsOfEveryShapeTypeAndLayout) {
  const Wmma all[] = {
      {"m16n16k16", "f16", "f32", 8, 8, 8},  {"m8n32k16", "f16", "f32", 8, 8, 8},  {"m32n8k16", "f16", "f32", 8, 8, 8},
      {"m16n16k16", "bf16", "f32", 4, 4, 8}, {"m8n32k16", "bf16", "f32", 2, 8, 8}, {"m32n8k16", "bf16", "f32", 8, 2, 8},
      {"m16n16k16", "s8", "s32", 2, 2, 8},   {"m8n32k16", "s8", "s32", 1, 4, 8},   {"m32n8k16", "u8", "s32", 4, 1, 8},
      {"m16n16k8", "tf32", "f32", 4, 4, 8},  {"m8n8k4", "f64", "f64", 1, 1, 2}};
  for (const Wmma& w : all)
    for (int orders = 0; orders < 8; ++orders) expect_product(w, orders & 1, orders & 2, orders & 4);
  for (const char* type : {"s4", "u4"}) expect_product({"m8n8k32", type, "s32", 1, 1, 2}, true, false, true);
  expect_product({"m8n8k128", "b1", "s32", 1, 1, 2}, true, false, false);
}

/// A dense matrix with two non-zero elements of every four, its elements and their places, and what the product is.
TEST(MmaSparse, IsTheDenseProduct) {
  std::mt19937 random(11);
  const int k = 32;
  std::vector<int> a(size_t(16 * k)), b(size_t(k * 8)), c(16 * 8);
  std::vector<uint32_t> words(32 * 13);  // of each thread: A, B, C, metadata
  const auto word = [&](int thread, int i) -> uint32_t& { return words[size_t(thread * 13 + i)]; };
  for (int& v : b) v = int(random() % 7) - 3;
  for (int& v : c) v = int(random() % 7) - 3;
  for (int row = 0; row < 16; ++row)
    for (int group = 0; group < k / 4; ++group) {
      const int first = int(random() % 3), second = first + 1 + int(random() % uint32_t(3 - first));
      const int places[] = {first, second};
      for (int i = 0; i < 2; ++i) {
        const int value = 1 + int(random() % 3), kept = 2 * group + i;
        a[size_t(row * k + 4 * group + places[i])] = value;
        // Fragment of the dense m16n8k16 instruction (PTX ISA 9.7.14.5.8), whose K are the elements that are kept.
        const int thread = row % 8 * 4 + kept % 8 / 2, r = (kept >= 8 ? 2 : 0) + (row >= 8 ? 1 : 0);
        word(thread, r) |= uint32_t(pattern("f16", value)) << (16 * (kept % 2));
        // Selector 0: threads 0 and 1 of a quad, 16 elements each; row 8 above in the upper halves.
        word(row % 8 * 4 + group / 4, 12) |= uint32_t(places[i]) << (4 * (group % 4) + 2 * i + (row >= 8 ? 16 : 0));
      }
    }
  for (int column = 0; column < 8; ++column)
    for (int row = 0; row < k; ++row)
      word(column * 4 + row % 8 / 2, 4 + row / 8) |= uint32_t(pattern("f16", b[size_t(row * 8 + column)]))
                                                     << (16 * (row % 2));
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column)
      word(row % 8 * 4 + column / 2, 8 + column % 2 + (row >= 8 ? 2 : 0)) =
          uint32_t(pattern("f32", c[size_t(row * 8 + column)]));
  std::string body = "mad.lo.u32 %r60, %t, 52, 0; cvt.u64.u32 %rd1, %r60; add.u64 %rd1, %rd1, %in;\n";
  for (int i = 0; i < 13; ++i)
    body += "ld.global.b32 %r" + std::to_string(i) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
  body +=
      "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r20,%r21,%r22,%r23}, "
      "{%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11}, %r12, 0;\n"
      "mul.lo.u32 %r60, %t, 16; cvt.u64.u32 %rd1, %r60; add.u64 %rd1, %rd1, %out;\n"
      "st.global.v4.b32 [%rd1], {%r20,%r21,%r22,%r23};\n";
  RunPtx run(kernel(body));
  const auto d = run_kernel(run, 32, 128, words);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int sum = c[size_t(row * 8 + column)];
      for (int i = 0; i < k; ++i) sum += a[size_t(row * k + i)] * b[size_t(i * 8 + column)];
      const size_t at = size_t((row % 8 * 4 + column / 2) * 4 + column % 2 + (row >= 8 ? 2 : 0));
      EXPECT_EQ(std::bit_cast<float>(d[at]), float(sum)) << row << ", " << column;
    }
}

TEST(MmaSparse, SelectorsThatPtxasTakes) {
  const auto fault = [](const std::string& shape, const std::string& types, int registers, int selector) {
    const std::string r = registers == 4 ? "{%r0,%r1,%r2,%r3}" : "{%r0,%r1}";
    try {
      RunPtx run(kernel("mma.sp.sync.aligned." + shape + ".row.col." + types + " {%r4,%r5,%r6,%r7}, " + r + ", " + r +
                        ", {%r4,%r5,%r6,%r7}, %r8, " + std::to_string(selector) + ";\n"));
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  for (int s = 0; s < 5; ++s) {
    EXPECT_EQ(fault("m16n8k16", "f32.f16.f16.f32", 2, s).empty(), s < 4) << s;
    EXPECT_EQ(fault("m16n8k32", "f32.bf16.bf16.f32", 4, s).empty(), s < 2) << s;
    EXPECT_EQ(fault("m16n8k64", "s32.s8.s8.s32", 4, s).empty(), s < 1) << s;
  }
}

TEST(Multimem, NamesWhatItLacks) {
  RunPtx run(kernel("multimem.red.relaxed.sys.global.add.u32 [%dst], 1;\n"));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(64), run.buffer<uint32_t>(64));
  EXPECT_EQ(d.code, "multimem-not-multicast");
  EXPECT_NE(d.message.find("multimem.red.relaxed.sys.global.add.u32"), std::string::npos);
}

TEST(Textures, RefuseByName) {
  for (const char* line : {"tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], %f1;",
                           "tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}];", "txq.width.b32 %r1, [%rd1];",
                           "sured.b.add.1d.u32.trap [%rd1, {%r1}], %r2;", "suq.width.b32 %r1, [%rd1];"}) {
    RunPtx run(kernel(
        std::string("mov.b64 %rd1, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %f1, 0f00000000; mov.b32 %f2, %f1;\n") +
        line));
    const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(64), run.buffer<uint32_t>(64));
    EXPECT_EQ(d.code, "not-modelled");
    EXPECT_NE(d.message.find(std::string(line).substr(0, std::string(line).find(' '))), std::string::npos) << d.message;
  }
}

TEST(Textures, AHandleThatIsNone) {
  RunPtx run(kernel("mov.b64 %rd1, 64; mov.b32 %r1, 0; tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}];"));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(64), run.buffer<uint32_t>(64));
  EXPECT_EQ(d.code, "texture-not-an-object");
}

TEST(Istypep, LooksAtTheHandlesUpperBits) {
  RunPtx run(kernel(R"(
  mov.b64 %rd1, 0x2000000000000001; mov.b64 %rd2, 0x4000000000000001; mov.b64 %rd3, 0x8000000000000001;
  istypep.texref %p1, %rd1; istypep.texref %p2, %rd2; istypep.samplerref %p3, %rd2; istypep.surfref %p4, %rd3;
  istypep.surfref %p5, %rd1;
  selp.b32 %r1, 1, 0, %p1; selp.b32 %r2, 2, 0, %p2; selp.b32 %r3, 4, 0, %p3; selp.b32 %r4, 8, 0, %p4;
  selp.b32 %r5, 16, 0, %p5; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
  add.u32 %r1, %r1, %r5; st.global.u32 [%dst], %r1;
)"));
  EXPECT_EQ(run_kernel(run, 1, 1), std::vector<uint32_t>{1 + 4 + 8});
}

}  // namespace
}  // namespace tinygpu::test
