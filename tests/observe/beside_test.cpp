// Grids that run beside each other are watched as if each ran by itself.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "common/tinygpu/machine/chip/grid_scheduler.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/report/report.h"
#include "common/tinygpu/observe/sm_timeline.h"
#include "common/tinygpu/observe/trace.h"
#include "tests/observe/kernels.h"

namespace tinygpu::test {
namespace {

TEST(Beside, EachIsWatchedAsByItself) {
  const std::string text = two_copies() + R"(
.visible .entry other(.param .u64 from, .param .u64 to) {
  .reg .b64 %t<2>;
  .reg .pred %p;
  mov.u64 %t0, %clock64;
  add.u64 %t0, %t0, 3000;
L:
  mov.u64 %t1, %clock64;
  setp.lt.u64 %p, %t1, %t0;
  @%p bra L;
})";
  std::ostringstream traced, page;
  observe::Profile profile;
  observe::SmTimeline first_sm;
  observe::Report report({.sms = 8});
  std::map<std::string, LaunchStats> stats;
  {
    observe::Trace trace(traced, {.sms = 8});
    RunPtx machine(text);
    machine.gpu.options.observers = {&profile, &trace, &first_sm};
    for (Observer* o : report.observers()) machine.gpu.options.observers.push_back(o);
    const uint64_t from = machine.upload(std::vector<uint32_t>(4096, 7)), to = machine.buffer<uint32_t>(4096);
    GridScheduler scheduler(machine.gpu);
    for (int i = 0; i < 2; ++i) scheduler.add(machine.config("copies", {1}, {1}, from, to), 0);
    scheduler.add(machine.config("other", {8}, {32}, from, to), 0);
    while (!scheduler.empty()) {
      const GridScheduler::Event e = scheduler.run();
      stats[e.launch->config.kernel->name] = e.stats;
    }
  }
  ASSERT_EQ(profile.kernels().size(), 2u);
  for (const observe::KernelProfile& k : profile.kernels()) {
    EXPECT_EQ(k.launches, k.name == "copies" ? 2u : 1u);
    EXPECT_EQ(k.ctas, k.name == "copies" ? 2u : 8u);
    uint64_t lived = 0, known = 0;
    for (const auto& [name, role] : k.roles) {
      lived += role.lived;
      known += role.issued + role.operands + role.port;
      for (const auto& [wait, cycles] : role.waits) known += cycles;
    }
    EXPECT_EQ(known, lived) << k.name;
    if (k.name == "other") {
      EXPECT_EQ(k.cycles, stats.at("other").cycles);
      EXPECT_EQ(k.instructions, stats.at("other").instructions);
    }
  }
  size_t kernels = 0, copies = 0;
  const nlohmann::json document = nlohmann::json::parse(traced.str());
  for (const auto& e : document.at("traceEvents")) {
    kernels += e.value("name", "") == "copies" || e.value("name", "") == "other";
    copies += e.value("ph", "") == "X" && e.value("name", "").starts_with("cp.async.bulk");
  }
  EXPECT_EQ(kernels, 3u);
  EXPECT_EQ(copies, 4u) << "two of each launch";
  EXPECT_FALSE(first_sm.json().is_null());
  report.write(page, profile.kernels(), {}, [](const std::string&) { return std::nullopt; });
  EXPECT_NE(page.str().find("\"cycles\":" + std::to_string(stats.at("other").cycles)), std::string::npos);
}

}  // namespace
}  // namespace tinygpu::test
