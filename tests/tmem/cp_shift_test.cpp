// tcgen05.cp and tcgen05.shift: where every byte goes, decompression, order, pairs of CTAs. The expected places are
// written out here from the tables of the PTX ISA's figures as the notes give them; the machine's code is not used.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/run_ptx.h"
#include "tests/tmem/kernel_text.h"

namespace tinygpu::test {
namespace {

using testing::Contains;
constexpr uint32_t kShared = 32768;  // bytes of smem that tests fill

uint64_t descriptor(uint32_t start, uint32_t leading, uint32_t stride, uint32_t swizzle) {
  return uint64_t(start >> 4) | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | 1ull << 46 |
         uint64_t(swizzle) << 61;
}

/// Offset in smem of byte `b` of row `i`; smem is 1024-byte aligned, so offsets swizzle like addresses.
uint32_t source(uint32_t start, uint32_t leading, uint32_t stride, uint32_t swizzle, uint32_t i, uint32_t b) {
  switch (swizzle) {
    case 0: return start + i % 8 * 16 + i / 8 * stride + b / 16 * leading + b % 16;
    case 6: {  // 32-byte rows
      const uint32_t u = start + i % 8 * 32 + i / 8 * stride + b;
      return u ^ (u >> 7 & 1) << 4;
    }
    case 4: {
      const uint32_t u = start + i % 8 * 64 + i / 8 * stride + b;
      return u ^ (u >> 7 & 3) << 4;
    }
    default: {
      const uint32_t u = start + i % 8 * 128 + i / 8 * stride + b;
      return u ^ (u >> 7 & 7) << 4;
    }
  }
}

/// 128 threads copy `in` to smem, thread 0 runs `issue` with the descriptor's low word at %a1 = smem >> 4, everybody
/// waits for its commit, then stores 16 columns from `column` on.
std::string kernel(const std::string& issue, uint32_t column, int group = 1) {
  TmemKernel k;
  k.shared = kShared;
  k.columns = 128;
  k.cta_group = group;
  k.before = "  .shared .align 8 .b64 bar;\n";
  const std::string cluster = "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
  k.body = group == 2 ? cluster : "";
  k.body += R"(
  mov.u32 %a0, smem; mul.lo.u32 %a2, %t, 4; add.u32 %a0, %a0, %a2; cvt.u64.u32 %rd0, %a2; add.u64 %rd0, %in, %rd0;
  mov.u32 %a3, %cluster_ctarank; mul.wide.u32 %rd3, %a3, 32768; add.u64 %rd0, %rd0, %rd3;
  mov.u32 %a3, 0;
COPY:
  ld.global.b32 %a4, [%rd0]; st.shared.b32 [%a0], %a4;
  add.u64 %rd0, %rd0, 512; add.u32 %a0, %a0, 512; add.u32 %a3, %a3, 512; setp.lt.u32 %p1, %a3, 32768;
  @%p1 bra COPY;
  mov.u32 %a5, bar;
  setp.ne.u32 %p2, %t, 0;
  @!%p2 mbarrier.init.shared.b64 [%a5], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  bar.sync 0;
)";
  // Known cells everywhere first.
  for (uint32_t c = 0; c < 128; c += 32) {
    for (uint32_t i = 0; i < 32; ++i) k.body += fmt::format("  mad.lo.u32 %r{}, %t, 512, {};\n", i, c + i);
    k.body += st("32x32b.x32", 32, fmt::format("%mine+{}", c));
  }
  k.body += "  tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n";
  if (group == 2) k.body += cluster;
  k.body += "  tcgen05.fence::after_thread_sync;\n  mov.u32 %a1, smem; shr.u32 %a1, %a1, 4;\n";
  if (group == 2) k.body += "  mov.u32 %a3, %cluster_ctarank; setp.ne.u32 %p4, %a3, 0; or.pred %p2, %p2, %p4;\n";
  k.body +=
      "  @%p2 bra ISSUED;\n" + issue +
      fmt::format("  tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster{}.b64 [%a5]{};\nISSUED:\n",
                  group, group == 2 ? ".multicast::cluster" : "", group == 2 ? ", %both" : "");
  if (group == 2) k.before += "  .reg .b16 %both;\n  mov.b16 %both, 3;\n";
  k.body +=
      "LOOP:\n  mbarrier.try_wait.parity.shared.b64 %p3, [%a5], 0;\n  @!%p3 bra LOOP;\n  bar.warp.sync -1;\n"
      "  tcgen05.fence::after_thread_sync;\n" +
      ld("32x32b.x16", 16, fmt::format("%mine+{}", column)) + "  tcgen05.wait::ld.sync.aligned;\n";
  if (group == 2)
    k.body += "  mov.u32 %a3, %cluster_ctarank; mul.wide.u32 %rd3, %a3, 8192; add.u64 %out, %out, %rd3;\n";
  k.body += store_registers(0, 16, 16);
  if (group == 2) k.body += "  tcgen05.fence::before_thread_sync;\n" + cluster;
  return k.text();
}

std::string cp(const std::string& form, uint64_t desc, uint32_t column, uint32_t lane = 0) {
  return fmt::format(
      "  mov.u64 %rd8, {}; cvt.u64.u32 %rd9, %a1; add.u64 %rd8, %rd8, %rd9;\n  tcgen05.cp.cta_group::{} [%base+{}], "
      "%rd8;\n",
      desc, form, column + (lane << 16));
}

std::vector<uint8_t> noise(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> v(n);
  for (auto& b : v) b = uint8_t(random());
  return v;
}

/// Cells [lane][16] before the copy, columns from `column` on.
std::vector<uint32_t> before(uint32_t column) {
  std::vector<uint32_t> v(128 * 16);
  for (uint32_t l = 0; l < 128; ++l)
    for (uint32_t c = 0; c < 16; ++c) v[l * 16 + c] = l * 512 + column + c;
  return v;
}

struct Shape {
  const char* form;
  uint32_t rows, bytes;
  std::vector<uint32_t> (*lanes)(uint32_t row);
};

const Shape kShapes[] = {
    {"128x256b", 128, 32, [](uint32_t i) { return std::vector<uint32_t>{i}; }},
    {"128x128b", 128, 16, [](uint32_t i) { return std::vector<uint32_t>{i}; }},
    {"4x256b", 4, 32, [](uint32_t i) { return std::vector<uint32_t>{32 * i}; }},
    {"64x128b.warpx2::02_13", 64, 16,
     [](uint32_t i) {
       return std::vector<uint32_t>{i, i + 64};
     }},
    {"64x128b.warpx2::01_23", 64, 16,
     [](uint32_t i) {
       return i < 32 ? std::vector<uint32_t>{i, i + 32} : std::vector<uint32_t>{i + 32, i + 64};
     }},
    {"32x128b.warpx4", 32, 16,
     [](uint32_t i) {
       return std::vector<uint32_t>{i, i + 32, i + 64, i + 96};
     }},
};

/// What 16 bytes of the source become.
std::vector<uint8_t> expanded(const std::string& format, const std::vector<uint8_t>& atom) {
  if (format.empty()) return atom;
  std::vector<uint8_t> out(16);
  const int width = format == ".b8x16.b4x16_p64" ? 4 : 6;
  for (int j = 0; j < 16; ++j) {
    uint32_t v = 0;
    for (int b = 0; b < width; ++b) v |= uint32_t(atom[size_t(j * width + b) / 8] >> ((j * width + b) % 8) & 1) << b;
    out[size_t(j)] = uint8_t(width == 4 ? v << 2 : v);
  }
  return out;
}

TEST(Copy, EveryShapeSwizzleAndFormat) {
  int checked = 0;
  for (const Shape& s : kShapes)
    for (uint32_t swizzle : {0u, 6u, 4u, 2u})
      for (const std::string format : {"", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64"}) {
        const uint32_t column = 40, row_bytes = swizzle == 0 ? 16 : swizzle == 6 ? 32 : swizzle == 4 ? 64 : 128;
        const uint32_t start = 0, stride = 8 * row_bytes + (swizzle ? 1024 : 128), leading = swizzle ? 16 : 16384;
        if (source(start, leading, stride, swizzle, s.rows - 1, s.bytes - 1) >= kShared) continue;
        RunPtx run(kernel(cp("1." + std::string(s.form) + format, descriptor(start, leading, stride, swizzle), column),
                          column));
        const auto data = noise(kShared, swizzle + 1);
        const uint64_t in = run.upload(data), out = run.buffer<uint32_t>(128 * 16);
        run.launch("k", {1}, {128}, in, out);
        const auto got = run.download<uint32_t>(out, 128 * 16);
        auto want = before(column);
        for (uint32_t i = 0; i < s.rows; ++i)
          for (uint32_t k = 0; k < s.bytes; k += 16) {
            std::vector<uint8_t> atom;
            for (uint32_t b = 0; b < 16; ++b) atom.push_back(data[source(start, leading, stride, swizzle, i, k + b)]);
            const auto bytes = expanded(format, atom);
            for (uint32_t lane : s.lanes(i))
              for (uint32_t b = 0; b < 16; b += 4) std::memcpy(&want[lane * 16 + (k + b) / 4], &bytes[b], 4);
          }
        for (uint32_t l = 0; l < 128; ++l)
          for (uint32_t c = 0; c < 16; ++c)
            ASSERT_EQ(got[l * 16 + c], want[l * 16 + c])
                << s.form << format << " swizzle " << swizzle << " lane " << l << " column " << column + c;
        EXPECT_TRUE(run.reports.empty()) << diagnosis::render(run.reports[0]);
        ++checked;
      }
  EXPECT_EQ(checked, 6 * 4 * 3);
}

// The scale-factor chunk: byte i*16 + 4*c + b goes to lane i of each partition, column c, byte b.
TEST(Copy, ScaleFactorChunk) {
  RunPtx run(kernel(cp("1.32x128b.warpx4", descriptor(0, 16, 128, 0), 0), 0));
  const auto data = noise(kShared, 9);
  const uint64_t in = run.upload(data), out = run.buffer<uint32_t>(128 * 16);
  run.launch("k", {1}, {128}, in, out);
  const auto got = run.download<uint32_t>(out, 128 * 16);
  for (uint32_t l = 0; l < 128; ++l)
    for (uint32_t c = 0; c < 4; ++c)
      for (uint32_t b = 0; b < 4; ++b) EXPECT_EQ(got[l * 16 + c] >> (8 * b) & 255, data[l % 32 * 16 + 4 * c + b]);
}

TEST(Copy, FourRowsGoToTheGivenLaneOfEachPartition) {
  RunPtx run(kernel(cp("1.4x256b", descriptor(0, 128, 256, 0), 8, 31), 8));
  const auto data = noise(kShared, 3);
  const uint64_t in = run.upload(data), out = run.buffer<uint32_t>(128 * 16);
  run.launch("k", {1}, {128}, in, out);
  const auto got = run.download<uint32_t>(out, 128 * 16);
  auto want = before(8);
  for (uint32_t i = 0; i < 4; ++i)
    for (uint32_t b = 0; b < 32; b += 4)
      std::memcpy(&want[(32 * i + 31) * 16 + b / 4], &data[i * 16 + b / 16 * 128 + b % 16], 4);
  EXPECT_EQ(got, want);
}

// Issued by CTA 0 alone: each CTA's cells come from its own shared memory (inferred).
TEST(Copy, PairReadsEachCtasOwnSharedMemory) {
  RunPtx run(kernel(cp("2.128x128b", descriptor(0, 16, 128, 0), 16), 16, 2));
  run.cluster = {2};
  const auto data = noise(2 * kShared, 5);
  const uint64_t in = run.upload(data), out = run.buffer<uint32_t>(2 * 128 * 16);
  run.launch("k", {2}, {128}, in, out);
  const auto got = run.download<uint32_t>(out, 2 * 128 * 16);
  for (uint32_t cta = 0; cta < 2; ++cta) {
    auto want = before(16);
    for (uint32_t l = 0; l < 128; ++l) std::memcpy(&want[l * 16], &data[cta * kShared + l / 8 * 128 + l % 8 * 16], 16);
    EXPECT_EQ(std::vector<uint32_t>(got.begin() + cta * 2048, got.begin() + cta * 2048 + 2048), want);
  }
}

std::string shift(uint32_t column, uint32_t lane = 0, int group = 1) {
  return fmt::format("  tcgen05.shift.cta_group::{}.down [%base+{}];\n", group, column + (lane << 16));
}

TEST(Shift, LaneTakesItsUpperNeighbourAndLane31Stays) {
  RunPtx run(kernel(shift(36), 32));
  const uint64_t in = run.upload(noise(kShared, 1)), out = run.buffer<uint32_t>(128 * 16);
  run.launch("k", {1}, {128}, in, out);
  const auto got = run.download<uint32_t>(out, 128 * 16);
  for (uint32_t l = 0; l < 128; ++l)
    for (uint32_t c = 0; c < 16; ++c) {
      const bool moved = c >= 4 && c < 12 && l % 32 != 31;
      EXPECT_EQ(got[l * 16 + c], (moved ? l + 1 : l) * 512 + 32 + c);
    }
}

// shift, then cp.4x256b that reloads lane 31: pipelined, so right in every order. Nothing is waited for in between.
TEST(Shift, ThenCopyOfLane31IsOrdered) {
  for (const auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late, CompletionOrder::Mode::seeded})
    for (uint64_t seed = 0; seed < (mode == CompletionOrder::Mode::seeded ? 8 : 1); ++seed) {
      RunPtx run(kernel(shift(32) + cp("1.4x256b", descriptor(0, 128, 256, 0), 32, 31), 32));
      run.gpu.options.order = {mode, seed};
      const auto data = noise(kShared, 4);
      const uint64_t in = run.upload(data), out = run.buffer<uint32_t>(128 * 16);
      run.launch("k", {1}, {128}, in, out);
      const auto got = run.download<uint32_t>(out, 128 * 16);
      for (uint32_t l = 0; l < 128; ++l)
        for (uint32_t c = 0; c < 8; ++c) {
          uint32_t want = (l + 1) * 512 + 32 + c;
          if (l % 32 == 31) std::memcpy(&want, &data[l / 32 * 16 + c / 4 * 128 + c % 4 * 4], 4);
          ASSERT_EQ(got[l * 16 + c], want) << "lane " << l << " column " << c;
        }
    }
}

TEST(Shift, BothCtasOfAPair) {
  RunPtx run(kernel(shift(32, 0, 2), 32, 2));
  run.cluster = {2};
  const uint64_t in = run.upload(noise(2 * kShared, 1)), out = run.buffer<uint32_t>(2 * 128 * 16);
  run.launch("k", {2}, {128}, in, out);
  const auto got = run.download<uint32_t>(out, 2 * 128 * 16);
  for (uint32_t l = 0; l < 256; ++l) EXPECT_EQ(got[l * 16], (l % 32 == 31 ? l % 128 : l % 128 + 1) * 512 + 32);
}

// ---- Rules

TEST(Rules, AddressesOfCopyAndShift) {
  const uint64_t good = descriptor(0, 16, 128, 0);
  const std::pair<std::string, const char*> cases[] = {
      {cp("1.128x128b", good, 0, 16), "tmem-alignment"},
      {cp("1.4x256b", good, 0, 32), "tmem-alignment"},
      {shift(0, 8), "tmem-alignment"},
      {cp("1.128x256b", good, 124), "tmem-unallocated"},
      {cp("1.128x128b", good, 126), "tmem-unallocated"},
      {shift(121), "tmem-unallocated"},
      {cp("1.128x128b", good, 509), "tmem-out-of-bounds"},
      {shift(505), "tmem-out-of-bounds"},
      {cp("1.128x128b", good & ~(1ull << 46), 0), "matrix-descriptor"},
      {cp("1.128x128b", descriptor(0, 16, 0x3ff00, 0), 0), "matrix-out-of-bounds"},
  };
  for (const auto& [issue, code] : cases) {
    RunPtx run(kernel(issue, 0));
    EXPECT_EQ(run.fault_of("k", {1}, {128}, run.upload(noise(kShared, 1)), run.buffer<uint32_t>(2048)).code, code)
        << issue;
    if (std::string(code).starts_with("matrix")) continue;
    RunPtx relaxed(kernel(issue, 0));
    relaxed.gpu.options.strict_tmem = false;
    relaxed.launch("k", {1}, {128}, relaxed.upload(noise(kShared, 1)), relaxed.buffer<uint32_t>(2048));
    ASSERT_FALSE(relaxed.reports.empty()) << issue;
    EXPECT_EQ(relaxed.reports[0].code, code);
  }
}

TEST(Rules, ReadingBeforeTheCommitIsNamed) {
  std::string text = kernel(cp("1.128x128b", descriptor(0, 16, 128, 0), 0), 0);
  const size_t at = text.find("LOOP:");
  const size_t end = text.find("bar.warp.sync", at);
  text.erase(at, end - at);  // without the wait
  RunPtx run(text);
  const uint64_t in = run.upload(noise(kShared, 1)), out = run.buffer<uint32_t>(2048);
  run.launch("k", {1}, {128}, in, out);
  std::vector<std::string> codes;
  for (const Diagnosis& d : run.reports) codes.push_back(d.code);
  EXPECT_THAT(codes, Contains("tmem-not-complete"));
}

}  // namespace
}  // namespace tinygpu::test
