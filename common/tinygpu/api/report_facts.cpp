#include "common/tinygpu/api/report_facts.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/timing/peaks.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::api {

namespace {

std::string words(const CompletionOrder& order) {
  switch (order.mode) {
    case CompletionOrder::Mode::timed: return "timed: asynchronous effects land when the machine profile says";
    case CompletionOrder::Mode::late: return "late: asynchronous effects land at the last moment";
    case CompletionOrder::Mode::seeded: return fmt::format("seeded: a random legal order, seed {}", order.seed);
  }
  return {};
}

/// What rooflines are drawn from, each number with the profile's words on it.
std::vector<observe::MachineNumber> peaks_of(const tinygpu::Profile& machine) {
  const Peaks peaks(machine.spec);
  std::vector<std::pair<std::string, double>> wanted = {{"mem.l2.bytes_per_cycle", peaks.l2_bytes},
                                                        {"mem.dram.bytes_per_cycle", peaks.dram_bytes},
                                                        {"peak.f16", peaks.f16},
                                                        {"peak.tf32", peaks.tf32},
                                                        {"peak.f8", peaks.f8}};
  if (peaks.f4) wanted.push_back({"peak.f4", *peaks.f4});
  std::vector<observe::MachineNumber> out;
  for (const auto& [key, value] : wanted)
    for (const ProfileEntry& e : machine.entries)
      if (e.key == key) out.push_back({key, value, e.unit, e.what, e.source, std::string(to_string(e.trust))});
  return out;
}

}  // namespace

observe::RunFacts report_facts(const Options& run) {
  observe::RunFacts f;
  f.order = words(run.order);
  for (const FreeKind& k : free_kinds())
    if (run.free.*k.on) f.free += fmt::format("{}{}", f.free.empty() ? "" : ", ", k.words);
  const tinygpu::Profile machine = read_profile(run.machine);
  f.machine = machine.spec.name;
  f.gpu = machine.gpu;
  f.sms = machine.spec.sms;
  f.clock_ghz = machine.spec.clock_ghz;
  f.peaks = peaks_of(machine);
  return f;
}

}  // namespace tinygpu::api
