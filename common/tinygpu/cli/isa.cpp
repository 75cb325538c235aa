// gen5 isa [FAMILY]: every form of every instruction, which targets and PTX versions have it, and whether it executes
// here.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/ptx/forms.h"
#include "common/tinygpu/ptx/opcodes.h"

namespace tinygpu::cli {
namespace {

using ptx::forms::Form;

bool modelled(std::string_view opcode) { return isa::instruction_set().find(opcode) != nullptr; }

std::string targets_of(const Form& f) { return f.targets.empty() ? "all targets" : std::string(f.targets); }

void list_families() {
  int executed = 0;
  fmt::print("{:<32} {:>5}  {:<9} {}\n", "family", "forms", "executes", "since");
  for (std::string_view opcode : ptx::kOpcodes) {
    const std::vector<const Form*> forms = ptx::forms::forms_of(opcode);
    ptx::forms::Version since{99, 0};
    for (const Form* f : forms) since = std::min(since, f->since);
    executed += modelled(opcode);
    fmt::print("{:<32} {:>5}  {:<9} {}\n", opcode, forms.empty() ? "-" : std::to_string(forms.size()),
               modelled(opcode) ? "yes" : "no",
               forms.empty() ? "not in the table: only its syntax is checked"
                             : fmt::format("PTX {}.{}", since.major, since.minor));
  }
  fmt::print(
      "\n{} families, {} execute. Forms, versions and targets are those that ptxas 13.0.88 takes.\n"
      "`gen5 isa FAMILY` shows a family's forms; `gen5 explain 'INSTRUCTION'` reads one instruction.\n",
      ptx::kOpcodes.size(), executed);
}

int show_family(const std::string& name) {
  int shown = 0;
  for (std::string_view opcode : ptx::kOpcodes) {
    // A family, or all that begin with its words: "tcgen05" shows every tcgen05 instruction.
    if (opcode != name && !(opcode.starts_with(name) && opcode[name.size()] == '.')) continue;
    ++shown;
    fmt::print("{}{}  ({})\n", shown > 1 ? "\n" : "", opcode,
               modelled(opcode) ? "executes" : "parsed, not modelled: executing it stops the kernel");
    const std::vector<const Form*> forms = ptx::forms::forms_of(opcode);
    if (forms.empty()) fmt::print("    not in the table of forms: only its syntax is checked\n");
    for (const Form* f : forms)
      fmt::print("    {}\n        {}\n        PTX {}.{}; {}\n", f->modifiers.empty() ? "(no modifiers)" : f->modifiers,
                 f->operands.empty() ? "(no operands)" : f->operands, f->since.major, f->since.minor, targets_of(*f));
  }
  if (shown == 0) {
    fmt::print(stderr, "gen5: no instruction family '{}'; `gen5 isa` lists them\n", name);
    return 1;
  }
  fmt::print(
      "\nModifiers: [optional]  a|b one of them  name=… names a choice  <x behind the one before it  x&y x needs y "
      "beside it.\n"
      "Operands: d=TYPE result  a:TYPE source  T the first type written, T1 the second  [a:SPACE] address  "
      "{{a:TYPE*n}} vector\n"
      "          a:TYPE(limits of a literal)  x? may be left out  x?MODIFIER stands with that modifier.\n");
  return 0;
}

}  // namespace

void add_isa(CLI::App& app) {
  auto family = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand(
      "isa", "List the instruction forms: legal modifiers and operands, versions, targets, executed or not");
  sub->add_option("FAMILY", *family, "A family such as mbarrier.try_wait, or its first words such as tcgen05");
  sub->callback([family] {
    if (family->empty())
      list_families();
    else if (const int rc = show_family(*family))
      throw CLI::RuntimeError(rc);
  });
}

}  // namespace tinygpu::cli
