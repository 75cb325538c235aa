// Tensor maps that a kernel writes itself: tensormap.replace, cp_fenceproxy, the fences; multicast and cta_group of
// tensor loads.
#include "tests/bulk_tensor/body.h"
#include "tests/bulk_tensor/map_bits.h"

namespace tinygpu::test::tensormap_test {
namespace {

using ::testing::HasSubstr;

/// Writes every field of a map of 64 x 8 u32 at %in, boxes of 8 x 4, into the zeroed 128 bytes at %buf.
std::string replace_all(const std::string& space = ".shared::cta", const std::string& object = "%buf") {
  const auto field = [&](const std::string& name, const std::string& operands, const char* type = "b32") {
    return "  @%first tensormap.replace.tile." + name + space + ".b1024." + type + " [" + object + "], " + operands +
           ";\n";
  };
  return "  mov.b64 %rd3, 256; mov.b32 %r1, 1;\n" + field("global_address", "%in", "b64") + field("rank", "%r1") +
         "  mov.b32 %r2, 8; mov.b32 %r3, 4; mov.b32 %r4, 64; mov.b32 %r5, 1;\n" + field("box_dim", "0, %r2") +
         field("box_dim", "1, %r3") + field("global_dim", "0, %r4") + field("global_dim", "1, %r2") +
         field("global_stride", "0, %rd3", "b64") + field("element_stride", "0, %r5") +
         field("element_stride", "1, %r5") + field("elemtype", "2") + field("interleave_layout", "0") +
         field("swizzle_mode", "1") + field("fill_mode", "0") + field("swizzle_atomicity", "0");
}
MapObject replaced(uint64_t address) {
  MapFields m = matrix_map(2, {64, 8}, 256, {8, 4}, 1);
  m.address = address;
  return make_map(m);
}
const std::string kZero = "  shl.b32 %r10, %t, 2; add.u32 %r11, %buf, %r10; st.shared.u32 [%r11], 0; bar.sync 0;\n";
/// Copies the object at %buf to %out + 256, hands it to the tensormap proxy and loads the box at (8, 2) to %buf + 1024.
const std::string kPublish =
    "  bar.sync 0;\n  add.u64 %rd4, %out, 256;\n  "
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd4], [%buf], 128;\n";
const std::string kAcquire = "  fence.proxy.tensormap::generic.acquire.gpu [%rd4], 128;\n";
const std::string kLoad = R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
  @%first cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%buf+1024], [%rd4, {8, 2}], [%bar];
)";
const std::string kDump =
    "  add.u32 %r12, %r11, 1024; ld.shared.u32 %r13, [%r12]; cvt.u64.u32 %rd5, %r10; add.u64 %rd5, %out, %rd5; "
    "st.global.u32 [%rd5], %r13;\n";

/// Word (row, column) of the box at (8, 2); with a 32-byte swizzle rows 4 on swap their halves, and there are four.
uint32_t word(uint32_t row, uint32_t column) { return (2 + row) * 64 + 8 + column + 1; }

TEST(TensorMapReplace, EveryFieldThenCopyFenceAndUse) {
  for (const CompletionOrder& order : kOrders) {
    BulkRun b(kZero + replace_all() + kPublish + kAcquire + kLoad + kWait + kDump, 1, order);
    const auto out = b.words(32);
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], word(i / 8, i % 8)) << i;
    const MapObject want = replaced(b.in);
    EXPECT_EQ(b.run.download<uint8_t>(b.out + 256, 128), std::vector<uint8_t>(want.bytes.begin(), want.bytes.end()));
    EXPECT_TRUE(b.run.reports.empty());
  }
}

// The object has no bits for the rest: what the map then says is another tensor.
TEST(TensorMapReplace, AStrideThatIsNoMultipleOf16) {
  std::string body = kZero + replace_all();
  body.replace(body.find("mov.b64 %rd3, 256"), 17, "mov.b64 %rd3, 264");
  BulkRun b(body, 1);
  b.words(1);
  ASSERT_EQ(b.run.reports.size(), 1u);
  const Diagnosis& d = b.run.reports[0];
  EXPECT_EQ(d.code, "tensormap-invalid");
  EXPECT_EQ(d.severity, Severity::error);
  EXPECT_THAT(d.message, HasSubstr("gives dimension 1 a stride of 264 bytes; the map can hold only 256"));
  EXPECT_THAT(d.where.ptx_text, HasSubstr("tensormap.replace.tile.global_stride"));
  EXPECT_THAT(d.rule, HasSubstr("multiples of 16"));
}

TEST(TensorMapReplace, ElementTypes) {
  // What ptxas 13.0's code for sm_100a makes of the word at byte 8.
  constexpr uint32_t kWords[16] = {0x000, 0x080, 0x100, 0x180,   0x200,   0x280, 0x300, 0x380,
                                   0x400, 0x480, 0x500, 0x10380, 0x10400, 0x580, 0x600, 0x680};
  for (int type = 0; type < 16; ++type) {
    BulkRun b(kZero + "  @%first tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%buf], " +
              std::to_string(type) + ";\n  ld.shared.b32 %r1, [%buf+8]; @%first st.global.b32 [%out], %r1;\n");
    EXPECT_EQ(b.words(1)[0], kWords[type]) << type;
  }
}

TEST(TensorMapReplace, InGlobalMemoryWithReleaseAndAcquire) {
  BulkRun b("  add.u64 %rd4, %out, 256;\n" + kZero + replace_all(".global", "%rd4") +
            "  fence.proxy.tensormap::generic.release.gpu;\n  bar.sync 0;\n" + kAcquire + kLoad + kWait + kDump);
  const auto out = b.words(32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], word(i / 8, i % 8)) << i;
  EXPECT_TRUE(b.run.reports.empty());
}

TEST(TensorMapReplace, UseWithoutAnAcquireStops) {
  for (const std::string& body : {kZero + replace_all() + kPublish + kLoad,
                                  "  add.u64 %rd4, %out, 256;\n" + kZero + replace_all(".global", "%rd4") +
                                      "  fence.proxy.tensormap::generic.release.gpu;\n  bar.sync 0;\n" + kLoad}) {
    const Diagnosis d = BulkRun(body).fault(32);
    EXPECT_EQ(d.code, "tensormap-not-acquired");
    EXPECT_EQ(d.kind, FaultKind::illegal_instruction);
    EXPECT_THAT(d.message, HasSubstr("was changed in this kernel and is used without an acquire"));
    EXPECT_THAT(d.help, HasSubstr("fence.proxy.tensormap::generic.acquire [map], 128"));
  }
}

TEST(TensorMapReplace, OrdinaryStoresToAMapInUseStop) {
  // A good map is fetched, then its address is changed by a plain store.
  BulkRun b(kZero + replace_all() + kPublish + kAcquire + kLoad + kWait + "  @%first st.global.u64 [%rd4], %out;\n" +
            kLoad);
  const Diagnosis d = b.fault(32);
  EXPECT_EQ(d.code, "tensormap-not-acquired");
  EXPECT_THAT(d.message, HasSubstr("has changed since this SM fetched it, and no thread has acquired the change"));
  EXPECT_THAT(d.help, HasSubstr("hardware may go on with the old map"));
  // With the acquire the new map counts: other data lands.
  BulkRun good(kZero + replace_all() + kPublish + kAcquire + kLoad + kWait +
               "  add.u64 %rd6, %in, 256;\n  @%first st.global.u64 [%rd4], %rd6;\n" +
               "  fence.proxy.tensormap::generic.release.gpu;\n" + kAcquire + kLoad +
               "V: mbarrier.try_wait.parity.shared.b64 %p6, [%bar], 1; @!%p6 bra V;\n" + kDump);
  EXPECT_EQ(good.words(1)[0], word(1, 0));
}

// ---- Tensor loads over a cluster

/// A run whose parameter is the map of replaced().
struct MappedRun : BulkRun {
  explicit MappedRun(const std::string& body, uint32_t ctas = 1, CompletionOrder order = {})
      : BulkRun(body, ctas, order) {
    const MapObject m = replaced(in);
    std::memcpy(map.bytes, &m, 128);
  }
};
const std::string kAddress = "  shl.b32 %r10, %t, 2; add.u32 %r11, %buf, %r10;\n";
const std::string kDumpAll =
    "  add.u32 %r12, %r11, 1024; ld.shared.u32 %r13, [%r12]; shl.b32 %r14, %rank, 7; add.u32 %r14, %r14, %r10; "
    "cvt.u64.u32 %rd5, %r14;\n"
    "  add.u64 %rd5, %out, %rd5; st.global.u32 [%rd5], %r13;\n";
/// For those with %p1: waits. Then the cluster meets, and all dump what they have.
const std::string kWaitAndMeet =
    "  @!%p1 bra MEET;\n" + kWait + "MEET:\n  barrier.cluster.arrive; barrier.cluster.wait;\n" + kDumpAll;

/// Runs; each of the CTAs has dumped the box.
void expect_box_in_each(BulkRun& b, uint32_t ctas) {
  const auto out = b.words(32 * ctas);
  for (uint32_t i = 0; i < 32 * ctas; ++i) EXPECT_EQ(out[i], word(i % 32 / 8, i % 8)) << i;
}

TEST(TensorCluster, MulticastSignalsEveryDestinationsOwnBarrier) {
  for (const CompletionOrder& order : kOrders) {
    MappedRun b(kAddress + R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
  barrier.cluster.arrive; barrier.cluster.wait;
  setp.eq.u32 %p1, %rank, 1; and.pred %p1, %p1, %first; mov.b16 %h1, 15;
  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%buf+1024], [%map, {8, 2}], [%bar], %h1;
)" + kWait + kDumpAll,
                4, order);
    expect_box_in_each(b, 4);
  }
}

TEST(TensorCluster, APairsLoadsSignalTheLeadersBarrier) {
  // cta_group::2: each CTA loads into its own memory and signals the barrier of the even one (inferred from the
  // manual).
  for (const CompletionOrder& order : kOrders) {
    MappedRun b(kAddress + R"(
  setp.eq.u32 %p1, %rank, 0; and.pred %p2, %p1, %first;
  @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;
  and.b32 %r1, %bar, 0xfeffffff;
  barrier.cluster.arrive; barrier.cluster.wait;
  @%first cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%buf+1024], [%map, {8, 2}], [%r1];
)" + kWaitAndMeet,
                2, order);
    expect_box_in_each(b, 2);
    EXPECT_TRUE(b.run.reports.empty());
  }
}

TEST(TensorCluster, APairsMulticastSignalsByTheParityOfTheGivenBarrier) {
  // Four CTAs, mask 0xf, a barrier of rank 1: the odd CTA of each destination's pair counts both landings.
  for (const CompletionOrder& order : kOrders) {
    MappedRun b(kAddress + R"(
  and.b32 %r2, %rank, 1; setp.eq.u32 %p1, %r2, 1; and.pred %p2, %p1, %first;
  @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;
  barrier.cluster.arrive; barrier.cluster.wait;
  setp.eq.u32 %p3, %rank, 0; and.pred %p3, %p3, %first; mov.b16 %h1, 15; or.b32 %r1, %bar, 0x1000000;
  @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 [%buf+1024], [%map, {8, 2}], [%r1], %h1;
)" + kWaitAndMeet,
                4, order);
    expect_box_in_each(b, 4);
  }
}

TEST(TensorPrefetch, ChecksItsBoxAndMovesNothing) {
  MappedRun b("  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%map, {8, 2}];\n  st.global.u32 [%out], 1;\n");
  EXPECT_EQ(b.words(1)[0], 1u);
  MappedRun wrong("  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%map, {1, 2}];\n");
  const Diagnosis d = wrong.fault();
  EXPECT_EQ(d.code, "tensor-coordinate-misaligned");
  EXPECT_THAT(d.message, HasSubstr("a tensor prefetch that starts at element 1 of dimension 0"));
}

}  // namespace
}  // namespace tinygpu::test::tensormap_test
