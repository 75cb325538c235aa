// Where the time went: every cycle of a warp is accounted for once.
#include "common/tinygpu/observe/profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/observe/kernels.h"

namespace tinygpu::test::profile_test {
namespace {

observe::KernelProfile profile_of(const std::string& text, const std::string& kernel, Dim3 grid, Dim3 block,
                                  LaunchStats* stats = nullptr) {
  observe::Profile profile;
  RunPtx machine(text);
  machine.gpu.options.observers = {&profile};
  const uint64_t from = machine.upload(std::vector<uint32_t>(4096, 7)), to = machine.buffer<uint32_t>(4096);
  const LaunchStats s = machine.launch(kernel, grid, block, from, to);
  if (stats) *stats = s;
  EXPECT_EQ(profile.kernels().size(), 1u);
  return profile.kernels().at(0);
}

uint64_t waits_of(const observe::RoleCost& r) {
  uint64_t sum = 0;
  for (const auto& [wait, cycles] : r.waits) sum += cycles;
  return sum;
}

TEST(Profile, AWarpsCyclesAddUp) {
  const observe::KernelProfile k = profile_of(two_copies(), "copies", {1, 1, 1}, {1, 1, 1});
  ASSERT_EQ(k.roles.size(), 1u);
  const auto& [name, role] = *k.roles.begin();
  EXPECT_EQ(name, "TMA producer");
  EXPECT_EQ(role.warps, 1u);
  EXPECT_EQ(role.issued + role.operands + role.port + waits_of(role), role.lived);
}

TEST(Profile, NamesWhatAndWhereAWarpWaitsFor) {
  const observe::KernelProfile k = profile_of(two_copies(), "copies", {1, 1, 1}, {1, 1, 1});
  const auto& waits = k.roles.at("TMA producer").waits;
  ASSERT_EQ(waits.size(), 2u);
  uint64_t all = 0;
  for (const auto& [wait, cycles] : waits) {
    EXPECT_EQ(wait.what.substr(0, 8), "mbarrier");
    EXPECT_EQ(wait.place.substr(0, 8), "PTX line");
    EXPECT_GT(cycles, 300u) << "a copy takes longer than that";
    all += cycles;
  }
  EXPECT_GT(2 * all, k.roles.at("TMA producer").lived) << "this kernel does little else";
}

TEST(Profile, KeepsApartWhatOneInstructionWaitsFor) {
  const observe::KernelProfile k = profile_of(R"(
.visible .entry ring(.param .u64 from, .param .u64 to) {
  .shared .align 128 .b8 buffer[4096];
  .shared .align 8 .b64 full[2];
  .reg .b64 %rd<2>;
  .reg .b32 %r<6>;
  .reg .pred %p<2>;
  ld.param.u64 %rd0, [from];
  mov.u32 %r0, full;
  mov.u32 %r1, buffer;
  mbarrier.init.shared.b64 [%r0], 1;
  mbarrier.init.shared.b64 [%r0+8], 1;
  fence.mbarrier_init.release.cluster;
  mov.u32 %r2, 0;
NEXT:
  and.b32 %r3, %r2, 1;
  mad.lo.u32 %r3, %r3, 8, %r0;
  shr.u32 %r4, %r2, 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 4096;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 4096, [%r3];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p0, [%r3], %r4;
  @!%p0 bra WAIT;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 4;
  @%p1 bra NEXT;
  ret;
}
)",
                                              "ring", {1, 1, 1}, {1, 1, 1});
  const auto& role = k.roles.at("TMA producer");
  ASSERT_EQ(role.waits.size(), 2u);
  std::map<std::string, uint64_t> waits;
  for (const auto& [wait, cycles] : role.waits) {
    EXPECT_GT(cycles, 600u) << "two copies";
    waits[wait.what] = cycles;
  }
  ASSERT_EQ(waits.size(), 2u) << "two mbarriers";
  uint32_t lines = 0;
  for (const auto& [place, line] : k.lines)
    if (!line.waits.empty()) {
      EXPECT_EQ(line.waits, waits);
      ++lines;
    }
  EXPECT_EQ(lines, 1u);
}

TEST(Profile, CountsInstructionsBytesAndCtas) {
  LaunchStats stats;
  const observe::KernelProfile k = profile_of(two_copies(), "copies", {24, 1, 1}, {1, 1, 1}, &stats);
  EXPECT_EQ(k.cycles, stats.cycles);
  EXPECT_EQ(k.ctas, 24u);
  EXPECT_EQ(k.sms, 8u);
  EXPECT_EQ(k.resident, 3u);
  EXPECT_EQ(k.copied_in, 24u * 2048);
  EXPECT_GT(k.tma_busy, 0u);
  EXPECT_EQ(k.tensor_core_busy, 0u);
  uint64_t executed = 0;
  for (const auto& [place, line] : k.lines) executed += line.executions;
  EXPECT_EQ(executed, 24u * 18) << "a wait that has to wait is one instruction";
  EXPECT_GT(stats.instructions, executed) << "the launch counts it each time";
}

TEST(Profile, LateOperandsAreTheReaders) {
  const std::string text = R"(
.visible .entry load(.param .u64 from, .param .u64 to) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd0, [from];
  ld.param.u64 %rd1, [to];
  ld.global.u32 %r0, [%rd0];
  add.u32 %r1, %r0, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";
  const observe::KernelProfile k = profile_of(text, "load", {1, 1, 1}, {32, 1, 1});
  uint64_t most = 0;
  std::string place;
  for (const auto& [p, line] : k.lines)
    if (line.operands > most) most = line.operands, place = p;
  EXPECT_EQ(place, "PTX line 11") << "the addition: three lines of header stand before the text";
  EXPECT_GT(most, 200u);
}

/// Line 11: a word a lane, dense. Line 13: eight words in one bank. Line 14: 128 bytes of global memory.
const char* const kConflicts = R"(
.visible .entry conflicts(.param .u64 from, .param .u64 to) {
  .reg .b64 %rd<3>; .reg .b32 %r<6>;
  .shared .align 128 .b8 smem[4096];
  ld.param.u64 %rd0, [from]; ld.param.u64 %rd1, [to];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mad.lo.u32 %r2, %r0, 4, %r1;
  // The next line stores a word a lane.
  st.shared.u32 [%r2], %r0;
  and.b32 %r3, %r0, 7; mad.lo.u32 %r3, %r3, 128, %r1;
  ld.shared.u32 %r4, [%r3];
  mad.wide.u32 %rd2, %r0, 4, %rd0; ld.global.u32 %r5, [%rd2];
  ret;
}
)";

TEST(Profile, CountsBankConflictsByLine) {
  const observe::KernelProfile k = profile_of(kConflicts, "conflicts", {2, 1, 1}, {64, 1, 1});
  // Two CTAs of two warps: four times a line.
  EXPECT_EQ(k.memory.passes, 4u * (1 + 8));
  EXPECT_EQ(k.memory.ideal, 4u * (1 + 1));
  std::map<std::string, std::pair<uint64_t, uint64_t>> lines;
  for (const auto& [place, line] : k.lines)
    if (line.memory.passes) lines[place] = {line.memory.passes, line.memory.ideal};
  const std::map<std::string, std::pair<uint64_t, uint64_t>> expected = {{"PTX line 11", {4, 4}},
                                                                         {"PTX line 13", {32, 4}}};
  EXPECT_EQ(lines, expected);
  const std::string text = k.render();
  EXPECT_NE(text.find("bank conflicts: 28 passes of 36"), std::string::npos) << text;
  const size_t table = text.find("bank conflicts:");
  EXPECT_NE(text.find("PTX line 13", table), std::string::npos) << text;
  EXPECT_EQ(text.find("PTX line 11", table), std::string::npos) << "no conflicts there:\n" << text;
}

TEST(Profile, CountsBytesByLevel) {
  const observe::KernelProfile k = profile_of(kConflicts, "conflicts", {2, 1, 1}, {64, 1, 1});
  EXPECT_EQ(k.memory.shared_bytes, 4u * 256);
  EXPECT_EQ(k.memory.l2_bytes, 4u * 128);
  EXPECT_EQ(k.memory.device_bytes, 0u) << "the host has just written it";
  const observe::KernelProfile copies = profile_of(two_copies(), "copies", {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(copies.memory.shared_bytes, 2u * 1024 + 4);
  EXPECT_EQ(copies.memory.l2_bytes, 2u * 1024 + 32);
  const auto json = copies.json();
  EXPECT_EQ(json.at("memory").at("l2_bytes"), 2 * 1024 + 32);
  uint64_t by_line = 0;
  for (const auto& line : json.at("lines"))
    if (line.contains("memory")) by_line += line.at("memory").at("l2_bytes").get<uint64_t>();
  EXPECT_EQ(by_line, 2u * 1024 + 32);
}

TEST(Profile, CountsLinesOfDeviceMemory) {
  observe::Profile profile;
  RunPtx machine(kConflicts);
  machine.gpu.options.observers = {&profile};
  const uint64_t from = machine.buffer<uint32_t>(64), to = machine.buffer<uint32_t>(64);  // untouched
  for (int i = 0; i < 2; ++i) machine.launch("conflicts", {1, 1, 1}, {64, 1, 1}, from, to);
  EXPECT_EQ(profile.kernels().at(0).memory.device_bytes, 256u) << "two lines, the first time";
}

TEST(Profile, SaysHowManyCtasFitAndWhatLimitsThem) {
  // The machine has 8 SMs, each with room for 64 warps.
  const observe::KernelProfile k = profile_of(kConflicts, "conflicts", {20, 1, 1}, {1024, 1, 1});
  EXPECT_EQ(k.fits, 2u);
  EXPECT_EQ(k.fits_limit, "warps");
  EXPECT_DOUBLE_EQ(k.waves, 20.0 / 16);
  EXPECT_NE(k.render().find("2 CTAs an SM fit (warps), 1.25 waves"), std::string::npos) << k.render();
  EXPECT_EQ(k.json().at("occupancy").at("limit"), "warps");
  EXPECT_EQ(k.json().at("waves"), 1.25);
}

TEST(Profile, IsTextAndJson) {
  const observe::KernelProfile k = profile_of(two_copies(), "copies", {2, 1, 1}, {1, 1, 1});
  const std::string text = k.render();
  EXPECT_NE(text.find("TMA producer"), std::string::npos) << text;
  EXPECT_NE(text.find("mostly for"), std::string::npos) << text;
  const auto json = k.json();
  EXPECT_EQ(json.at("kernel"), "copies");
  EXPECT_EQ(json.at("roles").at(0).at("role"), "TMA producer");
  EXPECT_GT(json.at("lines").size(), 5u);
  for (const auto& line : json.at("lines")) {
    EXPECT_EQ(line.at("file"), "") << "nothing here comes from CUDA source";
    EXPECT_EQ(line.at("at"), "PTX line " + std::to_string(line.at("line").get<int>()));
    EXPECT_NE(line.at("ptx"), "");
  }
}

}  // namespace
}  // namespace tinygpu::test::profile_test
