// gen5 isa [FAMILY]: every form of every instruction, which targets and PTX versions have it, and whether it executes
// here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/modelled.h"
#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/ptx/forms.h"
#include "common/tinygpu/ptx/parser.h"

namespace tinygpu::cli {
namespace {

using ptx::forms::Form;

/// Does this form's sample decode to an executor?
bool modelled(const Form& f) {
  if (ptx::forms::sample_instruction(f).empty()) return isa::instruction_set().find(f.opcode) != nullptr;
  return executes(ptx::parse(ptx::forms::sample_module(f)));
}

/// Do this machine's chips have it (sm_90 to sm_110, and what belongs to all targets)?
bool of_this_machine(const Form& f) {
  for (const char* target : {"sm_90a", "sm_100a", "sm_103a", "sm_110a"})
    if (ptx::forms::target_in(f.targets, target)) return true;
  return false;
}

/// Of an opcode's forms that this machine's chips have.
struct Count {
  size_t forms = 0, executed = 0;
};
Count count(ptx::Opcode opcode) {
  Count c;
  for (const Form* f : ptx::forms::forms_of(opcode)) {
    if (!of_this_machine(*f)) continue;
    ++c.forms;
    c.executed += modelled(*f);
  }
  return c;
}

std::string targets_of(const Form& f) { return f.targets.empty() ? "all targets" : std::string(f.targets); }

void list_families() {
  Count all;
  std::vector<std::string_view> missing;
  fmt::print("{:<32} {:>5}  {:<8}  {}\n", "family", "forms", "executed", "since");
  for (size_t k = 1; k < ptx::kOpcodes; ++k) {
    const ptx::Opcode opcode = ptx::Opcode(k);
    const std::string_view text = ptx::name_of(opcode);
    const std::vector<const Form*> forms = ptx::forms::forms_of(opcode);
    if (forms.empty()) {
      const bool part = isa::instruction_set().find(opcode) != nullptr;
      fmt::print("{:<32} {:>5}  {:<8}  only its syntax is checked\n", text, "-", part ? "in part" : "no");
      if (!part) missing.push_back(text);
      continue;
    }
    ptx::forms::Version since{99, 0};
    for (const Form* f : forms) since = std::min(since, f->since);
    const Count c = count(opcode);
    all.forms += c.forms;
    all.executed += c.executed;
    if (c.executed != c.forms) missing.push_back(text);
    fmt::print("{:<32} {:>5}  {:<8}  PTX {}.{}\n", text, c.forms,
               c.forms == 0            ? "other"
               : c.executed == c.forms ? "yes"
               : c.executed == 0       ? "no"
                                       : fmt::format("{}", c.executed),
               since.major, since.minor);
  }
  fmt::print(
      "\n{} rows, the first choice of {} executes; other: only chips that are not modelled have it. Rows, versions and "
      "targets are those of ptxas 13.0.88, and from PTX 9.1 on of 13.5.37.\nNot executed, or not in every form: {}.\n"
      "`gen5 isa FAMILY` shows a family's rows; `gen5 explain 'INSTRUCTION'` reads one instruction.\n",
      all.forms, all.executed, fmt::join(missing, ", "));
}

int show_family(const std::string& name) {
  int shown = 0;
  for (size_t k = 1; k < ptx::kOpcodes; ++k) {
    const ptx::Opcode opcode = ptx::Opcode(k);
    const std::string_view text = ptx::name_of(opcode);
    // A family, or all that begin with its words: "tcgen05" shows every tcgen05 instruction.
    if (text != name && !(text.starts_with(name) && text[name.size()] == '.')) continue;
    ++shown;
    fmt::print("{}{}\n", shown > 1 ? "\n" : "", text);
    const std::vector<const Form*> forms = ptx::forms::forms_of(opcode);
    if (forms.empty()) fmt::print("    not in the table of forms: only its syntax is checked\n");
    for (const Form* f : forms)
      fmt::print("    {}\n        {}\n        PTX {}.{}; {}; {}\n",
                 f->modifiers.empty() ? "(no modifiers)" : f->modifiers,
                 f->operands.empty() ? "(no operands)" : f->operands, f->since.major, f->since.minor, targets_of(*f),
                 !of_this_machine(*f) ? "not of a chip that is modelled"
                 : modelled(*f)       ? "executes"
                                      : "not modelled: executing it stops the kernel");
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
