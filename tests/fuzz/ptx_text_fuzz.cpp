// PTX text as somebody hands it to cuModuleLoadData: parsed, checked, linked; every kernel decoded and launched.
#include <algorithm>
#include <cstring>
#include <memory>

#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/program/program.h"
#include "common/tinygpu/ptx/parser.h"
#include "tests/fuzz/guarded.h"
#include "tests/fuzz/machine.h"
#include "tests/fuzz/target.h"

using namespace tinygpu;

namespace {

constexpr size_t kLongest = 1 << 16;
constexpr uint64_t kBuffer = 1 << 16;

/// As much as the machine has, like the store behind the API.
struct Store : VariableStore {
  explicit Store(GlobalMemory& m) : memory(m) {}
  uint64_t allocate(const std::string& name, uint64_t size, uint32_t align, bool managed, bool constant) override {
    const uint64_t address = memory.allocate(size, align,
                                             managed    ? MemoryKind::managed
                                             : constant ? MemoryKind::constant
                                                        : MemoryKind::device,
                                             name);
    if (!address) throw LinkError("no memory for " + name);
    return address;
  }
  void write(uint64_t address, const void* bytes, size_t size) override {
    std::memcpy(memory.translate(address, size), bytes, size);
  }
  GlobalMemory& memory;
};

/// The block that the kernel asks for, or a small one.
Dim3 block_of(const ptx::Function& f) {
  if (f.reqntid[0]) return {f.reqntid[0], f.reqntid[1] ? f.reqntid[1] : 1, f.reqntid[2] ? f.reqntid[2] : 1};
  return {f.maxntid[0] && f.maxntid[0] < 64 ? f.maxntid[0] : 64};
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
  // Every parameter is a pointer to the same buffer, or the low bytes of one.
  const uint64_t buffer = gpu.memory.allocate(kBuffer, 256, MemoryKind::device);
  c.params.resize(f.param_bytes);
  for (const ParamInfo& p : f.params)
    std::memcpy(c.params.data() + p.offset, &buffer, std::min<size_t>(p.size, sizeof buffer));
  gen5::fuzz::launch(gpu, c);
  gpu.memory.release(buffer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const MachineSpec machines[] = {gen5::fuzz::small_machine("b200"), gen5::fuzz::small_machine("h200")};
  static gen5::fuzz::Guarded guarded(kLongest);
  if (size > kLongest) return 0;
  const auto copy = guarded.copy(data, size);
  const std::string_view text(reinterpret_cast<const char*>(copy.data()), copy.size());
  std::shared_ptr<const ptx::Module> module;
  try {
    module = std::make_shared<ptx::Module>(ptx::parse(text));
  } catch (const ptx::ParseError&) {
    return 0;
  }
  Gpu gpu(machines[text.find("sm_90a") != text.npos]);
  gen5::fuzz::set_options(gpu.options);
  Store store(gpu.memory);
  try {
    Program program({module}, isa::instruction_set(), gpu.spec.costs, store);
    for (const std::string& name : program.entries())
      if (const Function* f = program.find(name)) launch_entry(gpu, program, *f);
  } catch (const LinkError&) {
  }
  return 0;
}
