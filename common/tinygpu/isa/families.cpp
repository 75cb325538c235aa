#include "common/tinygpu/isa/families.h"

#include <unordered_map>

namespace tinygpu::isa::TINYGPU_ISA_LEVEL {

namespace {

class LevelSet final : public InstructionSet {
 public:
  LevelSet() {
    for (Table t : {
#define TINYGPU_TABLE(name) name##_table(),
             TINYGPU_FAMILIES(TINYGPU_TABLE)
#undef TINYGPU_TABLE
         })
      for (const Entry* e = t.begin; e != t.end; ++e) by_opcode_.emplace(e->opcode, e->decode);
  }
  DecodeFn find(std::string_view opcode) const override {
    auto it = by_opcode_.find(opcode);
    return it == by_opcode_.end() ? nullptr : it->second;
  }
  ExecFn internal(std::string_view name) const override { return internal_executor(name); }

 private:
  std::unordered_map<std::string_view, DecodeFn> by_opcode_;
};

}  // namespace

}  // namespace tinygpu::isa::TINYGPU_ISA_LEVEL

#define TINYGPU_CONCAT2(a, b) a##b
#define TINYGPU_CONCAT(a, b) TINYGPU_CONCAT2(a, b)
/// The level's only symbol that leaves its relocatable object (isa/CMakeLists.txt localises the rest).
extern "C" const tinygpu::InstructionSet* TINYGPU_CONCAT(tinygpu_isa_, TINYGPU_ISA_LEVEL)() {
  static const tinygpu::isa::TINYGPU_ISA_LEVEL::LevelSet set;
  return &set;
}
