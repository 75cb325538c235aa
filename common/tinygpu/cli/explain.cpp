// gen5 explain: instructions (explain_instruction.h), descriptors (explain_mma.h), codes of diagnoses (explain_code.h).
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/explain_code.h"
#include "common/tinygpu/cli/explain_instruction.h"
#include "common/tinygpu/cli/explain_mma.h"
#include "common/tinygpu/cli/instruction_words.h"
#include "common/tinygpu/ptx/spelling.h"

namespace tinygpu::cli {

void add_explain(CLI::App& app) {
  auto text = std::make_shared<std::string>(), target = std::make_shared<std::string>("sm_100a"),
       version = std::make_shared<std::string>("9.0");
  CLI::App* sub = app.add_subcommand(
      "explain",
      "Explain one PTX instruction: its form, its operands, the targets that have it, or what is wrong with it. Or "
      "explain a diagnosis's code: the rule, what hardware does, and the fix");
  sub->add_option("INSTRUCTION", *text,
                  "The instruction, in quotes; registers are typed by their names (%r .b32, %rd .b64, %p .pred, %f "
                  ".f32 …); names without % take whatever type fits. Or a code, as it stands in brackets in a "
                  "diagnosis: gen5 explain tmem-leak. An opcode alone, as tcgen05.commit, is explained in words");
  auto codes = std::make_shared<bool>(false);
  sub->add_flag("--codes", *codes, "List the codes of all diagnoses, a line each");
  const auto descriptors = add_descriptor_options(*sub);
  sub->add_option("--target", *target, "Target that the instruction is checked for")->capture_default_str();
  sub->add_option("--ptx", *version, "PTX version that the instruction is checked for")->capture_default_str();
  sub->callback([=] {
    const bool asked = explain_descriptors(*descriptors);
    if (*codes) list_codes();
    if (text->empty()) {
      if (!asked && !*codes) throw CLI::RequiredError("INSTRUCTION, CODE, --codes, --smem-desc or --instr-desc");
      return;
    }
    const InstructionWords* const words = words_of(ptx::opcode_from_name(*text));
    if (words) {
      print_words(*words);
      return;
    }
    // trap and brkpt are both: an instruction, and what a kernel that executes it ends with.
    const bool code = is_code(*text) || looks_like_code(*text);
    const bool instruction = !code || ptx::opcode_from_name(*text) != ptx::Opcode::unknown;
    int rc = 0;
    if (instruction) {
      const Explained e = explain_instruction(*text, *target, *version);
      fmt::print("{}", e.text);
      rc = e.legal ? 0 : 1;
    }
    if (instruction && code) fmt::print("\n");
    if (code) rc = std::max(rc, explain_code(*text));
    if (rc) throw CLI::RuntimeError(rc);
  });
}

}  // namespace tinygpu::cli
