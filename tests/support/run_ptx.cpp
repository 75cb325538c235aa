#include "tests/support/run_ptx.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/machine/chip/grid_scheduler.h"
#include "common/tinygpu/ptx/parser.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::test {

struct RunPtx::Store : VariableStore {
  explicit Store(GlobalMemory& m) : memory(m) {}
  uint64_t allocate(const std::string& name, uint64_t size, uint32_t align, bool managed, bool constant) override {
    return memory.allocate(size, align,
                           managed    ? MemoryKind::managed
                           : constant ? MemoryKind::constant
                                      : MemoryKind::device,
                           name);
  }
  void write(uint64_t address, const void* bytes, size_t size) override {
    std::memcpy(memory.translate(address, size), bytes, size);
  }
  GlobalMemory& memory;
};

MachineSpec plain_machine() {
  static const MachineSpec b200 = load_profile("b200");
  MachineSpec s = b200;
  s.name = "plain";
  s.sms = 8;
  s.clock_ghz = 1.0;
  s.global_bytes = 4ull << 30;
  return s;
}

MachineSpec hopper_machine() {
  static const MachineSpec h200 = load_profile("h200");
  MachineSpec s = h200;
  s.sms = 8;
  s.global_bytes = 4ull << 30;
  return s;
}

std::string ptx_header(const std::string& target, const std::string& version) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n";
}

RunPtx::RunPtx(const std::string& text, MachineSpec spec) : gpu(std::move(spec)) {
  const bool whole = text.find(".version") != std::string::npos;
  auto module = std::make_shared<ptx::Module>(ptx::parse(whole ? text : ptx_header() + text, {.name = "test"}));
  store_ = std::make_unique<Store>(gpu.memory);
  program = std::make_unique<Program>(std::vector<std::shared_ptr<const ptx::Module>>{module}, isa::instruction_set(),
                                      gpu.spec.costs, *store_);
  // GEN5_CHECK=races runs all tests under the whole check.
  if (const char* check = std::getenv("GEN5_CHECK"); check && std::string_view(check) == "races")
    checks = checks::AllChecks(checks::Level::races);
  gpu.options.strict_tmem = true;  // what a test's kernel breaks by mistake shall not pass as a warning
  gpu.options.on_diagnosis = [this](const Diagnosis& d) { reports.push_back(d); };
  gpu.options.device_output = [this](const std::string& s) { output += s; };
}

RunPtx::~RunPtx() = default;

LaunchConfig RunPtx::config_bytes(const std::string& kernel, Dim3 grid, Dim3 block,
                                  const std::vector<std::vector<uint8_t>>& params) const {
  const Function* f = program->find(kernel);
  if (!f) throw std::runtime_error("no kernel " + kernel);
  LaunchConfig c;
  c.kernel = f;
  c.program = program.get();
  c.grid = grid;
  c.block = block;
  c.cluster = cluster;
  c.explicit_cluster = cluster.count() > 1;
  c.dynamic_shared = dynamic_shared;
  c.params.resize(f->param_bytes);
  if (params.size() != f->params.size()) throw std::runtime_error("wrong number of parameters for " + kernel);
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].size() != f->params[i].size)
      throw std::runtime_error("parameter " + std::to_string(i) + " of " + kernel + " has another size");
    std::memcpy(c.params.data() + f->params[i].offset, params[i].data(), params[i].size());
  }
  return c;
}

RunPtx::Watched::Watched(RunPtx& run) : observers_(run.gpu.options.observers), before_(observers_) {
  observers_.insert(observers_.begin(), run.checks.observers().begin(), run.checks.observers().end());
}

LaunchStats RunPtx::launch_bytes(const std::string& kernel, Dim3 grid, Dim3 block,
                                 const std::vector<std::vector<uint8_t>>& params) {
  const LaunchConfig c = config_bytes(kernel, grid, block, params);
  const Watched watched(*this);
  return gpu.launch(c);
}

void RunPtx::launch_dependent(const LaunchConfig& primary, const LaunchConfig& dependent) {
  const Watched watched(*this);
  GridScheduler scheduler(gpu);
  scheduler.add(primary, gpu.clock, 0, true);
  while (!scheduler.empty()) {
    const GridScheduler::Event e = scheduler.run();
    if (e.kind == GridScheduler::Event::Kind::lets_dependents_start)
      scheduler.add_dependent(dependent, *e.launch);
    else
      gpu.clock = std::max(gpu.clock, e.launch->start_time + e.stats.cycles);
  }
}

void RunPtx::expected_fault() { ADD_FAILURE() << "the kernel ran to its end; a fault was expected"; }

}  // namespace tinygpu::test
