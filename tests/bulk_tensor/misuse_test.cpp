// Bad operands of bulk and tensor copies: the diagnosis' code, kind and text.
#include "tests/bulk_tensor/body.h"
#include "tests/bulk_tensor/map_bits.h"

namespace tinygpu::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// 64 x 8 u32, boxes of 4 x 2.
MapFields plain() { return matrix_map(2, {64, 8}, 256, {4, 2}); }

Diagnosis stop_of(const std::string& body, MapFields m, uint32_t ctas = 1) {
  BulkRun b(body, ctas);
  if (!m.address) m.address = b.in;
  const MapObject object = make_map(m);
  std::memcpy(b.map.bytes, &object, 128);
  return b.fault();
}

std::string load(const std::string& dim, const std::string& coordinates, const std::string& mode = "",
                 const std::string& offsets = "", const std::string& to = "%buf") {
  return "  cp.async.bulk.tensor." + dim + ".shared::cluster.global" + mode + ".mbarrier::complete_tx::bytes [" + to +
         "], [%map, {" + coordinates + "}], [%bar]" + offsets + ";\n  nanosleep.u32 9000;\n";
}
std::string store(const std::string& dim, const std::string& coordinates, const std::string& mode = "",
                  const std::string& operation = "") {
  const std::string name = operation.empty() ? "cp.async.bulk.tensor." : "cp.reduce.async.bulk.tensor.";
  return "  " + name + dim + ".global.shared::cta" + operation + mode + ".bulk_group [%map, {" + coordinates +
         "}], [%buf];\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";
}

void expect(const Diagnosis& d, const char* code, FaultKind kind, const char* text) {
  EXPECT_EQ(d.code, code);
  EXPECT_EQ(d.kind, kind) << code;
  EXPECT_THAT(d.message, HasSubstr(text));
  EXPECT_FALSE(d.help.empty()) << code;
  EXPECT_NE(d.where.ptx_line, 0) << code;
}

void expect_warning(const Diagnosis& d, const char* code, const char* message) {
  EXPECT_EQ(d.code, code);
  EXPECT_EQ(d.severity, Severity::warning);
  EXPECT_EQ(d.message, message);
}

// ---- Maps

TEST(MapMisuse, NeverEncoded) {
  expect(BulkRun(load("2d", "0, 0")).fault(), "tensormap-invalid", FaultKind::illegal_instruction,
         "cannot be used: its global address is 0: it was never encoded");
}

TEST(MapMisuse, MisalignedOrInTheWrongMemory) {
  expect(stop_of("  add.u64 %map, %map, 32;\n" + load("2d", "0, 0"), plain()), "tensormap-misaligned",
         FaultKind::misaligned_address, "is not aligned to 64 bytes");
  expect(stop_of("  cvt.u64.u32 %map, %buf; cvta.shared.u64 %map, %map;\n" + load("2d", "0, 0"), plain()),
         "tensormap-space", FaultKind::illegal_address, "is in shared or local memory");
}

TEST(MapMisuse, FieldsThatNoInstructionTakes) {
  const auto told = [](void (*change)(MapFields&), const char* text) {
    MapFields m = plain();
    change(m);
    expect(stop_of(load("2d", "0, 0"), m), "tensormap-invalid", FaultKind::illegal_instruction, text);
  };
  told([](MapFields& m) { m.interleave = 1; }, "it is interleaved and has rank 2, not 3 to 5");
  told([](MapFields& m) { m.interleave = 3; }, "its interleave layout is 3");
  told([](MapFields& m) { m.im2col = true; }, "it is an im2col map of rank 2, not 3 to 5");
  told([](MapFields& m) { m.rank = 8; }, "its rank is 8");
  told([](MapFields& m) { m.box[0] = 3; }, "a row of its box is 3 elements of 32 bits, not a multiple of 16 bytes");
  told(
      [](MapFields& m) {
        m.box[0] = 64;
        m.swizzle = 3;
      },
      "a row of its box has 256 bytes, more than the 128 that the swizzle spans");
  told([](MapFields& m) { m.type = 14; }, "its element type has code 14, which is none");
  told([](MapFields& m) { m.type = 15; }, "its element type has code 15, which is none");
  told([](MapFields& m) { m.tf32 = true; }, "as tf32, which is none");
  told([](MapFields& m) { m.nan_fill = true; }, "it fills with NaN and has UINT32 elements");
  told(
      [](MapFields& m) {
        m.type = 12;
        m.box[0] = 64;
      },
      "a row of its box has 64 packed elements, it must have 128");
}

TEST(MapMisuse, GlobalAddress) {
  MapFields m = plain();
  m.address = 0x1008;
  expect(stop_of(load("2d", "0, 0"), m), "tensormap-invalid", FaultKind::misaligned_address,
         "its global address 0x1008 is not a multiple of 16");
  m.address = 0x1010;
  m.rank = 3;
  m.interleave = 2;
  expect(stop_of(load("3d", "0, 0, 0"), m), "tensormap-invalid", FaultKind::misaligned_address,
         "its global address 0x1010 is not a multiple of 32");
}

TEST(MapMisuse, RankAndModeAreTheInstructions) {
  expect(stop_of(load("3d", "0, 0, 0"), plain()), "tensormap-rank", FaultKind::illegal_instruction,
         "a tensor load of 3 dimensions with a tensor map of rank 2");
  MapFields cube = plain();
  cube.rank = 3;
  cube.stride[2] = 2048;
  expect(stop_of("  mov.b16 %h1, 0;\n" + load("3d", "0, 0, 0", ".im2col", ", {%h1}"), cube), "tensormap-mode",
         FaultKind::illegal_instruction, "a tensor load in im2col mode with a map that was encoded for tiles");
  cube.im2col = true;
  cube.channels = 4;
  expect(stop_of(load("3d", "0, 0, 0"), cube), "tensormap-mode", FaultKind::illegal_instruction,
         "a tensor load in tile mode with a map that was encoded for im2col");
  MapFields four = cube;
  four.rank = 4;
  four.stride[3] = 2048;
  const std::string both = "  mov.b16 %h1, 0; mov.b16 %h2, 0;\n";
  expect(stop_of(both + load("4d", "0, 0, 0, 0", ".im2col::w", ", {%h1, %h2}"), four), "tensormap-mode",
         FaultKind::illegal_instruction, "a tensor load in im2col::w mode with a map that was encoded for im2col");
  four.wide = true;
  expect(stop_of(both + load("4d", "0, 0, 0, 0", ".im2col", ", {%h1, %h2}"), four), "tensormap-mode",
         FaultKind::illegal_instruction, "a tensor load in im2col mode with a map that was encoded for im2col::w");
}

TEST(MapMisuse, Im2colStartsBetweenTheCorners) {
  MapFields m = plain();
  m.rank = 3;
  m.stride[2] = 2048;
  m.im2col = true;
  m.channels = 4;
  m.lower[0] = -1;
  m.upper[0] = -2;
  const auto at = [&](const char* coordinates) {
    return stop_of("  mov.b16 %h1, 0;\n" + load("3d", coordinates, ".im2col", ", {%h1}"), m);
  };
  expect(at("0, -2, 0"), "im2col-start", FaultKind::illegal_instruction,
         "starts at -2 in dimension 1, where the box spans -1 to 5");
  expect(at("0, 6, 0"), "im2col-start", FaultKind::illegal_instruction, "starts at 6 in dimension 1");
}

TEST(MapMisuse, GatherAndScatterTakeRowsOne) {
  MapFields m = plain();
  expect(stop_of(load("2d", "0, 0, 1, 2, 3", ".tile::gather4"), m), "tensormap-gather", FaultKind::illegal_instruction,
         "a tensor load of four rows with a map whose box has 2 rows");
  expect(stop_of(store("2d", "0, 0, 1, 2, 3", ".tile::scatter4"), m), "tensormap-gather",
         FaultKind::illegal_instruction, "a tensor store of four rows with a map whose box has 2 rows");
}

// ---- Boxes

TEST(BoxMisuse, Coordinates) {
  expect(
      stop_of(load("2d", "1, 0"), plain()), "tensor-coordinate-misaligned", FaultKind::illegal_instruction,
      "a tensor load that starts at element 1 of dimension 0: with 32-bit elements that is not a multiple of 16 bytes");
  expect(stop_of(load("2d", "-2, 0"), plain()), "tensor-coordinate-misaligned", FaultKind::illegal_instruction,
         "starts at element -2 of dimension 0");
  expect(stop_of(store("2d", "0, -1"), plain()), "tensor-coordinate-negative", FaultKind::illegal_instruction,
         "a tensor store that starts at -1 in dimension 1");
  expect(stop_of(store("2d", "-4, 0", "", ".add"), plain()), "tensor-coordinate-negative",
         FaultKind::illegal_instruction, "a tensor reduction that starts at -4 in dimension 0");
}

TEST(BoxMisuse, SharedAddresses) {
  for (const char* at : {"%buf+16", "%buf+64"})
    expect(stop_of(load("2d", "0, 0", "", "", at), plain()), "bulk-misaligned", FaultKind::misaligned_address,
           "which is not a multiple of 128");
  MapFields big = plain();
  big.box[0] = 64;
  big.box[1] = 64;
  expect(stop_of(load("2d", "0, 0"), big), "shared-out-of-bounds", FaultKind::illegal_address,
         "a tensor load of 64 rows of 256 bytes (16384 with padding) at shared offset 0x400 of CTA rank 0, whose "
         "shared memory ends at");
  expect(stop_of(store("2d", "0, 0"), big), "shared-out-of-bounds", FaultKind::illegal_address,
         "a tensor store of 64 rows of 256 bytes");
}

TEST(BoxMisuse, GlobalMemoryThatTheTensorDoesNotHave) {
  MapFields m = plain();
  m.dim[1] = 1000;
  expect(stop_of(load("2d", "0, 900"), m), "illegal-address", FaultKind::illegal_address,
         "a tensor load of 16 bytes at global address");
  expect(stop_of(store("2d", "0, 900"), m), "illegal-address", FaultKind::illegal_address,
         "a tensor store of 16 bytes at global address");
}

TEST(BoxMisuse, ReductionsThatTheUnitLacks) {
  const auto told = [](const char* operation, int type, const char* name) {
    MapFields m = plain();
    m.type = type;
    if (type == 11) m.box[0] = m.dim[0] = 128;
    m.box[0] = type == 11 ? 128 : 16;
    expect(stop_of(store("2d", "0, 0", "", operation), m), "tensor-reduce-type", FaultKind::illegal_instruction, name);
  };
  told(".and", 5, "a tensor reduction that the unit does not have for INT64");
  told(".add", 5, "INT64");
  told(".min", 7, "FLOAT32");
  told(".max", 9, "FLOAT64");
  told(".inc", 3, "INT32");
  told(".dec", 4, "UINT64");
  told(".xor", 6, "FLOAT16");
  told(".add", 0, "UINT8");
  told(".or", 1, "UINT16");
  told(".add", 11, "16U4_ALIGN8B");
}

TEST(BoxMisuse, StoresThatAMapForbids) {
  MapFields packed = plain();
  packed.type = 12;
  packed.box[0] = packed.dim[0] = 128;
  expect(stop_of(store("2d", "0, 0"), packed), "tensormap-load-only", FaultKind::illegal_instruction,
         "a tensor store through a map of 16U4_ALIGN16B");
  MapFields m = plain();
  m.rank = 3;
  m.im2col = true;
  m.channels = 4;
  m.stride[2] = 2048;
  m.lower[0] = -1;
  m.upper[0] = 0;
  expect(stop_of(store("3d", "0, 0, 0", ".im2col_no_offs"), m), "im2col-store-corners", FaultKind::illegal_instruction,
         "a tensor store in im2col mode with corners -1 and 0: the box reaches out of the tensor");
  m.lower[0] = 0;
  m.upper[0] = 1;
  expect(stop_of(store("3d", "0, 0, 0", ".im2col_no_offs"), m), "im2col-store-corners", FaultKind::illegal_instruction,
         "with corners 0 and 1");
}

// ---- Linear copies, clusters

const std::string kLinear = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";

TEST(LinearMisuse, Alignment) {
  expect(BulkRun("  " + kLinear + " [%buf+8], [%in], 16, [%bar];\n").fault(), "bulk-misaligned",
         FaultKind::misaligned_address, "a bulk copy to shared offset 0x408, which is not a multiple of 16");
  expect(BulkRun("  " + kLinear + " [%buf], [%in+4], 16, [%bar];\n").fault(), "bulk-misaligned",
         FaultKind::misaligned_address, "a bulk copy at global address");
  expect(BulkRun("  cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf+8], 16;\n").fault(), "bulk-misaligned",
         FaultKind::misaligned_address, "a bulk copy's source at shared offset 0x408, which is not a multiple of 16");
}

TEST(LinearMisuse, ASizeThatIsNoMultipleOfSixteenIsRoundedDown) {
  BulkRun b("  mov.b32 %r1, 24;\n  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 16;\n  @%first " + kLinear +
            " [%buf], [%in], %r1, [%bar];\n" + kWait);
  const Diagnosis d = b.report();
  EXPECT_EQ(d.code, "bulk-size");
  EXPECT_EQ(d.severity, Severity::error);
  EXPECT_THAT(d.message,
              HasSubstr("a bulk copy of 24 bytes, which is not a multiple of 16: hardware copies and counts 16"));
}

TEST(LinearMisuse, RangesOutsideTheirMemory) {
  expect(BulkRun("  " + kLinear + " [%buf], [%in], 16000, [%bar];\n  nanosleep.u32 9000;\n").fault(),
         "shared-out-of-bounds", FaultKind::illegal_address,
         "a bulk copy of 16000 bytes at shared offset 0x400 of CTA rank 0, whose shared memory ends at");
  expect(BulkRun("  " + kLinear + " [%buf], [%in+16384], 16, [%bar];\n  nanosleep.u32 9000;\n").fault(),
         "illegal-address", FaultKind::illegal_address, "a bulk copy of 16 bytes at global address");
}

TEST(ClusterMisuse, TheMbarrierIsWithTheDestination) {
  const std::string peer = "  setp.eq.u32 %p1, %rank, 0; mapa.shared::cluster.u32 %r1, %buf, 1;\n";
  // An H200 signals the one at the same offset of the destination's CTA.
  BulkRun elsewhere(peer + "  @%p1 " + kLinear + " [%r1], [%in], 16, [%bar];\n  nanosleep.u32 9000;\n", 2);
  elsewhere.words(1, 1);
  ASSERT_FALSE(elsewhere.run.reports.empty());
  EXPECT_EQ(elsewhere.run.reports[0].code, "bulk-mbarrier-elsewhere");
  EXPECT_EQ(elsewhere.run.reports[0].severity, Severity::warning);
  EXPECT_EQ(elsewhere.run.reports[0].message,
            "a bulk copy into CTA rank 1 that signals an mbarrier of CTA rank 0: hardware signals the mbarrier at that "
            "offset in CTA rank 1");
  // With .cta_group::2 a pair shares one; CTAs 0 and 2 are no pair.
  expect(stop_of("  setp.eq.u32 %p1, %rank, 0; mapa.shared::cluster.u32 %r1, %buf, 2;\n  @%p1 "
                 "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".cta_group::2 [%r1], [%map, {0, 0}], [%bar];\n",
                 plain(), 4),
         "bulk-mbarrier-elsewhere", FaultKind::launch_failure,
         "a bulk copy into CTA rank 2 that signals an mbarrier of CTA rank 0");
}

TEST(ClusterMisuse, MulticastMasks) {
  const std::string copy = "  @%first " + kLinear + ".multicast::cluster [%buf], [%in], 16, [%bar], %h1;\n";
  expect(BulkRun("  mov.b16 %h1, 4;\n" + copy, 2).fault(), "multicast-mask-wrong", FaultKind::launch_failure,
         "a multicast mask of 0x4 in a cluster of 2 CTAs");
  BulkRun none("  mov.b16 %h1, 0;\n" + copy, 2);
  expect_warning(none.report(), "multicast-mask-wrong", "a multicast copy to no CTA at all");
}

TEST(ClusterMisuse, ADestinationThatHasExited) {
  expect(BulkRun("  setp.eq.u32 %p1, %rank, 1;\n  @%p1 exit;\n  mapa.shared::cluster.u32 %r1, %buf, 1; "
                 "mapa.shared::cluster.u32 %r2, %bar, 1;\n  " +
                     kLinear + " [%r1], [%in], 16, [%r2];\n  nanosleep.u32 9000;\n",
                 2)
             .fault(),
         "exit-with-remote-access", FaultKind::launch_failure, "CTA rank 1, which has exited");
  BulkRun own("  @%first " + kLinear + " [%buf], [%in], 16, [%bar];\n");
  expect_warning(own.report(), "group-not-waited",
                 "the CTA ended while this copy into its shared memory was in flight");
}

TEST(ClusterMisuse, AnotherCtasMemoryAsSource) {
  expect(BulkRun("  mapa.shared::cluster.u32 %r1, %buf, 1; setp.eq.u32 %p1, %rank, 0;\n  @%p1 "
                 "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 16;\n",
                 2)
             .fault(),
         "shared-window", FaultKind::illegal_address,
         "a bulk copy's source names the shared memory of CTA rank 1; this CTA has rank 0");
}

}  // namespace
}  // namespace tinygpu::test
