#include "tests/fuzz/machine.h"

#include "common/tinygpu/check/checks.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/timing/profile.h"
#include "tests/fuzz/target.h"

namespace gen5::fuzz {

using namespace tinygpu;

namespace {
constexpr uint64_t kCycles = 50'000;  // of one launch
}

MachineSpec small_machine(const std::string& profile) {
  MachineSpec s = load_profile(profile);
  s.sms = 4;
  s.global_bytes = 16 << 20;
  return s;
}

void set_options(RunOptions& options) {
  static checks::AllChecks checks;  // a run in a process at a time
  options.observers = checks.observers();
  options.threads = 1;
  options.max_cycles = kCycles;
  options.on_diagnosis = [](const Diagnosis& d) { diagnosis::render(d); };
  options.device_output = [](const std::string&) {};
}

void launch(Gpu& gpu, const LaunchConfig& config) {
  const uint64_t ctas = config.cluster.count();
  if (ctas == 0 || ctas > uint64_t(gpu.spec.sms)) return;
  if (occupancy(gpu.spec, *config.kernel, uint32_t(config.block.count()), config.dynamic_shared).blocks_per_sm == 0)
    return;
  ++launches;
  try {
    gpu.launch(config);
  } catch (const KernelFault& f) {
    diagnosis::render(f.diagnosis);
  }
}

}  // namespace gen5::fuzz
