#include "common/tinygpu/isa/families.h"

#include <array>

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
      for (const Entry* e = t.begin; e != t.end; ++e) by_opcode_[size_t(e->opcode)] = e->decode;
  }
  DecodeFn find(Opcode opcode) const override { return by_opcode_[size_t(opcode)]; }
  ExecFn internal(std::string_view name) const override { return internal_executor(name); }

 private:
  std::array<DecodeFn, ptx::kOpcodes> by_opcode_ = {};
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
