// An instruction's facts stand once, in common/tinygpu/ptx: elsewhere nothing decides by an opcode's text.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/repo/source_files.h"

namespace {

/// The names in ptx/opcodes.def that have more than one word, and what they begin with: "cp.async.bulk", "cp.async",
/// "cp".
std::set<std::string> names_of_opcodes() {
  std::set<std::string> names;
  const std::string table = repo::read(repo::root / "common/tinygpu/ptx/opcodes.def");
  const std::regex row("OPCODE\\([a-z0-9_]+, +\"([^\"]+)\"");
  for (auto it = std::sregex_iterator(table.begin(), table.end(), row); it != std::sregex_iterator(); ++it) {
    std::string name = (*it)[1];
    if (name.find('.') == std::string::npos) continue;  // "add", "min": modifiers have such names too
    for (; !name.empty(); name.resize(name.rfind('.') == std::string::npos ? 0 : name.rfind('.'))) names.insert(name);
  }
  return names;
}

TEST(OpcodeText, DecidesNothingOutsideThePtxLayer) {
  const std::set<std::string> names = names_of_opcodes();
  ASSERT_GT(names.size(), 80u);
  // A comparison with a literal, and a search for one at either end.
  const std::regex decides("[!=]= *\"([^\"]+)\"|\"([^\"]+)\" *[!=]=|(?:starts_with|ends_with|rfind)\\(\"([^\"]+)\"");
  int seen = 0;
  for (const auto& file : repo::files("common/tinygpu", {".h", ".cpp"})) {
    if (file.string().starts_with("common/tinygpu/ptx/")) continue;
    // A line at a time: std::regex calls itself for every character of a literal, and AddressSanitizer's frames are
    // large.
    std::istringstream text(repo::read(repo::root / file));
    for (std::string line; std::getline(text, line);)
      for (auto it = std::sregex_iterator(line.begin(), line.end(), decides); it != std::sregex_iterator(); ++it) {
        ++seen;
        std::string literal;
        for (size_t i = 1; i < it->size(); ++i) literal += (*it)[i].str();
        while (literal.ends_with('.')) literal.pop_back();
        EXPECT_FALSE(names.contains(literal))
            << file << " decides by \"" << literal << "\": ask the instruction's Opcode or its traits";
      }
  }
  EXPECT_GT(seen, 100) << "comparisons are written differently by now: teach this test";
}

}  // namespace
