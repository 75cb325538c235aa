// Runs the scalar conformance cases on the GPU of this machine: conformance_scalar --check h200.golden.zst
#include "tests/conformance/on_gpu.h"
#include "tests/conformance/scalar/golden.h"

namespace conformance {
namespace {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = read_cases(SCALAR_CONFORMANCE_FOLDER "/cases.txt");
  return cases;
}

std::string run(size_t n) {
  const Case& c = all_cases()[n];
  const PtxModule module(module_text({c}, "sm_90a"));
  gen5::harness::DeviceBuffer<uint64_t> in(operands_of(c)), out(kTuples * c.outputs());
  module.launch(kernel_name(0), kTuples / 256, 256, {in.get(), out.get()});
  return kept_of(c, out.download()).bytes();
}

std::vector<std::string> read(const std::string& path) {
  const Golden golden = read_golden(path, all_cases());
  std::vector<std::string> out;
  for (const Case& c : all_cases()) out.push_back(golden.by_line.at(c.line).bytes());
  return out;
}

void write(const std::string& path, const std::vector<std::string>& results) {
  const Platform p = platform();
  write_golden(path, all_cases(), results,
               {{"device", p.device}, {"driver", p.driver}, {"date", p.date}, {"assembler", "the driver's"}});
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  using namespace conformance;
  return gpu_suite_main({"scalar", all_cases().size(), [](size_t i) { return all_cases()[i].text; }, run, read, write},
                        argc, argv);
}
