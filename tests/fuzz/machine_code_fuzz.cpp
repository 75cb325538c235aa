// Machine code beside PTX that it may or may not be of: read, matched with the kernels of machine_code.ptx, which then
// run. The first byte says beside which kernel; then comes what a .text section holds.
#include <fstream>
#include <memory>
#include <sstream>

#include "common/tinygpu/image/machine_code.h"
#include "tests/fuzz/guarded.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/machine.h"
#include "tests/fuzz/target.h"

using namespace tinygpu;

namespace {

constexpr size_t kLongest = 1 << 14;
constexpr const char* kKernels[] = {"sum", "rows", "product"};

std::shared_ptr<const ptx::Module> module() {
  std::ifstream file(MACHINE_CODE_PTX);
  std::ostringstream text;
  text << file.rdbuf();
  return std::make_shared<ptx::Module>(ptx::parse(text.str()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const MachineSpec machine = gen5::fuzz::small_machine("h200");
  static const std::shared_ptr<const ptx::Module> kernels = module();
  static gen5::fuzz::Guarded guarded(kLongest);
  if (size > kLongest) return 0;
  gen5::fuzz::Input in(data, size);
  const char* kernel = kKernels[in.below(std::size(kKernels))];
  const std::string rest = in.rest();
  const auto bytes = guarded.copy(reinterpret_cast<const uint8_t*>(rest.data()), rest.size());
  image::read_machine_code(bytes);
  Gpu gpu(machine);
  gen5::fuzz::set_options(gpu.options);
  gen5::fuzz::Store store(gpu.memory);
  Program program({kernels}, isa::instruction_set(), gpu.spec.costs, store);
  program.set_sass(kernel, std::make_shared<const SassCode>(image::read_instructions(bytes)));
  gen5::fuzz::launch_entry(gpu, program, *program.find(kernel));
  return 0;
}
