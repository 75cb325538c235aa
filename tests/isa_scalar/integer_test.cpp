// Integer, logic and bit-field instructions against references written from the PTX ISA's pseudo code.
#include <gmock/gmock.h>

#include "tests/isa_scalar/evaluate.h"

namespace isa_test {
namespace {

using Tuples = std::vector<std::vector<uint64_t>>;

Tuples random_tuples(int operands, uint64_t mask, size_t count = 512) {
  Random random;
  Tuples t(count);
  for (auto& tuple : t)
    for (int k = 0; k < operands; ++k) {
      uint64_t w = random();
      if (random() % 4 == 0) w >>= random() % 64;  // small numbers too
      if (random() % 8 == 0) w = ~uint64_t(0) << (random() % 64);
      tuple.push_back(w & mask);
    }
  return t;
}

TEST(Integer, WideProductsAndHighHalves) {
  const Tuples t = random_tuples(3, ~uint64_t(0));
  const auto hi = evaluate("mul.hi.s64 $0, $1, $2; | s64 | s64 s64 s64", t);
  const auto hi_u = evaluate("mul.hi.u64 $0, $1, $2; | u64 | u64 u64 u64", t);
  const auto wide = evaluate("mul.wide.s32 $0, $1, $2; | s64 | s32 s32 s64", t);
  const auto mad = evaluate("mad.wide.u32 $0, $1, $2, $3; | u64 | u32 u32 u64", t);
  const auto mad_hi = evaluate("mad.hi.s32 $0, $1, $2, $3; | s32 | s32 s32 s32", t);
  for (size_t i = 0; i < t.size(); ++i) {
    const __int128 a = int64_t(t[i][0]), b = int64_t(t[i][1]);
    EXPECT_EQ(hi[i][0], uint64_t(a * b >> 64));
    EXPECT_EQ(hi_u[i][0], uint64_t((unsigned __int128)(t[i][0]) * t[i][1] >> 64));
    EXPECT_EQ(wide[i][0], uint64_t(int64_t(int32_t(t[i][0])) * int32_t(t[i][1])));
    EXPECT_EQ(mad[i][0], uint64_t(uint32_t(t[i][0])) * uint32_t(t[i][1]) + t[i][2]);
    EXPECT_EQ(mad_hi[i][0], uint32_t((int64_t(int32_t(t[i][0])) * int32_t(t[i][1]) >> 32) + int32_t(t[i][2])));
  }
}

TEST(Integer, CarriesChainInto128Bits) {
  const Tuples t = random_tuples(4, ~uint64_t(0));
  const auto sum = evaluate("add.cc.u64 $0, $2, $4; addc.u64 $1, $3, $5; | u64 u64 | u64 u64 u64 u64", t);
  const auto difference = evaluate("sub.cc.u64 $0, $2, $4; subc.u64 $1, $3, $5; | u64 u64 | u64 u64 u64 u64", t);
  for (size_t i = 0; i < t.size(); ++i) {
    const auto whole = [&](int low) { return (unsigned __int128)(t[i][low + 1]) << 64 | t[i][low]; };
    const unsigned __int128 s = whole(0) + whole(2), d = whole(0) - whole(2);
    EXPECT_THAT(sum[i], testing::ElementsAre(uint64_t(s), uint64_t(s >> 64)));
    EXPECT_THAT(difference[i], testing::ElementsAre(uint64_t(d), uint64_t(d >> 64)));
  }
}

// Of an H200: subc behind additions takes their carry for "no borrow". Its answer is the same for all of these.
TEST(Integer, ASubtractionBehindAnAdditionTakesItsCarry) {
  Tuples t;
  for (uint64_t x : {0x12345u, 0xffff0001u, 0x80000000u})
    for (uint32_t i = 0; i < 96; ++i) t.push_back({uint32_t(i * 2654435761u + x), x});
  const auto got =
      evaluate("add.cc.u32 $0, $3, $4; addc.cc.u32 $1, $4, $3; subc.u32 $2, $0, $1; | u32 u32 u32 | u32 u32", t);
  for (size_t i = 0; i < t.size(); ++i) EXPECT_EQ(got[i][2], 0xffffffffu) << i;
}

TEST(Integer, CarryFlagIsPerLaneAndSurvivesDivergence) {
  // Odd lanes set the flag in their branch, even lanes clear it in theirs; each lane reads its own afterwards.
  tinygpu::test::RunPtx machine(R"(
    .visible .entry k(.param .u64 out) {
      .reg .b32 %t, %odd, %x, %c; .reg .b64 %p; .reg .pred %q;
      mov.u32 %t, %tid.x;
      and.b32 %odd, %t, 1;
      setp.eq.u32 %q, %odd, 0;
      @%q bra EVEN;
      add.cc.u32 %x, 0xffffffff, %t;
      bra JOIN;
    EVEN:
      add.cc.u32 %x, 1, 1;
    JOIN:
      addc.u32 %c, 0, 0;
      ld.param.u64 %p, [out];
      mad.wide.u32 %p, %t, 4, %p;
      st.global.u32 [%p], %c;
      ret;
    })");
  const uint64_t out = machine.buffer<uint32_t>(32);
  machine.launch("k", tinygpu::Dim3{1, 1, 1}, tinygpu::Dim3{32, 1, 1}, out);
  const auto got = machine.download<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i & 1) << "lane " << i;
}

TEST(Integer, GuardedLanesKeepTheirRegisters) {
  // Every width and packing of destination: lanes of odd index do not execute.
  tinygpu::test::RunPtx machine(R"(
    .visible .entry k(.param .u64 out) {
      .reg .b16 %h; .reg .b32 %t, %odd, %x, %y, %z; .reg .b64 %p, %d; .reg .pred %q, %r;
      mov.u32 %t, %tid.x;
      and.b32 %odd, %t, 1;
      setp.eq.u32 %q, %odd, 0;
      mov.b16 %h, 7; mov.b32 %x, 7; mov.b64 %d, 7; mov.b32 %y, 0x00070007; mov.b32 %z, 0x00010001; setp.ne.u32 %r, %t, %t;
      @%q add.s16 %h, %h, 1;
      @%q add.s32 %x, %x, 1;
      @%q add.s64 %d, %d, 1;
      @%q add.u16x2 %y, %y, %z;
      @%q setp.eq.u32 %r, %t, %t;
      ld.param.u64 %p, [out];
      mad.wide.u32 %p, %t, 32, %p;
      st.global.u16 [%p], %h; st.global.u32 [%p+4], %x; st.global.u64 [%p+8], %d; st.global.u32 [%p+16], %y;
      selp.u32 %x, 1, 0, %r;
      st.global.u32 [%p+20], %x;
      ret;
    })");
  const uint64_t out = machine.buffer<uint64_t>(32 * 4);
  machine.launch("k", tinygpu::Dim3{1, 1, 1}, tinygpu::Dim3{32, 1, 1}, out);
  const auto got = machine.download<uint64_t>(out, 32 * 4);
  for (uint32_t i = 0; i < 32; ++i) {
    const uint64_t n = i & 1 ? 7 : 8;
    EXPECT_EQ(got[i * 4], n << 32 | n) << "lane " << i;
    EXPECT_EQ(got[i * 4 + 1], n) << "lane " << i;
    EXPECT_EQ(got[i * 4 + 2], (i & 1 ? 0ull : 1ull) << 32 | n << 16 | n) << "lane " << i;
  }
}

TEST(Logic, Lop3IsItsTruthTable) {
  const Tuples t = random_tuples(3, 0xffffffff, 256);
  for (uint32_t table = 0; table < 256; ++table) {
    const auto got = evaluate("lop3.b32 $0, $1, $2, $3, " + std::to_string(table) + "; | b32 | b32 b32 b32", t);
    for (size_t i = 0; i < t.size(); ++i) {
      uint32_t expected = 0;
      for (int bit = 0; bit < 32; ++bit) {
        const uint32_t row =
            uint32_t(t[i][0] >> bit & 1) << 2 | uint32_t(t[i][1] >> bit & 1) << 1 | uint32_t(t[i][2] >> bit & 1);
        expected |= (table >> row & 1) << bit;
      }
      ASSERT_EQ(got[i][0], expected) << "table " << table;
    }
  }
}

TEST(Logic, PrmtPicksBytes) {
  const std::string line = "prmt.b32 $0, $1, $2, $3; | b32 | b32 b32 b32";
  const uint64_t a = 0x33221180, b = 0x77665544;  // bytes 0 to 7
  EXPECT_EQ(evaluate_one(line, {a, b, 0x3210}), a);
  EXPECT_EQ(evaluate_one(line, {a, b, 0x7654}), b);
  EXPECT_EQ(evaluate_one(line, {a, b, 0x0417}), 0x80441177u);
  EXPECT_EQ(evaluate_one(line, {a, b, 0x8989}), 0xff00ff00u);  // signs of bytes 0 and 1
  EXPECT_EQ(evaluate_one("prmt.b32.rc16 $0, $1, $2, $3; | b32 | b32 b32 b32", {a, b, 1}), 0x33223322u);
  EXPECT_EQ(evaluate_one("prmt.b32.b4e $0, $1, $2, $3; | b32 | b32 b32 b32", {a, b, 0}), 0x55667780u);
}

TEST(Logic, BitFieldsFollowThePseudoCode) {
  Tuples t = random_tuples(2, ~uint64_t(0));
  Random random;
  for (auto& x : t) x.push_back(random() % 70), x.push_back(random() % 70);
  const auto extract = evaluate("bfe.s32 $0, $1, $3, $4; | s32 | s32 s32 field field", t);
  const auto extract64 = evaluate("bfe.u64 $0, $1, $3, $4; | u64 | u64 u64 field field", t);
  const auto insert = evaluate("bfi.b32 $0, $1, $2, $3, $4; | b32 | b32 b32 field field", t);
  for (size_t i = 0; i < t.size(); ++i) {
    const uint64_t a = t[i][0], b = t[i][1], position = t[i][2], length = t[i][3];
    const auto bit = [](uint64_t w, uint64_t n) { return w >> n & 1; };
    const auto field = [&](uint64_t msb, bool is_signed) {
      uint64_t d = 0;
      const uint64_t sign = !is_signed || length == 0 ? 0 : bit(a, std::min(position + length - 1, msb));
      for (uint64_t k = 0; k <= msb; ++k) d |= (k < length && position + k <= msb ? bit(a, position + k) : sign) << k;
      return d;
    };
    EXPECT_EQ(extract[i][0], field(31, true));
    EXPECT_EQ(extract64[i][0], field(63, false));
    uint64_t d = b & 0xffffffff;
    for (uint64_t k = 0; k < length && position + k <= 31; ++k)
      d = (d & ~(uint64_t(1) << (position + k))) | bit(a, k) << (position + k);
    EXPECT_EQ(insert[i][0], d);
  }
}

TEST(Logic, ShiftsClampTheirAmount) {
  EXPECT_EQ(evaluate_one("shl.b32 $0, $1, $2; | b32 | b32 shift", {1, 31}), 0x80000000u);
  EXPECT_EQ(evaluate_one("shl.b32 $0, $1, $2; | b32 | b32 shift", {1, 32}), 0u);
  EXPECT_EQ(evaluate_one("shl.b16 $0, $1, $2; | b16 | b16 shift", {1, 16}), 0u);
  EXPECT_EQ(evaluate_one("shr.s64 $0, $1, $2; | s64 | s64 shift", {1ull << 63, 200}), ~0ull);
  EXPECT_EQ(evaluate_one("shr.u64 $0, $1, $2; | u64 | u64 shift", {1ull << 63, 0xffffffff}), 0u);
  EXPECT_EQ(evaluate_one("shf.l.wrap.b32 $0, $1, $2, $3; | b32 | b32 b32 shift", {0x80000000, 1, 33}), 3u);
  EXPECT_EQ(evaluate_one("shf.l.clamp.b32 $0, $1, $2, $3; | b32 | b32 b32 shift", {0x80000000, 1, 33}), 0x80000000u);
}

TEST(Logic, DivisionByZeroAndOverflow) {
  EXPECT_EQ(evaluate_one("div.u32 $0, $1, $2; | u32 | u32 u32", {5, 0}), 0xffffffffu);
  EXPECT_EQ(evaluate_one("rem.s64 $0, $1, $2; | s64 | s64 s64", {5, 0}), ~0ull);
  EXPECT_EQ(evaluate_one("div.s32 $0, $1, $2; | s32 | s32 s32", {0x80000000, 0xffffffff}), 0x80000000u);
  EXPECT_EQ(evaluate_one("rem.s32 $0, $1, $2; | s32 | s32 s32", {0x80000000, 0xffffffff}), 0u);
  EXPECT_EQ(evaluate_one("div.s32 $0, $1, $2; | s32 | s32 s32", {uint32_t(-7), 2}), uint32_t(-3));
  EXPECT_EQ(evaluate_one("rem.s32 $0, $1, $2; | s32 | s32 s32", {uint32_t(-7), 2}), uint32_t(-1));
}

TEST(Move, B128PacksAndUnpacks) {
  const auto r =
      evaluate("{ .reg .b128 q, r; mov.b128 q, {$2, $3}; mov.b128 r, q; mov.b128 {$0, $1}, r; } | b64 b64 | b64 b64",
               {{0x0123456789abcdef, 0xfedcba9876543210}});
  EXPECT_THAT(r[0], testing::ElementsAre(0x0123456789abcdefull, 0xfedcba9876543210ull));
}

TEST(Move, AddressesOfSpaces) {
  tinygpu::test::RunPtx machine(R"(
    .visible .entry k(.param .u64 out) {
      .reg .b32 %s; .reg .b64 %p, %a, %g, %l, %x; .reg .pred %q0, %q1, %q2, %q3;
      .shared .align 8 .b8 buffer[16];
      .local .align 8 .b8 mine[8];
      ld.param.u64 %p, [out];
      mov.u32 %s, buffer;
      mov.u64 %a, buffer;
      cvta.shared.u64 %g, %a;
      cvta.to.shared.u64 %x, %g;
      st.global.u32 [%p], %s;
      st.global.u64 [%p+8], %x;
      mov.u64 %l, mine;
      cvta.local.u64 %l, %l;
      isspacep.shared %q0, %g;
      isspacep.local %q1, %l;
      isspacep.global %q2, %p;
      isspacep.shared %q3, %l;
      selp.u64 %x, 1, 0, %q0; st.global.u64 [%p+16], %x;
      selp.u64 %x, 1, 0, %q1; st.global.u64 [%p+24], %x;
      selp.u64 %x, 1, 0, %q2; st.global.u64 [%p+32], %x;
      selp.u64 %x, 1, 0, %q3; st.global.u64 [%p+40], %x;
      st.u64 [%g], %p;
      ld.shared.u64 %x, [buffer];
      st.global.u64 [%p+48], %x;
      ret;
    })");
  const uint64_t out = machine.buffer<uint64_t>(8);
  machine.launch("k", tinygpu::Dim3{1, 1, 1}, tinygpu::Dim3{1, 1, 1}, out);
  const auto got = machine.download<uint64_t>(out, 8);
  EXPECT_EQ(got[0] & 0xffffffff, tinygpu::kSharedBase);
  EXPECT_EQ(got[1], tinygpu::kSharedBase);
  EXPECT_EQ(got[2], 1u);
  EXPECT_EQ(got[3], 1u);
  EXPECT_EQ(got[4], 1u);
  EXPECT_EQ(got[5], 0u);
  EXPECT_EQ(got[6], out);
}

TEST(Packed, DotProductsOfBytes) {
  const Tuples t = random_tuples(3, 0xffffffff);
  const auto got = evaluate("dp4a.s32.u32 $0, $1, $2, $3; | b32 | b32 b32 b32", t);
  const auto two = evaluate("dp2a.hi.u32.s32 $0, $1, $2, $3; | b32 | b32 b32 b32", t);
  for (size_t i = 0; i < t.size(); ++i) {
    int64_t four = int32_t(t[i][2]), pair = int32_t(t[i][2]);
    for (int k = 0; k < 4; ++k) four += int64_t(int8_t(t[i][0] >> 8 * k)) * uint8_t(t[i][1] >> 8 * k);
    for (int k = 0; k < 2; ++k) pair += int64_t(uint16_t(t[i][0] >> 16 * k)) * int8_t(t[i][1] >> (16 + 8 * k));
    EXPECT_EQ(got[i][0], uint32_t(four));
    EXPECT_EQ(two[i][0], uint32_t(pair));
  }
}

}  // namespace
}  // namespace isa_test
