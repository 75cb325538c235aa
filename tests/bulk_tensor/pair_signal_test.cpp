// Tensor loads with .cta_group::2: which CTA's mbarrier hears of the bytes (PTX ISA 9.7.9.27.1.2).
#include <gtest/gtest.h>

#include <bit>

#include "tests/bulk_tensor/map_bits.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

constexpr uint32_t kBytes = 256;

/// CTA `issuer` of a cluster loads 256 bytes to its own shared memory, or with a mask to that of several CTAs, naming
/// the barrier of CTA `signalled`. Each CTA arrives at its barrier with the bytes it expects; out[2 rank] says whether
/// its phase completed, out[2 rank + 1] is the first word of its buffer.
std::string kernel(const std::string& form, bool multicast) {
  return R"(
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 expected, .param .u32 issuer,
                  .param .u32 signalled, .param .u16 mask)
{
  .reg .pred %p, %ok; .reg .b16 %mask; .reg .b32 %rank, %r<8>, %bar, %buf, %zero; .reg .b64 %map, %rd<6>, %state;
  .shared .align 8 .b64 barrier;
  .shared .align 128 .b8 buffer[256];
  mov.b64 %rd0, map; cvta.param.u64 %map, %rd0;
  ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [expected]; ld.param.u16 %mask, [mask];
  mov.u32 %rank, %cluster_ctarank; mov.u32 %bar, barrier; mov.u32 %buf, buffer; mov.u32 %zero, 0;
  mbarrier.init.shared.b64 [%bar], 1;
  st.shared.u32 [%buf], %zero;
  mul.wide.u32 %rd3, %rank, 4; add.u64 %rd2, %rd2, %rd3; ld.global.u32 %r0, [%rd2];
  mbarrier.arrive.expect_tx.shared.b64 %state, [%bar], %r0;
  fence.proxy.async; fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive; barrier.cluster.wait;
  ld.param.u32 %r1, [issuer]; setp.ne.u32 %p, %rank, %r1; @%p bra WAIT;
  ld.param.u32 %r2, [signalled]; mapa.shared::cluster.u32 %r3, %bar, %r2;
  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes)" +
         form + " [%buf], [%map, {%zero}], [%r3]" + (multicast ? ", %mask" : "") + R"(;
WAIT:
  mbarrier.try_wait.shared.b64 %ok, [%bar], %state, 1000000;
  barrier.cluster.arrive; barrier.cluster.wait;
  selp.u32 %r4, 1, 0, %ok;
  ld.shared.u32 %r5, [%buf];
  mul.wide.u32 %rd3, %rank, 8; add.u64 %rd1, %rd1, %rd3;
  st.global.u32 [%rd1], %r4; st.global.u32 [%rd1+4], %r5;
  ret;
}
)";
}

struct Signal {
  uint32_t issuer, signalled;
  uint16_t mask;
  std::vector<uint32_t> expected;  // bytes, per CTA: exactly what its barrier should hear of
};

/// "rank: completed, has the data" of every CTA, or the fault.
std::string run(const std::string& form, bool multicast, const Signal& s) {
  RunPtx gpu(kernel(form, multicast));
  gpu.cluster = {uint32_t(s.expected.size())};
  MapFields f;
  f.address = gpu.upload(std::vector<uint32_t>(kBytes / 4, 0x77));
  f.type = 2;
  f.dim[0] = uint64_t(f.box[0] = kBytes / 4);
  const uint64_t out = gpu.buffer<uint32_t>(2 * s.expected.size());
  try {
    gpu.launch("k", {uint32_t(s.expected.size())}, {1}, make_map(f), out, gpu.upload(s.expected), s.issuer, s.signalled,
               s.mask);
  } catch (const KernelFault& fault) {
    return fault.diagnosis.code + ": " + fault.diagnosis.message;
  }
  std::string text;
  const auto words = gpu.download<uint32_t>(out, 2 * s.expected.size());
  for (size_t i = 0; i < words.size(); i += 2)
    text += std::string(words[i] ? "+" : "-") + (words[i + 1] == 0x77 ? "d " : "_ ");
  return text;
}

// The odd CTA's load signals the leader, as the 2-SM loads of CuTe do.
TEST(PairSignal, ThePeersBarrierMayBeNamed) {
  EXPECT_EQ(run(".cta_group::2", false, {1, 0, 0, {kBytes, 0}}), "+_ +d ");
  EXPECT_EQ(run(".cta_group::2", false, {0, 1, 0, {0, kBytes}}), "+d +_ ");
  EXPECT_EQ(run(".cta_group::2", false, {1, 1, 0, {0, kBytes}}), "+_ +d ");
  // A byte more than lands: the phase stays open, so the cases above count bytes.
  EXPECT_EQ(run(".cta_group::2", false, {1, 0, 0, {kBytes + 1, 0}}), "-_ +d ");
}

// Every destination's bytes go to the CTA of its own pair that has the named barrier's parity.
TEST(PairSignal, MulticastSignalsOneCtaOfEachPair) {
  const std::string form = ".multicast::cluster.cta_group::2";
  EXPECT_EQ(run(form, true, {0, 0, 0xf, {2 * kBytes, 0, 2 * kBytes, 0}}), "+d +d +d +d ");
  EXPECT_EQ(run(form, true, {3, 2, 0xf, {2 * kBytes, 0, 2 * kBytes, 0}}), "+d +d +d +d ");
  EXPECT_EQ(run(form, true, {0, 3, 0xf, {0, 2 * kBytes, 0, 2 * kBytes}}), "+d +d +d +d ");
  EXPECT_EQ(run(form, true, {0, 0, 0xa, {kBytes, 0, kBytes, 0}}), "+_ +d +_ +d ");
}

TEST(PairSignal, OtherBarriersAreRefused) {
  EXPECT_EQ(run(".cta_group::2", false, {1, 2, 0, {0, 0, kBytes, 0}}),
            "bulk-mbarrier-elsewhere: a bulk copy into CTA rank 1 that signals an mbarrier of CTA rank 2");
}

// The rank of the address does not count: CTA 1's own one is signalled.
TEST(PairSignal, OtherFormsSignalTheDestination) {
  for (const char* form : {"", ".cta_group::1"})
    EXPECT_EQ(run(form, false, {1, 0, 0, {kBytes, kBytes}}), "-_ +d ") << form;
}

}  // namespace
}  // namespace tinygpu::test
