#include "common/tinygpu/cli/explain_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "common/tinygpu/base/edit_distance.h"
#include "common/tinygpu/base/wrap.h"
#include "common/tinygpu/diagnosis/diagnoses.h"
#include "common/tinygpu/ptx/opcode.h"

namespace tinygpu::cli {
namespace {

constexpr size_t kIndent = 12;

/// Lines after the first are indented.
std::string indented(std::string_view text, size_t indent) { return wrapped(text, indent, std::string(indent, ' ')); }

void field(std::string_view name, std::string_view text) {
  if (!text.empty()) fmt::print("  {:<{}}{}\n", name, kIndent - 2, indented(text, kIndent));
}

}  // namespace

void list_codes() {
  size_t widest = 0;
  for (const diagnosis::CodeInfo& c : diagnosis::all_codes()) widest = std::max(widest, c.code.size());
  fmt::print("E error   W warning   N note   w warning, and an error with --tmem-checks strict\n");
  for (const diagnosis::Subject& s : diagnosis::subjects()) {
    fmt::print("\n{}\n", s.title);
    for (const diagnosis::CodeInfo& c : s.codes) {
      std::string letters;
      if (c.severities.has(Severity::error)) letters += 'E';
      if (c.severities.has(Severity::warning)) letters += c.severities.strict() ? 'w' : 'W';
      if (c.severities.has(Severity::note)) letters += 'N';
      fmt::print("  {:<{}}  {:<2}  {}\n", c.code, widest, letters, c.what);
    }
  }
  fmt::print("\n`gen5 explain CODE` tells the rule, what hardware does, and the fix, of each of these {}\n",
             diagnosis::all_codes().size());
}

bool is_code(const std::string& word) { return diagnosis::find_code(word); }

bool looks_like_code(const std::string& word) {
  if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos) return false;
  if (word.find('-') != std::string::npos) return true;
  // One word may be an instruction; "dedlock" is none, and nearly a code.
  constexpr size_t kShortest = 5, kErrors = 2;
  return word.size() >= kShortest && ptx::opcode_from_name(word) == ptx::Opcode::unknown &&
         edit_distance(word, diagnosis::nearest_codes(word, 1).front()) <= kErrors;
}

int explain_code(const std::string& code) {
  const diagnosis::CodeInfo* c = diagnosis::find_code(code);
  if (!c) {
    fmt::print("no diagnosis has the code {}; written alike: {}\n", code,
               fmt::join(diagnosis::nearest_codes(code, 3), ", "));
    return 1;
  }
  fmt::print("{}: {}\n\n  {}\n\n", c->code, diagnosis::severity_words(*c), indented(c->what, 2));
  field("rule", c->rule.text);
  if (!c->rule.section.empty()) field("section", fmt::format("PTX ISA 9.1, {}", c->rule.section));
  field("hardware", diagnosis::hardware_words(*c));
  field("fix", c->fix.text);
  if (!c->fix.example.empty()) {
    fmt::print("\n");
    std::string_view lines = c->fix.example;
    while (!lines.empty()) {
      const size_t end = std::min(lines.find('\n'), lines.size());
      fmt::print("{:{}}{}\n", "", kIndent + 2, lines.substr(0, end));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  }
  return 0;
}

}  // namespace tinygpu::cli
