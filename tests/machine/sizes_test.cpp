// What a program may ask for: sizes that no GPU has are refused with a message, at the kernel that asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/ptx/parser.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

using ::testing::HasSubstr;

/// What finding the kernel `k` of a module says; "" if nothing is wrong.
std::string refusal(const std::string& text) {
  try {
    RunPtx run(text);
    run.program->find("k");
  } catch (const LinkError& e) {
    return e.what();
  }
  return {};
}

std::string local_array(const std::string& size) {
  return ".visible .entry k() { .local .align 4 .b8 a[" + size + "]; .reg .b32 %r; ld.local.u32 %r, [a]; ret; }";
}

std::string shared_array(const std::string& size) {
  return ".visible .entry k() { .shared .align 4 .b8 a[" + size + "]; .reg .b32 %r; ld.shared.u32 %r, [a]; ret; }";
}

TEST(Sizes, OfLocalMemory) {
  EXPECT_EQ(refusal(local_array("524288")), "");
  const char* const more = "function k needs more than 524288 bytes of local memory a thread";
  EXPECT_EQ(refusal(local_array("524292")), more);
  EXPECT_EQ(refusal(local_array("4294967296")), more);
  EXPECT_EQ(refusal(local_array("4294967300")), more);
  EXPECT_EQ(refusal(".visible .entry k() { .local .b8 a[400000]; .local .b8 b[400000]; ret; }"), more);
  EXPECT_EQ(refusal(".func f(.param .align 4 .b8 p[600000]) { ret; } .visible .entry k() { ret; }"), "")
      << "only who runs it needs it";
}

TEST(Sizes, OfStaticSharedMemory) {
  EXPECT_EQ(refusal(shared_array("232448")), "");
  const char* const more = "function k uses more than 232448 bytes of static shared memory";
  EXPECT_EQ(refusal(shared_array("232452")), more);
  EXPECT_EQ(refusal(shared_array("4294967296")), more);
  EXPECT_EQ(refusal(".shared .b8 a[4294967296]; .func f() { .reg .b32 %r; ld.shared.u32 %r, [a]; ret; }\n"
                    ".visible .entry k() { call f; ret; }"),
            more);
  EXPECT_EQ(refusal(".shared .b8 a[4294967296]; .visible .entry k() { ret; }"), "") << "no instruction uses it";
}

TEST(Sizes, OfRegistersAndResources) {
  // Sums that wrap in 32 bits gave no registers and no shared memory at all, and divisions by them.
  Function f;
  f.registers_per_thread = 1u << 27;
  const Occupancy registers = occupancy(plain_machine(), f, 1024, 0);
  EXPECT_EQ(registers.blocks_per_sm, 0u);
  EXPECT_STREQ(registers.limit, "registers");
  f.registers_per_thread = 16;
  f.static_shared = 0xfffffc00u;
  const Occupancy shared = occupancy(plain_machine(), f, 32, 0);
  EXPECT_EQ(shared.blocks_per_sm, 0u);
  f.static_shared = 1024;
  EXPECT_EQ(occupancy(plain_machine(), f, 32, 0xfffff800u).blocks_per_sm, 0u);
}

TEST(Sizes, AKernelMayBeEmpty) {
  RunPtx run(".visible .entry k() { }");
  const LaunchStats stats = run.launch("k", {2}, {64});
  EXPECT_EQ(stats.instructions, 0u);
  EXPECT_GT(stats.cycles, 0u);  // of the launch itself
}

TEST(Sizes, AParameterAddressBelowTheBankIsRefused) {
  RunPtx run(".visible .entry k(.param .u64 p) { .reg .b32 %r; ld.param.u32 %r, [p+-4]; ret; }");
  const Diagnosis d = run.fault_of("k", {1}, {32}, uint64_t(0));
  EXPECT_EQ(d.code, "illegal-address");
  EXPECT_THAT(d.message, HasSubstr("the kernel's parameters"));
}

// torch's allocator gives blocks of 512 bytes: past a tensor of 100 floats there are 112 bytes that nobody else has.
TEST(Sizes, PastAnAllocationButInItsBlockIsAWarning) {
  const std::string text = R"(
.visible .entry k(.param .u64 data, .param .u32 first) {
  .reg .b32 %r<3>; .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [data]; ld.param.u32 %r0, [first]; mov.u32 %r1, %tid.x; add.u32 %r0, %r0, %r1;
  mul.wide.u32 %rd1, %r0, 4; add.s64 %rd2, %rd0, %rd1; st.global.u32 [%rd2], %r0; ld.global.u32 %r2, [%rd2];
  st.global.u32 [%rd0], %r2;
  ret; }
.visible .entry v(.param .u64 data) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [data]; st.global.v4.u32 [%rd0+384], {5, 6, 7, 8};
  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd0+384]; st.global.v2.u32 [%rd0], {%r1, %r3};
  ret; })";
  RunPtx run(text);
  const uint64_t data = run.buffer<float>(100);
  EXPECT_EQ(run.fault_of("k", {1}, {1}, data, 100u).code, "illegal-address");
  {
    run.gpu.allocation_blocks.set_bytes(512);
    run.reports.clear();
    run.launch("k", {1}, {1}, data, 127u);
    EXPECT_EQ(run.download<uint32_t>(data, 1), std::vector<uint32_t>{127}) << "what is stored there may be read again";
    ASSERT_FALSE(run.reports.empty());
    EXPECT_EQ(run.reports[0].severity, Severity::warning);
    EXPECT_THAT(run.reports[0].message, HasSubstr("108 bytes past the end of a 400-byte allocation"));
    EXPECT_THAT(run.reports[0].message, HasSubstr("blocks of 512 bytes, so these belong to nobody else"));
    // Lanes on both sides of the end.
    run.launch("k", {1}, {32}, data, 90u);
    EXPECT_EQ(run.download<uint32_t>(data, 100)[99], 99u);
    // A vector on both sides of it: 392 bytes.
    const uint64_t shorter = run.buffer<float>(98);
    run.launch("v", {1}, {1}, shorter);
    EXPECT_THAT(run.download<uint32_t>(shorter, 2), ::testing::ElementsAre(6, 8));
    EXPECT_EQ(run.download<uint32_t>(shorter, 98)[97], 6u);
    EXPECT_EQ(run.fault_of("k", {1}, {1}, data, 128u).code, "illegal-address") << "behind the block";
    EXPECT_EQ(run.fault_of("k", {1}, {1}, uint64_t(0), 0u).code, "illegal-address");
    run.gpu.allocation_blocks.set_bytes(1);
  }
  EXPECT_EQ(run.fault_of("k", {1}, {1}, data, 100u).code, "illegal-address");
}

TEST(Sizes, LocalAddressesHave32Bits) {
  // An H200 takes the low word of a 64-bit register in ld.local and ld.shared.
  RunPtx run(R"(
.visible .entry k(.param .u64 out) {
  .local .align 8 .b8 a[16]; .reg .b32 %r<2>; .reg .b64 %rd<5>;
  ld.param.u64 %rd0, [out]; mov.u64 %rd1, a; mov.u32 %r0, 77; st.local.u32 [%rd1+4], %r0;
  mov.u64 %rd2, 0x7f00000000; add.s64 %rd3, %rd1, %rd2; ld.local.u32 %r1, [%rd3+4];
  st.global.u32 [%rd0], %r1; ret; })");
  const uint64_t out = run.buffer<uint32_t>(1);
  run.launch("k", {1}, {32}, out);
  EXPECT_EQ(run.download<uint32_t>(out, 1)[0], 77u);
}

struct NoVariables : VariableStore {
  uint64_t allocate(const std::string&, uint64_t, uint32_t, bool, bool) override { return 0; }
  void write(uint64_t, const void*, size_t) override {}
};

TEST(Assembled, WhatNoFormTakesStopsWhenItExecutes) {
  // ptxas has taken the text beside a cubin: the module loads, and what the table lacks is never decoded.
  const std::string text = ptx_header() + R"(
.visible .entry k(.param .u32 go) {
  .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd;
  ld.param.u32 %r0, [go]; setp.eq.u32 %p, %r0, 0;
  @%p bra END;
  add.u32 %r1, {%r0, %r0}, %rd;
  brx.idx %r0, 7;
  bra 5;
END:
  ret; })";
  RunPtx run(".visible .entry unused() { ret; }");
  NoVariables none;
  auto module = std::make_shared<ptx::Module>(ptx::parse(text, {.assembled = true}));
  run.program = std::make_unique<Program>(std::vector<std::shared_ptr<const ptx::Module>>{module},
                                          isa::instruction_set(), run.gpu.spec.costs, none);
  run.launch("k", {1}, {32}, 0u);
  const Diagnosis d = run.fault_of("k", {1}, {32}, 1u);
  EXPECT_EQ(d.code, "not-modelled");
  EXPECT_EQ(d.kind, FaultKind::not_modelled);
  EXPECT_THAT(d.message, HasSubstr("not modelled: add.u32 (a of add is a vector of 2"));
}

}  // namespace
}  // namespace tinygpu::test
