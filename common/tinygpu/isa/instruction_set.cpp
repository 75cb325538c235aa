#include "common/tinygpu/isa/instruction_set.h"

#include <array>
#include <ranges>

#include "common/tinygpu/isa/lanewise.h"

namespace tinygpu::isa {
namespace {

class Families final : public InstructionSet {
 public:
  Families() {
    require_cpu_level();
    for (const Table& t : {
#define TINYGPU_TABLE(name) name##_table(),
             TINYGPU_FAMILIES(TINYGPU_TABLE)
#undef TINYGPU_TABLE
         }) {
      for (const LanewiseForm& f : t.forms) {
        std::span<const LanewiseForm>& forms = forms_[size_t(f.opcode)];
        forms = {forms.empty() ? &f : forms.data(), &f + 1};
        DecodeFn& decoder = decoders_[size_t(f.opcode)];
        if (!decoder) decoder = decode_form;
      }
      for (const Entry& e : t.entries) decoders_[size_t(e.opcode)] = e.decode;
    }
  }
  DecodeFn find(ptx::Opcode opcode) const override { return decoders_[size_t(opcode)]; }
  std::span<const LanewiseForm> forms(ptx::Opcode opcode) const { return forms_[size_t(opcode)]; }
  ExecFn internal(std::string_view name) const override { return internal_executor(name); }

 private:
  std::array<DecodeFn, ptx::kOpcodes> decoders_ = {};
  std::array<std::span<const LanewiseForm>, ptx::kOpcodes> forms_ = {};
};

const Families& families() {
  static const Families all;
  return all;
}

bool has_all(const ptx::Instruction& inst, std::string_view modifiers) {
  for (const auto word : std::views::split(modifiers, ' '))
    if (!inst.has({word.begin(), word.end()})) return false;
  return true;
}

}  // namespace

void decode_form(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  for (const LanewiseForm& f : families().forms(d.inst->opcode))
    if (has_all(*d.inst, f.modifiers))
      return decode_lanewise(d, op, f.executor(t), f.cost == CostClass::alu ? alu_cost(t) : f.cost);
  d.not_modelled();
}

const InstructionSet& instruction_set() { return families(); }

}  // namespace tinygpu::isa
