// Every kind of tcgen05.mma from PTX against the second reference, dense, sparse, weight-stationary, alone and in
// pairs; the words that a B200 returned, through the instruction; chains, and what the machine says to bad input.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/mma/kind_case.h"

namespace gen5::test {
namespace {

using tinygpu::CompletionOrder;
using tinygpu::test::RunPtx;

struct Group {
  const char* kind;
  bool sparse, ws, pair;
  uint32_t cases;
};
std::ostream& operator<<(std::ostream& o, const Group& g) {
  return o << g.kind << (g.sparse ? "_sp" : "") << (g.ws ? "_ws" : "") << (g.pair ? "_pair" : "");
}

void compare(const std::vector<KindCase>& cases, size_t& wrong) {
  RunPtx gpu(kernel_text(cases[0].instruction(), cases[0].pair));
  const auto got = run_kinds(gpu, cases);
  for (const auto& d : gpu.reports)
    if (d.code != "tmem-uninitialised") ADD_FAILURE() << cases[0].describe() << ": " << d.code << ": " << d.message;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto expected = cases[i].expected();
    for (uint32_t cta = 0; cta < cases[i].ctas(); ++cta) {
      size_t different = 0, first = 0;
      for (size_t w = 0; w < expected[cta].size(); ++w)
        if (got[i][cta][w] != expected[cta][w] && different++ == 0) first = w;
      if (different && ++wrong <= 5)
        ADD_FAILURE() << different << " cells of CTA " << cta << " differ in " << cases[i].describe()
                      << ": first at lane " << first % kLanes << " column " << first / kLanes << std::hex
                      << ", expected " << expected[cta][first] << ", got " << got[i][cta][first];
    }
  }
}

class KindSweep : public testing::TestWithParam<Group> {};

TEST_P(KindSweep, MatchesTheSecondReference) {
  const Group g = GetParam();
  Random random(uint32_t(g.kind[0] + 7 * g.kind[2] + 100 * g.sparse + 200 * g.ws + 400 * g.pair));
  std::map<std::string, std::vector<KindCase>> by_text;
  size_t wrong = 0;
  for (uint32_t i = 0; i < g.cases; ++i) {
    KindCase c = random_kind_case(random, g.kind, g.sparse, g.ws, g.pair, i);
    by_text[c.instruction()].push_back(std::move(c));
  }
  for (const auto& [text, cases] : by_text) compare(cases, wrong);
  EXPECT_EQ(wrong, 0u);
}

std::vector<Group> groups() {
  std::vector<Group> out;
  for (const char* kind : {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"}) {
    const bool floats = kind[0] == 'f' || kind[0] == 't', scaled = kind[0] == 'm';
    const uint32_t cases = floats ? 40 : 25;
    for (const bool sparse : {false, true})
      for (const bool pair : {false, true})
        if (sparse || kind[1] == '8' || kind[0] == 'i' || scaled) out.push_back({kind, sparse, false, pair, cases});
    if (!scaled)
      for (const bool sparse : {false, true}) out.push_back({kind, sparse, true, false, 16});
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Tcgen05Mma, KindSweep, testing::ValuesIn(groups()));

// ---- Words of a B200

uint32_t hex(const nlohmann::json& j) { return uint32_t(std::stoul(j.get<std::string>(), nullptr, 16)); }

Type type_of(const std::string& name) {
  const std::map<std::string, Type> types = {
      {"f16", Type::f16},   {"bf16", Type::bf16}, {"tf32", Type::tf32}, {"e4m3", Type::e4m3}, {"e5m2", Type::e5m2},
      {"e2m3", Type::e2m3}, {"e3m2", Type::e3m2}, {"e2m1", Type::e2m1}, {"s8", Type::s8},     {"u8", Type::u8}};
  return types.at(name);
}

TEST(B200Words, ComeOutOfTheInstruction) {
  std::ifstream in(std::string(GEN5_SOURCE_DIR) + "/tests/numerics/data/b200_words.json");
  const auto words = nlohmann::json::parse(in);
  ASSERT_EQ(words.size(), 49u);
  for (const auto& word : words) {
    KindCase c;
    c.kind = word.at("kind");
    c.a_type = type_of(word.at("a_type"));
    c.b_type = type_of(word.at("b_type"));
    c.result = word.at("d_type") == "f16"   ? KindCase::Result::f16
               : word.at("d_type") == "s32" ? KindCase::Result::s32
                                            : KindCase::Result::f32;
    c.saturate = word.value("saturate", false);
    c.accumulate = true;
    if (word.contains("scale_a")) {
      c.scales = uint32_t(word["scale_a"].size());
      c.ue8m0 = word.at("scale_type") == "ue8m0";
      c.scale_vector = ".scale_vec::" + std::to_string(c.scales) + "X";
    }
    c.n = 8;
    c.a.element_bytes = c.b.element_bytes = c.element_bytes();
    c.a.leading = c.b.leading = 128;
    c.a.stride = c.b.stride = 256;
    c.b.base = 8192;
    c.image[0].assign(kImageBytes, 0);
    c.tmem[0].assign(kLanes * kColumns, 0);
    c.a_bits.assign(c.m * c.terms(), 0);
    c.b_bits.assign(c.n * c.k(), 0);
    c.a_scale.assign(c.m * c.scales, c.ue8m0 ? 127 : 0x38);
    c.b_scale.assign(c.n * c.scales, c.ue8m0 ? 127 : 0x38);
    // Row 37 and column 5 hold the word's operands.
    const uint32_t row = 37, column = 5;
    for (uint32_t i = 0; i < c.terms(); ++i) {
      const auto element = [&](const char* key, Type t) { return hex(word[key][i]) >> (t == Type::bf16 ? 16 : 0); };
      c.a_bits[row * c.terms() + i] = element("a", c.a_type);
      c.b_bits[column * c.terms() + i] = element("b", c.b_type);
    }
    for (uint32_t j = 0; j < c.scales; ++j) {
      c.a_scale[row * c.scales + j] = hex(word["scale_a"][j]);
      c.b_scale[column * c.scales + j] = hex(word["scale_b"][j]);
    }
    c.tmem[0][column * kLanes + row] = hex(word["c"]);
    c.place();
    RunPtx gpu(kernel_text(c.instruction(), false));
    EXPECT_EQ(run_kinds(gpu, {c})[0][0][column * kLanes + row], hex(word["d"])) << word.at("name");
  }
}

// ---- What the machine says to bad input

/// 128 x 64 of a kind, all zeros, K-major without swizzle.
KindCase zeros(const std::string& kind, const std::string& scale_vector = "", uint32_t scales = 0) {
  KindCase c;
  c.kind = kind;
  if (kind == "i8") {
    c.a_type = c.b_type = Type::s8;
    c.result = KindCase::Result::s32;
  }
  if (kind == "f16") c.a_type = c.b_type = Type::f16;
  if (kind[0] == 'm' && kind != "mxf8f6f4") c.a_type = c.b_type = Type::e2m1;
  c.scale_vector = scale_vector;
  c.scales = scales;
  c.n = 64;
  c.a.element_bytes = c.b.element_bytes = c.element_bytes();
  c.a.leading = c.b.leading = 128;
  c.a.stride = c.b.stride = 256;
  c.b.base = 8192;
  c.image[0].assign(kImageBytes, 0);
  c.tmem[0].assign(kLanes * kColumns, 0);
  return c;
}

std::string fault_of(const KindCase& c) {
  RunPtx gpu(kernel_text(c.instruction(), c.pair));
  return fault_in([&] { run_kinds(gpu, {c}); });
}

TEST(KindDiagnosis, FieldsOfEachKind) {
  KindCase c = zeros("mxf4", ".scale_vec::2X", 2);
  c.sfa_id = 1;
  EXPECT_EQ(
      fault_of(c),
      "instruction-descriptor: In instruction descriptor 0x28900480, the SFA id (bits 30:29) holds 1; legal: 0, 2 "
      "for kind::mxf4.");
  c = zeros("mxf8f6f4", "", 1);
  c.ue8m0 = false;
  EXPECT_EQ(fault_of(c),
            "instruction-descriptor: In instruction descriptor 0x08100000, the scale type (bit 23) holds 0 (ue4m3); "
            "legal: 1 (ue8m0) for kind::mxf8f6f4.");
  c = zeros("mxf4nvf4", ".scale_vec::2X", 2);
  c.ue8m0 = false;
  EXPECT_NE(fault_of(c).find("legal: 1 (ue8m0) with two scales a row"), std::string::npos) << fault_of(c);
  c = zeros("mxf4nvf4", ".block16", 4);
  c.sfb_id = 2;
  EXPECT_NE(fault_of(c).find("the SFB id (bits 5:4) holds 2; legal: 0 with four scales a row"), std::string::npos);
  c = zeros("mxf4", "", 2);
  c.m = 64;
  EXPECT_NE(fault_of(c).find("legal: 128 with .cta_group::1"), std::string::npos) << fault_of(c);
  c = zeros("i8");
  c.negate_a = true;
  EXPECT_NE(fault_of(c).find("negate (bits 14:13) holds set; legal: 0 for kind::i8"), std::string::npos) << fault_of(c);
  c = zeros("mxf4", ".scale_vec::2X", 2);
  c.b.mn_major = true;
  EXPECT_NE(fault_of(c).find("the B major bit (bit 16) holds 1 (N-major); legal: 0 (K-major) for kind::mxf4."),
            std::string::npos)
      << fault_of(c);
  c = zeros("f8f6f4");
  c.b.mn_major = true;
  c.n = 24;
  EXPECT_NE(fault_of(c).find("16 to 256 in steps of 16 for kind::f8f6f4"), std::string::npos) << fault_of(c);
  c = zeros("f16");
  c.ws = true;
  c.n = 96;
  EXPECT_NE(fault_of(c).find("legal: 64, 128, 256 with .ws"), std::string::npos) << fault_of(c);
}

TEST(KindDiagnosis, ZeroColumnMask) {
  KindCase c = zeros("f16");
  c.ws = true;
  c.m = 32;
  c.zero_columns = uint64_t(9) << 56;
  c.max_shift = 1;
  EXPECT_EQ(
      fault_of(c),
      "zero-column-mask: In zero-column mask 0x0900000000000000, the column shift (bits 61:56) holds 9; legal: 0 to "
      "8, the instruction descriptor's maximum shift (bits 31:30).");
  c.zero_columns = uint64_t(17) << 56;
  c.max_shift = 3;
  EXPECT_NE(fault_of(c).find("legal: 0 to 16 with M = 32"), std::string::npos) << fault_of(c);
  c.zero_columns = uint64_t(1) << 36;
  EXPECT_NE(fault_of(c).find("reserved bits 38:36 holds 1"), std::string::npos) << fault_of(c);
}

TEST(KindDiagnosis, PlacesInTensorMemory) {
  const KindCase c = zeros("mxf8f6f4", "", 1);
  RunPtx gpu(kernel_text("add.u32 %sfb, %sfb, 512; " + c.instruction(), false));
  const std::string said = fault_in([&] { run_kinds(gpu, {c}); });
  EXPECT_EQ(said.substr(0, 42), "tmem-out-of-bounds: B's scale factors touc") << said;
  // The bits above the lanes do not count: CUTLASS keeps a factor's number there.
  RunPtx with_id(kernel_text("or.b32 %sfa, %sfa, 0x40000000; " + c.instruction(), false));
  EXPECT_EQ(fault_in([&] { run_kinds(with_id, {c}); }), "ran to its end");
}

std::vector<std::string> codes(const RunPtx& gpu) {
  std::vector<std::string> out;
  for (const auto& d : gpu.reports) out.push_back(d.code);
  return out;
}

TEST(KindDiagnosis, SparseMetadata) {
  KindCase c = zeros("f8f6f4");
  c.sparse = true;
  // Metadata 0, as CUTLASS's compressor writes them where A has nothing but zeros.
  RunPtx nothing(kernel_text(c.instruction(), false));
  run_kinds(nothing, {c});
  EXPECT_TRUE(nothing.reports.empty());
  // One element that is not zero: two indices 0, so it meets B's element 0.
  c.image[0][0] = c.image[0][8192] = 0x38;
  RunPtx one(kernel_text(c.instruction(), false));
  const auto cells = run_kinds(one, {c});
  ASSERT_EQ(codes(one), std::vector<std::string>{"sparse-metadata"});
  EXPECT_EQ(one.reports[0].message,
            "The metadata of row 0 of A have the code 0x0, which has no meaning, for elements that are not zero; "
            "legal: 0x4, 0x8, 0xc, 0x9, 0xd, 0x6, 0xe.");
  EXPECT_NE(one.reports[0].help.find("Store the metadata of all M rows"), std::string::npos);
  EXPECT_EQ(cells[0][0][0], 0x3f800000u);
  // A written code that names one element twice: only packing judges it, storing does not.
  c.tmem[0][kMetadataColumn * kLanes] = 0x5;
  RunPtx twice(kernel_text(c.instruction(), false));
  run_kinds(twice, {c});
  ASSERT_EQ(codes(twice), std::vector<std::string>{"sparse-metadata"});
  EXPECT_NE(twice.reports[0].message.find("have the code 0x5"), std::string::npos);
  EXPECT_NE(twice.reports[0].help.find("the code that packs them"), std::string::npos);
}

TEST(KindDiagnosis, ScaleFactorsThatDifferBetweenPartitions) {
  KindCase c = zeros("mxf8f6f4", "", 1);
  c.tmem[0][kScaleBColumn * kLanes + 64] = 0x7f;
  RunPtx gpu(kernel_text(c.instruction(), false));
  run_kinds(gpu, {c});
  ASSERT_EQ(codes(gpu), std::vector<std::string>{"scale-factor-copies"});
  EXPECT_EQ(gpu.reports[0].message, "The scale factors of B differ between the partitions of Tensor Memory.");
  // Another byte of the same cells is no factor.
  c.tmem[0][kScaleBColumn * kLanes + 64] = 0x7f00;
  RunPtx other(kernel_text(c.instruction(), false));
  run_kinds(other, {c});
  EXPECT_TRUE(other.reports.empty());
}

// No rule orders a copy behind the MMA that reads what it overwrites; CUTLASS's kernels count on it.
TEST(KindOrder, ACopyOverScalesComesBehindTheMma) {
  KindCase c = zeros("mxf8f6f4", "", 1);
  std::fill_n(c.image[0].begin(), 16384, 0x38);  // A and B are ones
  for (const uint32_t column : {kScaleAColumn, kScaleBColumn})
    std::fill_n(c.tmem[0].begin() + column * kLanes, 4 * kLanes, 0x7f7f7f7f);
  const std::string copy = " tcgen05.cp.cta_group::1.32x128b.warpx4 [%sfa], %adesc;";
  using Mode = tinygpu::CompletionOrder::Mode;
  for (const auto& [mode, seed] : {std::pair{Mode::timed, 0}, {Mode::late, 0}, {Mode::seeded, 1}, {Mode::seeded, 2}}) {
    RunPtx gpu(kernel_text(c.instruction() + copy, false));
    gpu.gpu.options.order = {mode, uint64_t(seed)};
    const auto cells = run_kinds(gpu, {c});
    EXPECT_EQ(cells[0][0][0], 0x42000000u);
    EXPECT_EQ(cells[0][0][kScaleAColumn * kLanes], 0x38383838u);
    EXPECT_EQ(codes(gpu), std::vector<std::string>{"tmem-unordered"});
  }
}

TEST(KindDiagnosis, CollectorsOfWeightStationaryMmas) {
  KindCase c = zeros("f16");
  c.ws = true;
  const auto with = [&](const std::string& usage) {
    KindCase used = c;
    used.collector = ".collector::" + usage;
    return used.instruction();
  };
  const auto said = [&](const std::string& text) {
    RunPtx gpu(kernel_text(text, false));
    run_kinds(gpu, {c});
    return codes(gpu);
  };
  EXPECT_TRUE(said(with("b2::fill") + with("b2::use") + with("b2::lastuse")).empty());
  EXPECT_EQ(said(with("b2::fill") + with("b1::use")), std::vector<std::string>{"collector-empty"});
  // B moved to other bytes: A's tile, which is zeros too, until its first byte changes.
  const std::string moved =
      "mov.b64 %bdesc, %adesc; mov.b32 %tmp, 0x3c003c00; st.shared.b32 [%img], %tmp;"
      "fence.proxy.async.shared::cta; ";
  EXPECT_EQ(said(with("b3::fill") + "nanosleep.u32 2000; " + moved + with("b3::use")),
            std::vector<std::string>{"collector-stale"});
}

}  // namespace
}  // namespace gen5::test
