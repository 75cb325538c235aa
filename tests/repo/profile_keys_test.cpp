// The machine asks its profile for numbers by name. A name that no profile has would show only when an instruction
// runs.
#include <gtest/gtest.h>

#include <regex>

#include "common/tinygpu/timing/profile.h"
#include "tests/repo/source_files.h"

namespace {

TEST(ProfileKeys, EveryNumberThatTheMachineAsksForIsThere) {
  const tinygpu::MachineSpec b200 = tinygpu::load_profile("b200"), h200 = tinygpu::load_profile("h200");
  const std::regex ask(R"(number\("([a-z0-9_.]+)\"\))");
  int asked = 0;
  for (const auto& file : repo::files("common/tinygpu", {".h", ".cpp"})) {
    const std::string text = repo::read(repo::root / file);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), ask); it != std::sregex_iterator(); ++it) {
      const std::string key = (*it)[1];
      ++asked;
      const bool blackwell_only = key.rfind("tcgen05.", 0) == 0 || key == "peak.f4",
                 hopper_only = key.rfind("wgmma.", 0) == 0;
      EXPECT_TRUE(hopper_only || b200.numbers.count(key)) << file << " asks for \"" << key << "\", b200.json has none";
      EXPECT_TRUE(blackwell_only || h200.numbers.count(key))
          << file << " asks for \"" << key << "\", h200.json has none";
    }
  }
  EXPECT_GT(asked, 10);
}

TEST(ProfileKeys, TheMachineAsksForEveryNumberThatIsThere) {
  std::string sources;
  for (const auto& file : repo::files("common/tinygpu", {".h", ".cpp"})) sources += repo::read(repo::root / file);
  for (const char* name : {"b200", "h200"}) {
    const tinygpu::MachineSpec spec = tinygpu::load_profile(name);
    EXPECT_GT(spec.numbers.size(), 50u);
    for (const auto& [key, unused] : spec.numbers)
      EXPECT_NE(sources.find("(\"" + key + "\")"), std::string::npos)  // number("…"), or a short name of it
          << name << ".json has \"" << key << "\", for which nothing asks";
  }
}

}  // namespace
