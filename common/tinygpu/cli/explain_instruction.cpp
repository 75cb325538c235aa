#include "common/tinygpu/cli/explain_instruction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "common/tinygpu/cli/modelled.h"
#include "common/tinygpu/ptx/forms.h"
#include "common/tinygpu/ptx/parser.h"
#include "common/tinygpu/ptx/spelling.h"

namespace tinygpu::cli {
namespace {

/// The register type that a name suggests, in the manner of compilers: %p1 .pred, %rd1 .b64, %f1 .f32 …
std::string_view type_of_name(std::string_view name) {
  const std::string_view stem = name.substr(1, name.find_first_of("0123456789") - 1);
  if (stem == "p") return "pred";
  if (stem == "rd") return "b64";
  if (stem == "rs" || stem == "h") return "b16";
  if (stem == "f") return "f32";
  if (stem == "fd") return "f64";
  if (stem == "rq" || stem == "q") return "b128";
  if (stem == "rc" || stem == "b") return "b8";
  return "b32";
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

/// Declarations for every %name of the instruction that is no special register.
std::string declarations(const std::string& text) {
  std::set<std::string> names;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    size_t end = i + 1;
    while (end < text.size() && in_name(text[end])) ++end;
    names.insert(text.substr(i, end - i));
  }
  std::string out;
  for (const std::string& name : names) {
    if (name.size() < 2) continue;
    // Special registers have no number behind one of the stems above.
    const bool numbered = std::isdigit(static_cast<unsigned char>(name.back())) && name != "%clock64" &&
                          !name.starts_with("%pm") && !name.starts_with("%envreg");
    if (numbered) out += fmt::format(".reg .{} {}; ", type_of_name(name), name);
  }
  return out;
}

/// Names without % in the operands, in order, each once: documents write them so. What is declared
/// here by that name (smem, local, param, L) and labels of branches are none of them.
std::vector<std::string> bare_names(const std::string& text) {
  size_t i = text.find_first_not_of(" \t");
  if (i < text.size() && text[i] == '@') i = text.find_first_of(" \t", i);
  i = text.find_first_not_of(" \t", i);
  const size_t opcode = i;
  i = text.find_first_of(" \t", i);
  std::vector<std::string> names;
  if (i >= text.size()) return names;
  const ptx::Control control = ptx::traits_of(ptx::cut_spelling(text.substr(opcode, i - opcode)).opcode).control;
  if (control != ptx::Control::next && control != ptx::Control::leave) return names;
  while (i < text.size()) {
    if (!in_name(text[i]) && text[i] != '%' && text[i] != '.') {
      ++i;
      continue;
    }
    const size_t begin = i++;
    while (i < text.size() && (in_name(text[i]) || text[i] == '.' || text[i] == ':')) ++i;
    const std::string name = text.substr(begin, i - begin);
    const bool taken = name == "_" || name == "smem" || name == "local" || name == "param" || name == "L";
    if (!taken && std::ranges::all_of(name, in_name) && !std::isdigit(static_cast<unsigned char>(name[0])) &&
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  return names;
}

/// The declaration of a guard without %.
std::string guard(const std::string& text) {
  if (!text.starts_with('@')) return "";
  const size_t begin = text.find_first_not_of("@!");
  if (begin == std::string::npos || !in_name(text[begin])) return "";
  return fmt::format(".reg .pred {}; ", text.substr(begin, text.find_first_of(" \t", begin) - begin));
}

std::string module_of(const std::string& text, const std::string& more, const std::string& target,
                      const std::string& version) {
  return fmt::format(
      ".version {}\n.target {}\n.address_size 64\n.entry k(.param .align 64 .b8 param[128]) {{ {}{}\n"
      ".shared .align 1024 .b8 smem[1024]; .local .align 16 .b8 local[64];\n{};\nL: ret;\n}}\n",
      version, target, declarations(text) + guard(text), more, text);
}

/// Declarations of `names` as registers whose types the instruction takes. Of few names all combinations are tried; of
/// more, or where none fits, each name in turn gets the type that leaves the fewest complaints.
std::string fitting(const std::string& text, const std::vector<std::string>& names, const std::string& target,
                    const std::string& version) {
  constexpr const char* kTypes[] = {"b32", "b64", "pred", "f32", "b16", "f64", "b128"};
  std::vector<size_t> types(names.size(), 0);
  const auto declared = [&] {
    std::string out;
    for (size_t i = 0; i < names.size(); ++i) out += fmt::format(".reg .{} {}; ", kTypes[types[i]], names[i]);
    return out;
  };
  const auto complaints = [&]() -> size_t {
    try {
      ptx::parse(module_of(text, declared(), target, version), {});
      return 0;
    } catch (const ptx::ParseError& e) {
      return e.messages.size();
    }
  };
  if (text.size() > 300) return declared();  // longer than any instruction
  if (names.size() <= 4) {
    const auto next = [&] {
      for (size_t& t : types) {
        if (++t < std::size(kTypes)) return true;
        t = 0;
      }
      return false;
    };
    do {
      if (complaints() == 0) return declared();
    } while (next());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    size_t best = 0, fewest = SIZE_MAX;
    for (size_t type = 0; type < std::size(kTypes); ++type) {
      types[i] = type;
      if (const size_t n = complaints(); n < fewest) {
        fewest = n;
        best = type;
      }
    }
    types[i] = best;
  }
  return declared();
}

}  // namespace

Explained explain_instruction(std::string text, const std::string& target, const std::string& version) {
  while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.back())) || text.back() == ';'))
    text.pop_back();
  const std::vector<std::string> names = bare_names(text);
  const std::string module_text =
      module_of(text, names.empty() ? "" : fitting(text, names, target, version), target, version);
  constexpr uint32_t kLine = 6;
  Explained out;
  const auto say = [&out]<class... T>(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out.text), format, std::forward<T>(values)...);
  };
  say("{}\n", text);
  ptx::ParseOptions options;
  ptx::Module module;
  std::vector<ptx::ParseMessage> messages;
  try {
    module = ptx::parse(module_text, options);
  } catch (const ptx::ParseError& e) {
    messages = e.messages;
    options.check_forms = false;
    try {
      module = ptx::parse(module_text, options);
    } catch (const ptx::ParseError&) {
    }
  }
  for (const ptx::ParseMessage& m : messages) {
    if (m.pos.line == kLine) say("{:>{}}\n", "^", m.pos.col);
    say("error: {}\n", m.text);
    if (!m.help.empty()) say("  help: {}\n", m.help);
  }
  if (module.functions.empty() || module.functions[0]->body.empty()) return out;
  const ptx::Function& f = *module.functions[0];
  const ptx::Instruction& in = f.body[0];
  say("\n  family     {}\n", in.name());
  if (!in.mods.empty()) {
    say("  modifiers ");
    for (const std::string& m : in.mods) say(" .{}", m);
    say("\n");
  }
  if (in.guard >= 0) say("  guard      {}{}\n", in.guard_negated ? "not " : "", f.registers[size_t(in.guard)].name);
  const ptx::forms::Reading reading = ptx::forms::read_instruction(module, f, in);
  for (size_t i = 0; i < reading.operands.size(); ++i)
    say("  {:<10} {}\n", i == 0 ? "operands" : "", reading.operands[i]);
  if (reading.form)
    say("  since      PTX {}.{}\n  targets    {}\n", reading.form->since.major, reading.form->since.minor,
        reading.form->targets.empty() ? "all" : reading.form->targets);
  if (!messages.empty()) {
    if (!ptx::forms::forms_of(in.opcode).empty()) say("\n`gen5 isa {}` lists what is legal\n", in.name());
    return out;
  }
  say("  here       {}\n", executes(std::move(module)) ? "executes" : "not modelled: executing it stops the kernel");
  out.legal = true;
  return out;
}

}  // namespace tinygpu::cli
