// What the documents tell a reader to type or open must exist.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "tests/repo/source_files.h"

namespace {

const std::vector<std::string> kDocuments = {"README.md", "CONTRIBUTING.md"};

std::set<std::string> all_matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex r(pattern);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), r); it != std::sregex_iterator(); ++it)
    found.insert((*it)[1]);
  return found;
}

TEST(Documents, ScriptsExistAndRun) {
  for (const std::string& document : kDocuments) {
    const std::string text = repo::read(repo::root / document);
    ASSERT_FALSE(text.empty()) << document;
    const auto scripts = all_matches(text, R"((scripts/[a-z_]+))");
    EXPECT_FALSE(scripts.empty()) << document;
    for (const std::string& s : scripts)
      EXPECT_EQ(access((repo::root / s).c_str(), X_OK), 0)
          << document << " names " << s << ", which is not there or not executable";
  }
}

TEST(Documents, RunNamesChapters) {
  for (const std::string& document : kDocuments)
    for (const std::string& name : all_matches(repo::read(repo::root / document), R"(scripts/run ([a-z0-9_]+))")) {
      int fits = 0;
      for (const auto& entry : std::filesystem::directory_iterator(repo::root / "chapters"))
        fits += entry.is_directory() && entry.path().filename().string().find(name) != std::string::npos;
      EXPECT_EQ(fits, 1) << document << ": scripts/run " << name;
    }
}

TEST(Documents, PresetsExist) {
  const std::string presets = repo::read(repo::root / "CMakePresets.json");
  for (const std::string& document : kDocuments)
    for (const std::string& name : all_matches(repo::read(repo::root / document), R"(--preset ([a-z_]+))"))
      EXPECT_NE(presets.find("\"name\": \"" + name + "\""), std::string::npos) << document << ": --preset " << name;
}

TEST(Documents, PathsExist) {
  for (const std::string& document : kDocuments)
    for (const std::string& path :
         all_matches(repo::read(repo::root / document),
                     R"(`((?:chapters|common|probes|tests|notes|cmake)/[A-Za-z0-9_./-]*[A-Za-z0-9_/]))"))
      if (path.back() != '_' && path.find("NN") == std::string::npos && path.find("NAME") == std::string::npos) {
        EXPECT_TRUE(std::filesystem::exists(repo::root / path)) << document << " names " << path;
      }
}

// clang-format moves a ruler's end to a line of its own when the title leaves it no room.
TEST(Documents, RulersInSourcesAreNotBroken) {
  const std::regex torn(R"(\n *// ?-{8,}\n)");
  for (const char* folder : {"common", "chapters", "exercises", "examples", "probes", "tests"})
    for (const auto& file : repo::files(folder, {".h", ".cpp", ".cu", ".cuh"}))
      EXPECT_FALSE(std::regex_search(repo::read(repo::root / file), torn)) << file << ": write `// ---- Title`";
}

// It also cuts a literal of more than 120 columns, which leaves a word or two on a line of their own between full ones.
TEST(Documents, StringsInSourcesAreNotTorn) {
  const std::regex torn(R"(\n *"[^"\\\n]{1,24} "\n *"[^" \n]{0,60} )");
  for (const char* folder : {"common", "chapters", "exercises", "examples", "probes", "tests"})
    for (const auto& file : repo::files(folder, {".h", ".cpp", ".cu", ".cuh"})) {
      const std::string text = repo::read(repo::root / file);
      std::smatch found;
      EXPECT_FALSE(std::regex_search(text, found, torn)) << file << ": fill these lines anew:" << found.str();
    }
}

// What a reader goes through in one sitting; tables of rows and rules of the edges stand in notes/reference/.
TEST(Documents, LessonsAreShort) {
  constexpr int kLines = 145;
  for (const auto& file : repo::files("notes", {".md"})) {
    const std::string name = file.filename(), text = repo::read(repo::root / file);
    if (file.parent_path() != "notes" || !std::isdigit(name[0])) continue;
    EXPECT_LE(std::ranges::count(text, '\n'), kLines)
        << file << ": move tables and rules of the edges to notes/reference/";
  }
}

}  // namespace
