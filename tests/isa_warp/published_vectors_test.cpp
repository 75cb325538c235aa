// The published words of mma.sync on a B200 and an H200 through the instruction itself: eight rows of the table per
// instruction, row i of A times column i of B.
#include <gtest/gtest.h>

#include "tests/numerics/vector_data.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

struct Table {
  const char *machine, *format, *result;
};

class PublishedVectors : public ::testing::TestWithParam<Table> {};

uint32_t pattern(const std::string& format, uint32_t f32_word) {
  if (format == "tf32") return f32_word;
  if (format == "bf16") return f32_word >> 16;
  float f;
  std::memcpy(&f, &f32_word, 4);
  const _Float16 h = _Float16(f);
  uint16_t bits;
  std::memcpy(&bits, &h, 2);
  return bits;
}

TEST_P(PublishedVectors, NoRowDiffers) {
  const Table& p = GetParam();
  const std::string format = p.format;
  auto rows = gen5::test::published_rows(p.machine, p.format, p.result);
  ASSERT_FALSE(rows.empty());
  const bool tf32 = format == "tf32", half = std::string(p.result) == "fp16";
  const size_t k = rows[0].a.size();
  ASSERT_EQ(k, tf32 ? 4u : 16u);
  while (rows.size() % 8) rows.push_back(rows.back());
  const size_t ctas = rows.size() / 8;

  // Words per lane: A 4, B 2, C 4; thread 4 i + t holds k = 2 t, 2 t + 1 (and + 8) of row i and column i.
  std::vector<uint32_t> in(ctas * 32 * 10);
  for (size_t n = 0; n < rows.size(); ++n) {
    const size_t i = n % 8;
    uint32_t* warp = &in[n / 8 * 320];
    for (size_t t = 0; t < 4; ++t) {
      uint32_t* lane = warp + (4 * i + t) * 10;
      for (int operand = 0; operand < 2; ++operand) {
        const auto& v = operand ? rows[n].b : rows[n].a;
        uint32_t* to = lane + 4 * operand;
        const auto pair = [&](size_t at) { return pattern(format, v[at]) | pattern(format, v[at + 1]) << 16; };
        to[0] = tf32 ? v[t] : pair(2 * t);
        if (!tf32) to[operand ? 1 : 2] = pair(2 * t + 8);
      }
    }
    uint32_t* owner = warp + (4 * i + i / 2) * 10 + 6;  // of element (i, i)
    if (half)
      owner[0] |= pattern("fp16", rows[n].c) << (i % 2 * 16);
    else
      owner[i % 2] = rows[n].c;
  }
  const std::string type = tf32 ? "tf32" : format == "bf16" ? "bf16" : "f16", d = half ? "f16" : "f32";
  RunPtx run(R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .b32 %r<32>; .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [pin];
  ld.param.u64 %rd1, [pout];
  mov.u32 %r20, %ctaid.x;
  mov.u32 %r21, %tid.x;
  mad.lo.u32 %r22, %r20, 32, %r21;
  mul.wide.u32 %rd2, %r22, 40;
  add.s64 %rd0, %rd0, %rd2;
  mul.wide.u32 %rd3, %r22, 16;
  add.s64 %rd1, %rd1, %rd3;
  ld.global.v2.b32 {%r0,%r1}, [%rd0];
  ld.global.v2.b32 {%r2,%r3}, [%rd0+8];
  ld.global.v2.b32 {%r4,%r5}, [%rd0+16];
  ld.global.v2.b32 {%r6,%r7}, [%rd0+24];
  ld.global.v2.b32 {%r8,%r9}, [%rd0+32];
  mov.b32 %r12, 0; mov.b32 %r13, 0;
  mma.sync.aligned.)" +
             std::string(tf32 ? "m16n8k4" : "m16n8k16") + ".row.col." + d + "." + type + "." + type + "." + d + " " +
             (half ? "{%r10,%r11}" : "{%r10,%r11,%r12,%r13}") + ", " +
             (tf32 ? "{%r0,%r1}, {%r4}" : "{%r0,%r1,%r2,%r3}, {%r4,%r5}") + ", " +
             (half ? "{%r6,%r7}" : "{%r6,%r7,%r8,%r9}") + R"(;
  st.global.v4.b32 [%rd1], {%r10,%r11,%r12,%r13};
  ret;
}
)");
  const uint64_t from = run.upload(in), to = run.buffer<uint32_t>(ctas * 128);
  run.launch("k", {uint32_t(ctas)}, {32}, from, to);
  const auto out = run.download<uint32_t>(to, ctas * 128);
  size_t wrong = 0;
  for (size_t n = 0; n < rows.size(); ++n) {
    const size_t i = n % 8, owner = n / 8 * 128 + (4 * i + i / 2) * 4;
    uint32_t got = half ? out[owner] >> (i % 2 * 16) & 0xffff : out[owner + i % 2];
    const uint32_t expected = half ? pattern("fp16", rows[n].d) : rows[n].d;
    wrong += got != expected;
  }
  EXPECT_EQ(wrong, 0u) << "of " << rows.size();
  RecordProperty("rows", int(rows.size()));
}

INSTANTIATE_TEST_SUITE_P(Tables, PublishedVectors,
                         ::testing::Values(Table{"B200", "fp16", "fp32"}, Table{"B200", "fp16", "fp16"},
                                           Table{"B200", "bf16", "fp32"}, Table{"B200", "tf32", "fp32"},
                                           Table{"H200", "fp16", "fp32"}, Table{"H200", "fp16", "fp16"},
                                           Table{"H200", "bf16", "fp32"}, Table{"H200", "tf32", "fp32"}),
                         [](const auto& info) {
                           return std::string(info.param.machine) + "_" + info.param.format + "_" + info.param.result;
                         });

}  // namespace
}  // namespace tinygpu::test
