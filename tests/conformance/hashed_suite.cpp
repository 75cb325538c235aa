#include "tests/conformance/hashed_suite.h"

#include <algorithm>
#include <optional>

#include "tests/conformance/on_gpu.h"

namespace conformance::warp {
namespace {

/// Cases that follow each other share a module: compiling one by one takes longer than running them.
class Runner {
 public:
  explicit Runner(const std::vector<Case>& cases) : cases_(cases) {}
  std::string run(size_t n) {
    const size_t first = n / kTogether * kTogether;
    if (!module_ || first != first_) {
      module_.emplace(module_text(cases_, first, std::min(first + kTogether, cases_.size()), "sm_90a"));
      first_ = first;
    }
    const Case& c = cases_[n];
    gen5::harness::DeviceBuffer<uint32_t> in(operands_of(c)), out(result_words(c));
    out.fill(0);
    module_->launch(kernel_name(n), kCtas, unsigned(c.threads), {in.get(), out.get()});
    return hashes_of(c, out.download());
  }

 private:
  static constexpr size_t kTogether = 40;
  const std::vector<Case>& cases_;
  std::optional<PtxModule> module_;
  size_t first_ = 0;
};

}  // namespace

int hashed_suite_main(const std::string& name, const std::vector<Case>& cases, int argc, char** argv) {
  Runner runner(cases);
  const auto write = [&](const std::string& path, const std::vector<std::string>& results) {
    const Platform p = platform();
    write_hashed(path, cases, results,
                 {{"device", p.device}, {"driver", p.driver}, {"date", p.date}, {"assembler", "the driver's"}});
  };
  return gpu_suite_main(
      {name, cases.size(), [&](size_t i) { return cases[i].name; }, [&](size_t i) { return runner.run(i); },
       [&](const std::string& path) { return read_hashed(path, cases).cases; }, write},
      argc, argv);
}

}  // namespace conformance::warp
