// Accesses at the ends of everything: 0, 2^32, 2^64, the windows of the generic address space, an allocation. Each is a
// typed fault or, where it lies in memory, an access; none may reach memory of the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

// Where the generic address space has its windows (program.h), of 2^32 bytes each.
constexpr uint64_t kShared = 0x10'0000'0000, kLocal = 0x11'0000'0000, kParam = 0x12'0000'0000, kCode = 0x13'0000'0000,
                   kEnd = 0x14'0000'0000;

/// %rd1 is the address, %r1 its low word; lane 0 runs alone. The CTA has smem, which counts if it is used.
std::string at_address(const std::string& body) {
  return kernel("  mov.b64 %rd1, %in; cvt.u32.u64 %r1, %rd1; mov.u32 %r10, smem;\n" + body);
}

std::vector<uint64_t> edges(uint64_t allocation, uint64_t size) {
  std::vector<uint64_t> out;
  for (const uint64_t edge :
       {uint64_t(0), uint64_t(1) << 31, uint64_t(1) << 32, uint64_t(1) << 63, kShared, kLocal, kParam, kCode, kEnd,
        kShared + 0x400, kShared + 0x1400, kShared + (1 << 24), uint64_t(0x400), uint64_t(0x1400), uint64_t(1) << 24,
        kLocal + 0x80000, uint64_t(0x80000), allocation, allocation + size})
    for (const int64_t off :
         {-256, -128, -64, -33, -32, -31, -16, -15, -8, -7, -4, -3, -2, -1, 0, 1, 2, 4, 8, 16, 32, 64})
      out.push_back(edge + uint64_t(off));
  return out;
}

/// Runs the body at every edge and hands on what happened: null if it ran to its end.
template <class F>
void at_edges(const std::string& body, F&& judge) {
  SCOPED_TRACE(body);
  RunPtx run(at_address(body));
  constexpr uint64_t kBytes = 4096;
  const uint64_t buffer = run.buffer<uint8_t>(kBytes);
  for (const uint64_t address : edges(buffer, kBytes)) {
    SCOPED_TRACE(address);
    try {
      run.launch("k", {1}, {1}, address, buffer);
      judge(address, buffer, kBytes, nullptr);
    } catch (const KernelFault& f) {
      judge(address, buffer, kBytes, &f.diagnosis);
    }
  }
}

struct Form {
  const char* text;
  uint32_t bytes;
};

TEST(EdgeAddresses, GlobalAccesses) {
  const Form forms[] = {
      {"ld.global.u8 %h1, [%rd1];", 1},
      {"ld.global.u16 %h1, [%rd1];", 2},
      {"ld.global.u32 %r2, [%rd1];", 4},
      {"ld.global.u64 %rd2, [%rd1];", 8},
      {"ld.global.b128 %q1, [%rd1];", 16},
      {"ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1];", 16},
      {"ld.global.v8.b32 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%rd1];", 32},
      {"ld.global.v4.b64 {%rd2,%rd3,%rd4,%rd5}, [%rd1];", 32},
      {"ld.volatile.global.u32 %r2, [%rd1];", 4},
      {"ld.acquire.gpu.global.u64 %rd2, [%rd1];", 8},
      {"ld.global.nc.v2.u64 {%rd2,%rd3}, [%rd1];", 16},
      {"ld.const.u32 %r2, [%rd1];", 4},
      {"st.global.u8 [%rd1], %h1;", 1},
      {"st.global.u32 [%rd1], %r2;", 4},
      {"st.global.v2.u64 [%rd1], {%rd2,%rd3};", 16},
      {"st.global.v8.b32 [%rd1], {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9};", 32},
      {"st.release.gpu.global.u32 [%rd1], %r2;", 4},
      {"atom.global.add.u32 %r2, [%rd1], 1;", 4},
      {"atom.global.cas.b64 %rd2, [%rd1], %rd3, %rd4;", 8},
      {"atom.global.exch.b128 %q1, [%rd1], %q2;", 16},
      {"red.global.add.f32 [%rd1], %f1;", 4},
      {"red.global.add.v4.f32 [%rd1], {%f1,%f2,%f3,%f4};", 16},
      {"ld.global.u32 %r2, [%rd1+-4];", 4},
  };
  for (const Form& f : forms) {
    const uint64_t shift = std::string(f.text).find("+-4") == std::string::npos ? 0 : -4;
    at_edges(f.text, [&](uint64_t address, uint64_t buffer, uint64_t size, const Diagnosis* d) {
      address += shift;
      const bool fits = address >= buffer && address <= buffer + size - f.bytes;
      if (address % f.bytes) {
        ASSERT_NE(d, nullptr);
        EXPECT_EQ(d->kind, FaultKind::misaligned_address);
      } else if (fits) {
        EXPECT_EQ(d, nullptr);
      } else {
        ASSERT_NE(d, nullptr);
        EXPECT_EQ(d->kind, FaultKind::illegal_address);
      }
    });
  }
}

TEST(EdgeAddresses, GenericAccessesThatReachNothing) {
  for (const Form& f : {Form{"ld.u32 %r2, [%rd1];", 4},
                        {"st.u64 [%rd1], %rd2;", 8},
                        {"ld.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1];", 16},
                        {"atom.add.u32 %r2, [%rd1], 1;", 4},
                        {"red.add.u32 [%rd1], 1;", 4}})
    at_edges(f.text, [&](uint64_t address, uint64_t buffer, uint64_t size, const Diagnosis* d) {
      if (address >= kShared && address < kEnd) return;  // a window's own rules
      if (address - buffer < size && address + f.bytes <= buffer + size && address % f.bytes == 0) return;
      ASSERT_NE(d, nullptr);
      EXPECT_EQ(d->kind, address % f.bytes ? FaultKind::misaligned_address : FaultKind::illegal_address);
    });
}

// Shared memory of `smem` spans 0x400 to 0x1400; PTX keeps 32 bits of such an address.
TEST(EdgeAddresses, SharedAccesses) {
  for (const Form& f : {Form{"ld.shared.u8 %h1, [%r1];", 1},
                        {"ld.shared.u32 %r2, [%r1];", 4},
                        {"ld.shared.u32 %r2, [%rd1];", 4},
                        {"ld.shared.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1];", 16},
                        {"st.shared.u64 [%rd1], %rd2;", 8},
                        {"st.shared::cta.v2.u64 [%r1], {%rd2,%rd3};", 16},
                        {"ld.shared::cluster.u32 %r2, [%r1];", 4},
                        {"atom.shared.add.u32 %r2, [%rd1], 1;", 4},
                        {"red.shared.add.u64 [%r1], %rd2;", 8},
                        {"atom.shared::cluster.cas.b32 %r2, [%rd1], 1, 2;", 4}})
    at_edges(f.text, [&](uint64_t address, uint64_t, uint64_t, const Diagnosis* d) {
      const uint32_t a = uint32_t(address);
      if (a >= 0x400 && a <= 0x1400 - f.bytes && a % f.bytes == 0) {
        EXPECT_EQ(d, nullptr);
        return;
      }
      ASSERT_NE(d, nullptr);
      const FaultKind k = d->kind;
      if (a % f.bytes)
        EXPECT_EQ(k, FaultKind::misaligned_address);
      else if (a >> 24)  // another CTA's rank
        EXPECT_EQ(d->code, std::string_view(f.text).find("::cluster") == std::string_view::npos ? "shared-window"
                                                                                                : "cluster-rank");
      else
        EXPECT_EQ(k, FaultKind::illegal_address);
    });
}

// Everything else: a diagnosis or an end, in bounded time.
TEST(EdgeAddresses, TheRest) {
  const std::string bulk = "  mov.u32 %r2, smem; add.u32 %r3, %r2, 2048; mbarrier.init.shared.b64 [%r3], 1;\n";
  const std::string end = "\n  nanosleep.u32 9000;";
  const std::string group = "\n  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
  std::vector<std::string> bodies;
  for (const char* text : {"ld.local.u32 %r2, [%rd1];",
                           "st.local.v4.u32 [%rd1], {%r2,%r3,%r4,%r5};",
                           "ld.local.u64 %rd2, [%r1];",
                           "ld.param.u32 %r2, [%rd1];",
                           "ld.param.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1];",
                           "ld.param.u64 %rd2, [%r1];",
                           "ld.param.u64 %rd2, [pin+-8];",
                           "ld.param.u64 %rd2, [pin+8];",
                           "ld.param.u64 %rd2, [pin+16];",
                           "prefetch.global.L2 [%rd1];",
                           "prefetch.global.L1 [%rd1];",
                           "prefetch.L2 [%rd1];",
                           "prefetchu.L1 [%rd1];",
                           "prefetch.tensormap [%rd1];",
                           "applypriority.global.L2::evict_normal [%rd1], 128;",
                           "discard.global.L2 [%rd1], 128;",
                           "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];",
                           "ldmatrix.sync.aligned.m8n8.x4.b16 {%r2,%r3,%r4,%r5}, [%rd1];",
                           "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};",
                           "stmatrix.sync.aligned.m8n8.x4.b16 [%rd1], {%r2,%r3,%r4,%r5};",
                           "mbarrier.init.shared.b64 [%r1], 1;",
                           "mbarrier.init.b64 [%rd1], 1;",
                           "mbarrier.inval.b64 [%rd1];",
                           "mbarrier.arrive.b64 %rd2, [%rd1];",
                           "mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r1], 16;",
                           "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;",
                           "mbarrier.test_wait.b64 %p1, [%rd1], %rd2;",
                           "mbarrier.try_wait.parity.b64 %p1, [%rd1], 1;",
                           "mbarrier.arrive_drop.shared.b64 %rd2, [%r1];",
                           "st.bulk.weak.shared::cta [%rd1], %rd2, 0;",
                           "st.bulk.weak.shared::cta [%rd1], 4096, 0;",
                           "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1;",
                           "tensormap.replace.tile.global_address.b1024.b64 [%rd1], %rd2;",
                           "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r1], 1;",
                           "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;",
                           "cp.async.mbarrier.arrive.b64 [%rd1];"})
    bodies.push_back(text);
  for (const char* bytes : {"0", "16", "4096", "0xfffffff0"}) {
    const std::string n = bytes;
    bodies.push_back(bulk + "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], " + n +
                     ", [%r3];" + end);
    bodies.push_back(bulk + "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%out], " + n +
                     ", [%r3];" + end);
    bodies.push_back(bulk + "  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], " +
                     n + ", [%r3];" + end);
    bodies.push_back(bulk + "  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%r1], " +
                     n + ", [%r3];" + end);
    bodies.push_back("  mov.u32 %r2, smem;\n  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], " + n + ";" +
                     group);
    bodies.push_back("  cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], " + n + ";" + group);
    bodies.push_back(
        "  mov.u32 %r2, smem;\n  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%rd1], [%r2], " + n + ";" +
        group);
    bodies.push_back("  cp.async.bulk.prefetch.L2.global [%rd1], " + n + ";");
  }
  bodies.push_back(
      bulk + "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%out], 16, [%r1];" + end);
  bodies.push_back(
      bulk + "  st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r1], {%r2,%r2,%r2,%r2}, [%r3];" + end);
  bodies.push_back(bulk + "  st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r2], %rd1, [%r1];" + end);
  bodies.push_back(
      bulk + "  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r1], %rd1, [%r3];" +
      end);
  bodies.push_back("  mov.u32 %r2, smem; cp.async.ca.shared.global [%r2], [%rd1], 16; cp.async.wait_all;");
  bodies.push_back("  cp.async.cg.shared.global [%r1], [%out], 16; cp.async.wait_all;");
  bodies.push_back("  mov.u32 %r2, smem; cp.async.ca.shared.global [%r2], [%rd1], 8, 4; cp.async.wait_all;");
  for (const std::string& body : bodies)
    at_edges(body, [&](uint64_t, uint64_t, uint64_t, const Diagnosis* d) {
      if (!d) return;
      EXPECT_FALSE(d->code.empty());
      EXPECT_FALSE(d->help.empty()) << d->code;
      EXPECT_NE(d->kind, FaultKind::not_modelled) << d->message;
      EXPECT_NE(d->kind, FaultKind::deadlock) << d->message;
    });
}

}  // namespace
}  // namespace tinygpu::test
