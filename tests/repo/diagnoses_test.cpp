// The table of diagnoses (common/tinygpu/diagnosis) and the places that report: every code has its story, no story is
// left of a code that no source gives, and severities agree. Chapters' mistakes and the note name codes that exist.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "common/tinygpu/diagnosis/diagnoses.h"
#include "tests/repo/source_files.h"

namespace {

using tinygpu::Severity;
namespace diagnosis = tinygpu::diagnosis;

/// Which argument of a call is the code, and with which severity the call reports.
struct Reporter {
  size_t code;
  std::optional<Severity> severity;  // none: an argument says it
  bool strict = false;               // a warning, or an error in strict runs
};

const std::map<std::string, Reporter> kReporters = {
    {"fault", {1, Severity::error}},   {"report", {1, std::nullopt}}, {"tmem_violation", {1, Severity::warning, true}},
    {"illegal", {1, Severity::error}}, {"say", {0, Severity::error}}, {"who_waits", {0, std::nullopt}}};

/// What the sources say of a code.
struct Given {
  std::set<Severity> severities;
  bool strict = false;
  bool any = false;  // some place computes the severity, or it cannot be read here
};

/// Without comments; strings stay.
std::string code_of(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    // A ' between digits parts them.
    const bool character = text[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])));
    if (text[i] == '"' || character) {
      const char quote = text[i];
      out += text[i++];
      while (i < text.size() && text[i] != quote) {
        if (text[i] == '\\') out += text[i++];
        if (i < text.size()) out += text[i++];
      }
      out += quote;
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
      out += '\n';
    } else {
      out += text[i];
    }
  }
  return out;
}

/// The arguments of the call whose opening parenthesis is at `at`.
std::vector<std::string> arguments(const std::string& text, size_t at) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool quoted = false;
  for (size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') out.back() += text[i++];
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '(' || c == '{' || c == '[') {
      if (depth++ == 0) continue;
    } else if (c == ')' || c == '}' || c == ']') {
      if (--depth == 0) return out;
    } else if (c == ',' && depth == 1) {
      out.emplace_back();
      continue;
    }
    out.back() += text[i];
  }
  return out;
}

/// The string literals in `text` that match `pattern` as a whole.
std::set<std::string> literals(const std::string& text, const std::string& pattern) {
  std::set<std::string> out;
  const std::regex literal("\"(" + pattern + ")\"");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), literal); it != std::sregex_iterator(); ++it)
    out.insert((*it)[1]);
  return out;
}

std::set<Severity> severities_in(const std::string& text) {
  std::set<Severity> out;
  if (text.find("Severity::error") != std::string::npos) out.insert(Severity::error);
  if (text.find("Severity::warning") != std::string::npos) out.insert(Severity::warning);
  if (text.find("Severity::note") != std::string::npos) out.insert(Severity::note);
  return out;
}

class Diagnoses : public testing::Test {
 protected:
  // What the sources give, by code.
  static std::map<std::string, Given> given() {
    std::map<std::string, Given> found;
    int calls = 0;
    for (const char* layer : {"machine", "engines", "isa", "cuda", "check"})
      for (const auto& file : repo::files(std::string("common/tinygpu/") + layer, {".h", ".cpp"})) {
        if (file.filename().string().starts_with("codes_")) continue;  // the table itself
        const std::string text = code_of(repo::read(repo::root / file));
        calls += calls_in(text, file.string(), found);
        // However else a code comes into a diagnosis, it is a string of words that are joined by dashes …
        for (const std::string& code : literals(text, "[a-z]+[a-z0-9]*(?:-[a-z]+)+")) note(found, code, file.string());
        // … or it is set by hand, an error if nothing else is said just behind it.
        const std::regex by_hand("(?:\\.code = |KernelFault\\(\\{)\"([^\"]+)\"(?:,\\s*\\.severity = ([^,]*),)?");
        for (auto it = std::sregex_iterator(text.begin(), text.end(), by_hand); it != std::sregex_iterator(); ++it) {
          Given& g = note(found, (*it)[1], file.string());
          const auto said = severities_in((*it)[2]);
          if (!said.empty())
            g.severities.insert(said.begin(), said.end());
          else if ((*it)[2].matched)
            g.any = true;
          else
            g.severities.insert(Severity::error);
        }
        // … or it stands before its severity: {"code", Severity::error}.
        const std::regex with_severity("[({]\"([a-z0-9-]+)\",([^;{}]*Severity::[a-z]+[^;{}]*)[;}]");
        for (auto it = std::sregex_iterator(text.begin(), text.end(), with_severity); it != std::sregex_iterator();
             ++it)
          for (const Severity s : severities_in((*it)[2])) note(found, (*it)[1], file.string()).severities.insert(s);
      }
    EXPECT_GT(calls, 150) << "the calls that report are written differently by now: teach this test";
    return found;
  }

 private:
  static Given& note(std::map<std::string, Given>& found, const std::string& code, const std::string& file) {
    EXPECT_TRUE(diagnosis::find_code(code))
        << file << " gives \"" << code << "\", which common/tinygpu/diagnosis/codes_*.h do not have";
    return found[code];
  }

  static int calls_in(const std::string& text, const std::string& file, std::map<std::string, Given>& found) {
    int calls = 0;
    const std::regex call("\\b(fault|report|tmem_violation|illegal|say|who_waits)\\(");
    for (auto it = std::sregex_iterator(text.begin(), text.end(), call); it != std::sregex_iterator(); ++it) {
      const Reporter& reporter = kReporters.at((*it)[1]);
      const std::vector<std::string> a = arguments(text, size_t(it->position(0) + it->length(0) - 1));
      // Other functions of that name; and who hands a whole diagnosis on, in one argument of two.
      if (a.size() <= reporter.code || ((*it)[1] == "report" && a.size() == 2)) continue;
      // Declarations, and functions that pass a code on.
      static const std::regex passed("\\s*(?:std::string|const char\\s*\\*|std::move\\()?\\s*\\(?code\\)?\\s*");
      if (std::regex_match(a[reporter.code], passed)) continue;
      const std::set<std::string> codes = literals(a[reporter.code], "[a-z0-9-]+");
      EXPECT_FALSE(codes.empty()) << file << ": which code is it in " << it->str() << a[0] << ", " << a[reporter.code]
                                  << " …?";
      for (const std::string& code : codes) {
        Given& g = note(found, code, file);
        if (reporter.severity)
          g.severities.insert(*reporter.severity);
        else if (const auto said = severities_in(a[0]); !said.empty())
          g.severities.insert(said.begin(), said.end());
        else
          g.any = true;
        g.strict |= reporter.strict;
        ++calls;
      }
    }
    return calls;
  }
};

TEST_F(Diagnoses, TheTableAndTheSourcesAgree) {
  const std::map<std::string, Given> found = given();
  for (const diagnosis::CodeInfo& c : diagnosis::all_codes()) {
    const auto it = found.find(std::string(c.code));
    if (it == found.end()) {
      ADD_FAILURE() << c.code << " stands in the table, and no source gives it";
      continue;
    }
    const Given& g = it->second;
    for (Severity s : g.severities)
      EXPECT_TRUE(c.severities.has(s)) << c.code << " is given as " << diagnosis::words(diagnosis::Severities(s))
                                       << ", the table says " << diagnosis::words(c.severities);
    for (Severity s : {Severity::error, Severity::warning, Severity::note})
      EXPECT_TRUE(g.any || !c.severities.has(s) || g.severities.count(s))
          << "no source gives " << c.code << " as " << diagnosis::words(diagnosis::Severities(s));
    EXPECT_EQ(c.severities.strict(), g.strict) << c.code << ": given by tmem_violation or not";
  }
}

TEST_F(Diagnoses, SentencesEndAndLinesAreShort) {
  for (const diagnosis::CodeInfo& c : diagnosis::all_codes()) {
    for (std::string_view text : {c.what, c.rule.text, c.fix.text, c.hardware.text})
      EXPECT_TRUE(text.empty() || text.back() == '.' || text.back() == '?') << c.code << ": " << text;
    EXPECT_LE(c.what.size(), 120u) << c.code << ": too long for a line of a list";
    EXPECT_TRUE(c.rule.section.empty() ||
                std::regex_match(std::string(c.rule.section), std::regex("[5-9](\\.[0-9]+)+ \\S.*")))
        << c.code << ": " << c.rule.section;
    std::stringstream lines{std::string(c.fix.example)};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << c.code << ": " << line;
  }
}

TEST_F(Diagnoses, CodesThatAreWrittenAlike) {
  EXPECT_EQ(diagnosis::nearest_codes("tmem-leek", 1).at(0), "tmem-leak");
  EXPECT_EQ(diagnosis::nearest_codes("mbarier-over-arival", 1).at(0), "mbarrier-over-arrival");
  EXPECT_EQ(diagnosis::nearest_codes(std::string(1 << 20, '-'), 3).size(), 3u);
}

// notes/mistakes.md quotes `gen5 explain --codes`; a quotation may end early, so each code is looked for.
TEST_F(Diagnoses, TheNoteHasThemAll) {
  const std::string text = repo::read(repo::root / "notes/mistakes.md");
  for (const diagnosis::CodeInfo& c : diagnosis::all_codes())
    EXPECT_NE(text.find("\n  " + std::string(c.code) + " "), std::string::npos)
        << c.code << " is missing: copy the output of `gen5 explain --codes` into notes/mistakes.md";
}

// What mistakes.txt promises are codes of the table, or one of the two other ends (common/harness/mistake.h).
TEST_F(Diagnoses, MistakesPromiseCodesThatExist) {
  const std::regex field("\\n(says|may): ([^\\n]*)"), code("[a-z0-9-]+");
  int promised = 0;
  for (const auto& file : repo::files("chapters", {".txt"})) {
    if (file.filename().string().find("mistakes") == std::string::npos) continue;
    const std::string text = repo::read(repo::root / file);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), field); it != std::sregex_iterator(); ++it) {
      const std::string says = (*it)[2];
      if (says == "wrong numbers" || says == "not diagnosed yet") continue;
      for (auto c = std::sregex_iterator(says.begin(), says.end(), code); c != std::sregex_iterator(); ++c, ++promised)
        EXPECT_TRUE(diagnosis::find_code(c->str())) << file << ": " << c->str();
    }
  }
  EXPECT_GE(promised, 60);
}

}  // namespace
