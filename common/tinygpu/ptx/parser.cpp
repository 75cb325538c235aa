#include "common/tinygpu/ptx/parser.h"

#include "common/tinygpu/ptx/parser_impl.h"

namespace tinygpu::ptx {

namespace {

std::string render(const std::string& module, const std::vector<ParseMessage>& messages) {
  std::string s;
  for (const ParseMessage& m : messages) {
    s += module + ":" + std::to_string(m.pos.line) + ":" + std::to_string(m.pos.col) + ": error: " + m.text + "\n";
    if (!m.help.empty()) s += "  help: " + m.help + "\n";
  }
  return s;
}

}  // namespace

ParseError::ParseError(std::string module, std::vector<ParseMessage> m)
    : std::runtime_error(render(module, m)), messages(std::move(m)) {}

std::string_view Instruction::name() const {
  if (opcode != Opcode::unknown) return name_of(opcode);
  std::string_view t = text;
  if (t.starts_with('@')) t.remove_prefix(std::min(t.find(' ') + 1, t.size()));
  return t.substr(0, t.find_first_of(". "));
}

std::string Instruction::spelling() const {
  if (!text.empty()) {
    std::string_view t = text;
    if (t[0] == '@') {  // skip the guard: "@%p1 ", "@!%p1 ", "@ %p1 "
      size_t i = t.find_first_not_of("@! ");
      i = i == std::string_view::npos ? i : t.find(' ', i);
      t = i == std::string_view::npos ? std::string_view{} : t.substr(t.find_first_not_of(' ', i));
    }
    std::string s;
    for (size_t i = 0; i < t.size(); ++i) {
      const char c = t[i];
      if (c == ' ') {  // white space may stand before a modifier's dot
        if (i + 1 < t.size() && t[i + 1] == '.') continue;
        break;
      }
      if (c == '[' || c == '{' || c == '(' || c == ',') break;
      s += c;
    }
    if (!s.empty()) return s;
  }
  std::string s(name_of(opcode));
  for (const std::string& m : mods) s += "." + m;
  return s;
}

Module parse(std::string_view text, const ParseOptions& options) {
  // Fatbins pad PTX with NUL bytes.
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  const std::string owned(text);  // the lexer wants the NUL that std::string keeps behind it
  Parser parser(owned, options);
  return parser.run();
}

}  // namespace tinygpu::ptx
