// PTX text as a program hands it to cuModuleLoadData: parsed, checked, linked; every kernel decoded and launched.
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
  gen5::fuzz::Store store(gpu.memory);
  try {
    Program program({module}, isa::instruction_set(), gpu.spec.costs, store);
    for (const std::string& name : program.entries())
      if (const Function* f = program.find(name)) gen5::fuzz::launch_entry(gpu, program, *f);
  } catch (const LinkError&) {
  }
  return 0;
}
