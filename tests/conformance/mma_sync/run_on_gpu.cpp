// Runs the warp conformance cases on the GPU of this machine: conformance_mma_sync --check h200.golden.zst
#include "tests/conformance/mma_sync/golden.h"
#include "tests/conformance/on_gpu.h"

namespace conformance::warp {
namespace {

std::string run(size_t n) {
  const std::vector<Case>& all = all_cases();
  const Case& c = all[n];
  const PtxModule module(module_text(all, n, n + 1, "sm_90a"));
  gen5::harness::DeviceBuffer<uint32_t> in(operands_of(c)), out(result_words(c));
  out.fill(0);
  module.launch(kernel_name(n), kCtas, unsigned(c.threads), {in.get(), out.get()});
  return kept_of(c, out.download()).bytes();
}

std::vector<std::string> read(const std::string& path) {
  std::vector<std::string> out;
  for (const Golden::Results& r : read_golden(path).cases) out.push_back(r.bytes());
  return out;
}

void write(const std::string& path, const std::vector<std::string>& results) {
  const Platform p = platform();
  write_golden(path, results,
               {{"device", p.device}, {"driver", p.driver}, {"date", p.date}, {"assembler", "the driver's"}});
}

}  // namespace
}  // namespace conformance::warp

int main(int argc, char** argv) {
  namespace w = conformance::warp;
  return conformance::gpu_suite_main(
      {"mma_sync", w::all_cases().size(), [](size_t i) { return w::all_cases()[i].name; }, w::run, w::read, w::write},
      argc, argv);
}
