#include "common/tinygpu/cli/modelled.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/program/program.h"

namespace tinygpu::cli {

namespace {

/// Gives variables addresses and no memory: nothing is executed.
class NoStore final : public VariableStore {
 public:
  uint64_t allocate(const std::string&, uint64_t size, uint32_t align, bool, bool) override {
    next_ = (next_ + align - 1) / align * align;
    const uint64_t at = next_;
    next_ += size;
    return at;
  }
  void write(uint64_t, const void*, size_t) override {}

 private:
  uint64_t next_ = 1 << 20;
};

}  // namespace

bool executes(ptx::Module module) {
  NoStore store;
  Program program({std::make_shared<const ptx::Module>(std::move(module))}, isa::instruction_set(), CostTable{}, store);
  const Function* k = program.find("k");
  const ExecFn none = isa::instruction_set().internal("not_modelled");
  return k && std::none_of(k->ops.begin(), k->ops.end(), [&](const Op& op) { return op.fn == none; });
}

}  // namespace tinygpu::cli
