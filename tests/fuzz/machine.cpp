#include "tests/fuzz/machine.h"

#include <algorithm>
#include <cstring>

#include "common/tinygpu/check/checks.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/timing/profile.h"
#include "tests/fuzz/target.h"

namespace gen5::fuzz {

using namespace tinygpu;

namespace {
constexpr uint64_t kCycles = 50'000;  // of one launch
constexpr uint64_t kBuffer = 1 << 16;

/// The block that the kernel asks for, or a small one.
Dim3 block_of(const ptx::Function& f) {
  if (f.reqntid[0]) return {f.reqntid[0], f.reqntid[1] ? f.reqntid[1] : 1, f.reqntid[2] ? f.reqntid[2] : 1};
  return {f.maxntid[0] && f.maxntid[0] < 64 ? f.maxntid[0] : 64};
}

}  // namespace

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

uint64_t Store::allocate(const std::string& name, uint64_t size, uint32_t align, bool managed, bool constant) {
  const MemoryKind kind = managed ? MemoryKind::managed : constant ? MemoryKind::constant : MemoryKind::device;
  const uint64_t address = memory.allocate(size, align, kind, name);
  if (!address) throw LinkError("no memory for " + name);
  return address;
}

void Store::write(uint64_t address, const void* bytes, size_t size) {
  std::memcpy(memory.translate(address, size), bytes, size);
}

void launch_entry(Gpu& gpu, Program& program, const Function& f) {
  LaunchConfig c;
  c.kernel = &f;
  c.program = &program;
  c.block = block_of(*f.source);
  if (c.block.x > 1024 || c.block.y > 1024 || c.block.z > 64 || c.block.count() > gpu.spec.max_threads_per_block)
    return;
  const uint32_t* cluster = f.source->reqnctapercluster;
  if (cluster[0]) c.cluster = {cluster[0], cluster[1] ? cluster[1] : 1, cluster[2] ? cluster[2] : 1};
  c.explicit_cluster = cluster[0] != 0;
  c.grid = c.cluster;
  c.dynamic_shared = 4096;
  const uint64_t buffer = gpu.memory.allocate(kBuffer, 256, MemoryKind::device);
  c.params.resize(f.param_bytes);
  for (const ParamInfo& p : f.params)
    if (p.size > 0) std::memcpy(c.params.data() + p.offset, &buffer, std::min<size_t>(p.size, sizeof buffer));
  launch(gpu, c);
  gpu.memory.release(buffer);
}

}  // namespace gen5::fuzz
