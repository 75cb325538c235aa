// The machine as a library.
#include "common/tinygpu/api/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>

#include "common/tinygpu/timing/profile.h"

namespace tinygpu::api {
namespace {

using testing::HasSubstr;

const std::string kHeader = ".version 9.0\n.target sm_90\n.address_size 64\n";  // runs on both machines

// Adds `n` to each of the words at `to`, one a thread.
const std::string kAdd = kHeader + R"(
.global .u32 scale = 3;
.visible .entry add(.param .u64 to, .param .u32 n) {
  .reg .u32 %r<6>; .reg .u64 %a<4>;
  ld.param.u64 %a0, [to];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r1, %r2, %r3, %r1;
  mul.wide.u32 %a1, %r1, 4;
  add.u64 %a0, %a0, %a1;
  ld.global.u32 %r4, [%a0];
  add.u32 %r4, %r4, %r0;
  st.global.u32 [%a0], %r4;
  ret;
})";

// Writes 7 into shared memory, then counts to `n`.
const std::string kCount = kHeader + R"(
.visible .entry count(.param .u32 n) {
  .reg .u32 %r<4>; .reg .pred %p;
  .shared .align 4 .u32 seven;
  ld.param.u32 %r0, [n];
  mov.u32 %r1, 7;
  st.shared.u32 [seven], %r1;
  mov.u32 %r2, 0;
again:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p, %r2, %r0;
  @%p bra again;
  st.shared.u32 [seven], %r2;
  ret;
})";

MachineSpec small(const char* machine = "b200") {
  MachineSpec spec = load_profile(machine);
  spec.sms = 8;
  spec.global_bytes = 1ull << 30;
  return spec;
}

template <class... T>
std::vector<uint8_t> packed(const Kernel& k, T... values) {
  std::vector<uint8_t> out(k.parameter_bytes);
  size_t i = 0;
  ((std::memcpy(out.data() + k.parameters.at(i++).offset, &values, sizeof values)), ...);
  return out;
}

struct Fixture {
  Fixture() = default;
  explicit Fixture(const Options& options, const char* machine = "b200") : m(small(machine), options) {}
  Machine m{small(), {}};
  uint64_t words(std::vector<uint32_t> values) {
    const uint64_t at = m.memory().allocate(values.size() * 4);
    m.memory().write(at, bytes(values));
    return at;
  }
  std::vector<uint32_t> read(uint64_t at, size_t n) {
    std::vector<uint32_t> out(n);
    m.memory().read(at, bytes(out));
    return out;
  }
  static std::span<uint8_t> bytes(std::vector<uint32_t>& v) {
    return {reinterpret_cast<uint8_t*>(v.data()), v.size() * 4};
  }
};

TEST(Machine, LoadsLaunchesAndReadsBack) {
  Fixture f;
  Module& module = f.m.load(kAdd);
  EXPECT_THAT(module.entries(), testing::ElementsAre("add"));
  const Kernel& add = module.kernel("add");
  ASSERT_EQ(add.parameters.size(), 2u);
  EXPECT_EQ(add.parameters[1].offset, 8u);
  std::vector<uint32_t> values(256);
  std::iota(values.begin(), values.end(), 0);
  const uint64_t at = f.words(values);
  const uint64_t id = f.m.launch(add, {.grid = {2}, .block = {128}, .parameters = packed(add, at, 5u)});
  EXPECT_EQ(f.read(at, 1)[0], 0u) << "it begins when the machine runs";
  EXPECT_EQ(f.m.run().why, Stop::Why::done);
  for (uint32_t& v : values) v += 5;
  EXPECT_EQ(f.read(at, 256), values);
  const auto finished = f.m.take_finished();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].id, id);
  EXPECT_EQ(finished[0].kernel, "add");
  EXPECT_EQ(f.m.clock(), finished[0].stats.cycles);
  EXPECT_TRUE(f.m.take_diagnoses().empty());
}

TEST(Machine, PlacesVariables) {
  Fixture f;
  const Module& module = f.m.load(kAdd);
  const auto scale = module.variable("scale");
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->size, 4u);
  EXPECT_EQ(f.read(scale->address, 1)[0], 3u);
  EXPECT_FALSE(module.variable("nothing"));
  f.m.unload(module);
  EXPECT_EQ(f.m.memory().used(), 0u) << "a module's end gives its memory back";
}

TEST(Machine, StreamsRunInOrderAndBesideEachOther) {
  Fixture f;
  Module& adds = f.m.load(kAdd);
  Module& counts = f.m.load(kCount);
  const Kernel &add = adds.kernel("add"), &count = counts.kernel("count");
  const uint64_t at = f.words({1});
  const auto launch_count = [&](uint32_t n, uint32_t stream) {
    return f.m.launch(count, {.grid = {1}, .block = {1}, .parameters = packed(count, n)}, stream);
  };
  launch_count(10000, 1);
  f.m.launch(add, {.grid = {1}, .block = {1}, .parameters = packed(add, at, 1u)}, 1);
  launch_count(10000, 2);
  EXPECT_EQ(f.m.run().why, Stop::Why::done);
  EXPECT_EQ(f.read(at, 1)[0], 2u);
  const auto finished = f.m.take_finished();
  ASSERT_EQ(finished.size(), 3u);
  const auto& first = finished[0].kernel == "count" ? finished[0] : finished[1];
  const auto last = std::ranges::find(finished, "add", &Finished::kernel);
  EXPECT_GE(last->begin, first.begin + first.stats.cycles) << "behind what its stream had before";
  uint64_t alone = 0;
  for (const Finished& k : finished) alone += k.stats.cycles;
  EXPECT_LT(f.m.clock(), alone) << "two streams run beside each other";
}

TEST(Machine, StopsAtATimeAndShowsWhatIsThere) {
  Fixture f;
  const Kernel& count = f.m.load(kCount).kernel("count");
  const uint64_t id = f.m.launch(count, {.grid = {2}, .block = {33}, .parameters = packed(count, 100000u)});
  EXPECT_TRUE(f.m.ctas().empty());
  EXPECT_EQ(f.m.run_until(50000).why, Stop::Why::time);
  EXPECT_GE(f.m.clock(), 50000u);
  EXPECT_LT(f.m.clock(), 52000u);
  const auto ctas = f.m.ctas();
  ASSERT_EQ(ctas.size(), 2u);
  EXPECT_EQ(ctas[1].launch, id);
  EXPECT_EQ(ctas[0].id.x + ctas[1].id.x, 1u);
  ASSERT_EQ(ctas[0].warps.size(), 2u);
  EXPECT_EQ(ctas[0].warps[1].live_lanes, 1u);
  ASSERT_EQ(ctas[0].warps[0].groups.size(), 1u);
  EXPECT_EQ(ctas[0].warps[0].groups[0].lanes, 0xffffffffu);
  EXPECT_EQ(ctas[0].warps[0].groups[0].where.kernel, "count");
  EXPECT_GT(ctas[0].warps[0].groups[0].where.ptx_line, 0);
  uint32_t seven = 0;
  std::memcpy(&seven, ctas[0].shared.data() + 1024, 4);
  EXPECT_EQ(seven, 7u);
  EXPECT_EQ(f.m.run().why, Stop::Why::done);
  EXPECT_TRUE(f.m.ctas().empty());
}

TEST(Machine, StoppingChangesNoCycle) {
  const auto cycles = [](const char* machine, uint64_t step, CompletionOrder::Mode order) {
    Options options;
    options.order.mode = order;
    Fixture f(options, machine);
    Module& adds = f.m.load(kAdd);
    const Kernel& add = adds.kernel("add");
    const uint64_t at = f.words(std::vector<uint32_t>(4096, 1));
    for (uint32_t i = 0; i < 3; ++i)
      f.m.launch(add, {.grid = {32}, .block = {128}, .parameters = packed(add, at, i)}, i);
    for (uint64_t until = step; f.m.run_until(until).why != Stop::Why::done; until += step) {
    }
    std::vector<uint64_t> out = {f.m.clock()};
    for (const Finished& k : f.m.take_finished()) out.insert(out.end(), {k.begin, k.stats.cycles});
    return out;
  };
  using Mode = CompletionOrder::Mode;
  for (const char* machine : {"b200", "h200"})
    for (const Mode order : {Mode::timed, Mode::late, Mode::seeded}) {
      EXPECT_EQ(cycles(machine, 1, order), cycles(machine, ~0ull, order));
      EXPECT_EQ(cycles(machine, 333, order), cycles(machine, ~0ull, order));
    }
}

TEST(Machine, RunsUntilAnEvent) {
  /// A CTA of the kernel has started.
  struct Started : Observer {
    Started() : Observer(0) {}
    void on_cta(const Cta&, bool starts, uint64_t) override { seen |= starts; }
    bool seen = false;
  } started;
  Fixture f;
  f.m.attach({&started});
  const Kernel& count = f.m.load(kCount).kernel("count");
  f.m.launch(count, {.grid = {1}, .block = {1}, .parameters = packed(count, 100000u)});
  EXPECT_EQ(f.m.run_until([&] { return started.seen; }).why, Stop::Why::event);
  EXPECT_EQ(f.m.ctas().size(), 1u);
  EXPECT_EQ(f.m.run().why, Stop::Why::done);
}

TEST(Machine, AFaultIsADiagnosisAndTheMachineGoesOn) {
  Fixture f;
  const Kernel& add = f.m.load(kAdd).kernel("add");
  const uint64_t at = f.words({1});
  const auto launch = [&](uint64_t to) {
    f.m.launch(add, {.grid = {1}, .block = {1}, .parameters = packed(add, to, 1u)});
  };
  launch(0);
  launch(at);
  const Stop stop = f.m.run();
  ASSERT_EQ(stop.why, Stop::Why::fault);
  EXPECT_EQ(stop.fault->code, "illegal-address");
  EXPECT_EQ(stop.fault->where.kernel, "add");
  ASSERT_EQ(f.m.take_diagnoses().size(), 1u);
  EXPECT_EQ(f.m.run().why, Stop::Why::done) << "what was behind it is dropped";
  EXPECT_EQ(f.read(at, 1)[0], 1u);
  launch(at);
  EXPECT_EQ(f.m.run().why, Stop::Why::done);
  EXPECT_EQ(f.read(at, 1)[0], 2u);
}

template <class Error, class F>
std::string sentence(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Machine, RefusesWithASentence) {
  Fixture f;
  EXPECT_THAT(sentence<LoadError>([&] { f.m.load("nonsense"); }), HasSubstr("neither PTX"));
  EXPECT_THAT(sentence<LoadError>([&] { f.m.load(kHeader + ".visible .entry k() { add.u33 %r0, 1, 2; }"); }),
              HasSubstr("4:"));
  EXPECT_THAT(sentence<LoadError>([&] { f.m.load(".version 9.0\n.target sm_90a\n.address_size 64\n"); }),
              HasSubstr("the PTX is for sm_90a, and the machine b200 is sm_100"));
  Module& module = f.m.load(kAdd);
  EXPECT_THAT(sentence<LoadError>([&] { module.kernel("sub"); }), HasSubstr("the PTX has no entry sub"));
  const Kernel& add = module.kernel("add");
  const auto refused = [&](LaunchRequest r) { return sentence<LaunchRefused>([&] { f.m.launch(add, std::move(r)); }); };
  EXPECT_THAT(refused({.grid = {0}, .block = {1}}), HasSubstr("grid (0,1,1) is outside"));
  EXPECT_THAT(refused({.grid = {1}, .block = {2048}}), HasSubstr("block (2048,1,1) has 2048 threads"));
  EXPECT_THAT(refused({.grid = {1}, .block = {1}, .cluster = Dim3{3}}), HasSubstr("not a multiple of the cluster"));
  EXPECT_THAT(refused({.grid = {1}, .block = {1}, .dynamic_shared = 1 << 20}),
              HasSubstr("1048576 bytes of dynamic shared memory asked for"));
  EXPECT_THAT(refused({.grid = {1}, .block = {1}}), HasSubstr("0 bytes of parameters given, 12 needed"));
  const uint64_t at = f.words({1, 2});
  std::vector<uint8_t> bytes(1024);
  EXPECT_THAT(sentence<MemoryError>([&] { f.m.memory().read(at, bytes); }), HasSubstr("a read of 1024 bytes at 0x"));
  EXPECT_THAT(sentence<MemoryError>([&] { f.m.memory().fill(8, 0, 1); }), HasSubstr("a fill of 1 bytes at 0x8"));
  EXPECT_FALSE(f.m.memory().release(at + 4));
  EXPECT_EQ(f.m.memory().allocate(1ull << 40), 0u);
  EXPECT_THAT(sentence<ProfileError>([] { Machine({.machine = "b2000"}); }), HasSubstr("b2000"));
}

TEST(Machine, MemoryIsFilledAndChecked) {
  Options options;
  options.memory_check = true;
  Fixture f(options);
  const Kernel& add = f.m.load(kAdd).kernel("add");
  const uint64_t filled = f.m.memory().allocate(4), fresh = f.m.memory().allocate(4);
  f.m.memory().fill(filled, 1, 4);
  EXPECT_EQ(f.read(filled, 1)[0], 0x01010101u);
  for (const uint64_t at : {filled, fresh})
    f.m.launch(add, {.grid = {1}, .block = {1}, .parameters = packed(add, at, 1u)});
  EXPECT_EQ(f.m.run().why, Stop::Why::done);
  const auto told = f.m.take_diagnoses();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].code, "global-uninitialised");
  EXPECT_EQ(f.m.memory().checked().allocations, 2u);
}

TEST(Machine, KeepsWhatKernelsPrint) {
  Fixture f;
  const Kernel& k = f.m.load(kHeader + R"(
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry hello() {
  .reg .u64 %a<3>;
  mov.u64 %a0, text;
  cvta.global.u64 %a1, %a0;
  { .param .b64 p0; st.param.b64 [p0], %a1; .param .b64 p1; mov.u64 %a2, 0; st.param.b64 [p1], %a2;
    .param .b32 r0; call.uni (r0), vprintf, (p0, p1); }
  ret;
})")
                        .kernel("hello");
  f.m.launch(k, {.grid = {1}, .block = {1}});
  EXPECT_EQ(f.m.run().why, Stop::Why::done);
  EXPECT_EQ(f.m.take_output(), "hi\n");
  EXPECT_EQ(f.m.take_output(), "");
}

}  // namespace
}  // namespace tinygpu::api
