// Bulk copies that more than one lane of a warp issues at once: equal stores are one copy, all else is each lane's own.
#include "tests/bulk_tensor/body.h"
#include "tests/bulk_tensor/map_bits.h"

namespace tinygpu::test::whole_warp_test {
namespace {

/// Every thread stores 100 + its index into the buffer and hands it to the async proxy.
const std::string kFill = R"(
  shl.b32 %r10, %t, 2; add.u32 %r11, %buf, %r10; add.u32 %r12, %t, 100; st.shared.u32 [%r11], %r12;
  fence.proxy.async.shared::cta; bar.sync 0;
)";

constexpr char kStoreLine[] = "cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 64";

struct Issued {
  uint64_t stored, cycles;
  uint32_t word;  // 5 of the destination
};
/// `lanes` (a predicate) of a warp issue `copy`, all close a group and wait for it.
Issued issued(const std::string& lanes, const std::string& copy, CompletionOrder order = {}) {
  BulkRun b(kFill + R"(
  setp.lt.u32 %p1, %t, 32; setp.ge.u32 %p2, %t, 8;
  and.b32 %r5, %t, 1; shl.b32 %r5, %r5, 6; cvt.u64.u32 %rd5, %r5; add.u64 %rd5, %out, %rd5;
  add.u32 %r6, %buf, %r5;
  )" + lanes + copy +
                R"(;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)",
            1, order);
  MapFields m;  // of 64 words at out, in boxes of 16
  m.address = b.out;
  m.type = 2;
  m.dim[0] = 64;
  m.box[0] = 16;
  const MapObject object = make_map(m);
  std::copy(object.bytes.begin(), object.bytes.end(), b.map.bytes);
  const LaunchStats stats = b.run.launch("k", {1}, {32}, b.in, b.out, b.map);
  EXPECT_TRUE(b.run.reports.empty()) << diagnosis::render(b.run.reports[0]);
  return {stats.counters.at("tma.store.bytes"), stats.cycles, b.run.download<uint32_t>(b.out, 6)[5]};
}

TEST(WholeWarp, TheSameStoreOfManyLanesIsOneCopy) {
  const Issued one = issued("@%first ", kStoreLine);
  EXPECT_EQ(one.stored, 64u);
  for (const char* lanes : {"@%p1 ", "@%p2 "}) {  // all 32 lanes; 24 of them
    const Issued many = issued(lanes, kStoreLine);
    EXPECT_EQ(many.stored, 64u) << lanes;
    EXPECT_EQ(many.cycles, one.cycles) << lanes;
    EXPECT_EQ(many.word, 105u) << lanes;
  }
}

TEST(WholeWarp, SoOfTensorStores) {
  const char* store = "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%map, {%r7}], [%buf]";
  const Issued one = issued("mov.u32 %r7, 0; @%first ", store);
  EXPECT_EQ(one.stored, 64u);
  const Issued many = issued("mov.u32 %r7, 0; @%p1 ", store);
  EXPECT_EQ(many.stored, 64u);
  EXPECT_EQ(many.cycles, one.cycles);
  EXPECT_EQ(many.word, 105u);
  // Even and odd lanes differ in a coordinate, or in the source.
  EXPECT_EQ(issued("shr.u32 %r7, %r5, 2; @%p1 ", store).stored, 128u);
  EXPECT_EQ(issued("mov.u32 %r7, 0; add.u32 %r6, %r6, %r5; @%p1 ",
                   "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%map, {%r7}], [%r6]")
                .stored,
            128u);
  const Issued sum =
      issued("mov.u32 %r7, 0; @%p1 ",
             "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%map, {%r7}], [%buf]");
  EXPECT_EQ(sum.stored, 32 * 64u);
  EXPECT_EQ(sum.word, 32 * 105u);
}

TEST(WholeWarp, StoresThatDifferAreCopiesOfTheirOwn) {
  // Even and odd lanes differ in the destination, or in the source: two copies.
  EXPECT_EQ(issued("@%p1 ", "cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%buf], 64").stored, 128u);
  EXPECT_EQ(issued("@%p1 ", "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r6], 64").stored, 128u);
  // In the size: of 0 or 64 bytes.
  EXPECT_EQ(issued("@%p1 ", "cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], %r5").stored, 64u);
  // In the mask: all bytes, or every 16's first one.
  const std::string mask = "{ .reg .b16 m; .reg .pred q; setp.eq.u32 q, %r5, 0; selp.b16 m, 0xffff, 1, q; @%p1 ";
  EXPECT_EQ(
      issued(mask, "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out], [%buf], 64, m; }\n mov.u32 %r7, 0")
          .stored,
      128u);
}

TEST(WholeWarp, EveryLaneReduces) {
  const Issued sum = issued("@%p1 ", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%buf], 64");
  EXPECT_EQ(sum.stored, 32 * 64u);
  EXPECT_EQ(sum.word, 32 * 105u);
}

TEST(WholeWarp, EveryLaneWaitsForTheCopyItTookPartIn) {
  // Lane 31 alone waits. Its own bytes are there; under the late order they come no earlier than they must.
  BulkRun b(kFill + "  " + kStoreLine + R"(;
  cp.async.bulk.commit_group;
  setp.eq.u32 %p1, %t, 31;
  @!%p1 bra END;
  cp.async.bulk.wait_group 0;
  ld.global.u32 %r1, [%out+20];
  st.global.u32 [%out+256], %r1;
END:
)",
            1, {CompletionOrder::Mode::late, 0});
  EXPECT_EQ(b.words(65)[64], 105u);
}

TEST(WholeWarp, EveryLaneLoads) {
  BulkRun b(R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 2048;
  bar.warp.sync 0xffffffff;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%in], 64, [%bar];
)" + kWait);
  const LaunchStats stats = b.run.launch("k", {1}, {32}, b.in, b.out, b.map);
  EXPECT_EQ(stats.counters.at("tma.load.bytes"), 2048u);
  EXPECT_TRUE(b.run.reports.empty());
}

}  // namespace
}  // namespace tinygpu::test::whole_warp_test
