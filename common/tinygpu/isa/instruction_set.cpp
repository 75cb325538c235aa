#include "common/tinygpu/isa/instruction_set.h"

#include <array>

#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {
namespace {

class Families final : public InstructionSet {
 public:
  Families() {
    require_cpu_level();
    for (Table t : {
#define TINYGPU_TABLE(name) name##_table(),
             TINYGPU_FAMILIES(TINYGPU_TABLE)
#undef TINYGPU_TABLE
         })
      for (const Entry* e = t.begin; e != t.end; ++e) by_opcode_[size_t(e->opcode)] = e->decode;
  }
  DecodeFn find(ptx::Opcode opcode) const override { return by_opcode_[size_t(opcode)]; }
  ExecFn internal(std::string_view name) const override { return internal_executor(name); }

 private:
  std::array<DecodeFn, ptx::kOpcodes> by_opcode_ = {};
};

}  // namespace

const InstructionSet& instruction_set() {
  static const Families families;
  return families;
}

}  // namespace tinygpu::isa
