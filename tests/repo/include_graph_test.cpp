// The design's rule "dependencies point downward only", held over the include graph.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/repo/source_files.h"

namespace {

using Layers = std::set<std::string>;

/// Which layers each layer may include, besides itself.
const std::map<std::string, Layers> kAllowed = {
    {"common/tinygpu/base", {}},
    {"common/tinygpu/numerics", {}},
    {"common/tinygpu/ptx", {"common/tinygpu/base"}},
    {"common/tinygpu/program", {"common/tinygpu/ptx", "common/tinygpu/base"}},
    {"common/tinygpu/timing", {"common/tinygpu/program", "common/tinygpu/ptx", "common/tinygpu/base"}},
    {"common/tinygpu/machine",
     {"common/tinygpu/diagnosis", "common/tinygpu/timing", "common/tinygpu/program", "common/tinygpu/ptx",
      "common/tinygpu/base"}},
    {"common/tinygpu/diagnosis", {"common/tinygpu/base"}},
    {"common/tinygpu/check",
     {"common/tinygpu/engines", "common/tinygpu/machine", "common/tinygpu/timing", "common/tinygpu/program",
      "common/tinygpu/ptx", "common/tinygpu/base"}},
    {"common/tinygpu/observe",
     {"common/tinygpu/diagnosis", "common/tinygpu/engines", "common/tinygpu/machine", "common/tinygpu/timing",
      "common/tinygpu/program", "common/tinygpu/ptx", "common/tinygpu/base"}},
    {"common/tinygpu/engines",
     {"common/tinygpu/machine", "common/tinygpu/program", "common/tinygpu/ptx", "common/tinygpu/base",
      "common/tinygpu/numerics", "common/tinygpu/timing"}},
    {"common/tinygpu/isa",
     {"common/tinygpu/engines", "common/tinygpu/machine", "common/tinygpu/program", "common/tinygpu/ptx",
      "common/tinygpu/base", "common/tinygpu/numerics", "common/tinygpu/timing"}},
    {"common/tinygpu/image", {"common/tinygpu/timing", "common/tinygpu/program", "common/tinygpu/base"}},
    // The machine as a library: what runs kernels includes this, and nothing of the inside.
    {"common/tinygpu/api",
     {"common/tinygpu/image", "common/tinygpu/isa", "common/tinygpu/engines", "common/tinygpu/machine",
      "common/tinygpu/program", "common/tinygpu/ptx", "common/tinygpu/base", "common/tinygpu/timing",
      "common/tinygpu/check", "common/tinygpu/observe", "common/tinygpu/diagnosis", "common/tinygpu/numerics"}},
    // Its side in the program looks at the machine's state; the other side includes nothing of the machine, and of
    // observe the page alone, which knows nothing of it either.
    {"common/tinygpu/debug",
     {"common/tinygpu/api", "common/tinygpu/engines", "common/tinygpu/machine", "common/tinygpu/program",
      "common/tinygpu/ptx", "common/tinygpu/base", "common/tinygpu/numerics", "common/tinygpu/diagnosis",
      "common/tinygpu/image", "common/tinygpu/observe"}},
    {"common/tinygpu/cuda",
     {"common/tinygpu/api", "common/tinygpu/debug", "common/tinygpu/image", "common/tinygpu/base",
      "common/tinygpu/observe", "common/tinygpu/diagnosis"}},
    {"common/tinygpu/search", {"common/tinygpu/timing", "common/tinygpu/diagnosis", "common/tinygpu/base"}},
    {"common/tinygpu/cli",
     {"common/tinygpu/cuda", "common/tinygpu/debug", "common/tinygpu/search", "common/tinygpu/api",
      "common/tinygpu/image", "common/tinygpu/isa", "common/tinygpu/engines", "common/tinygpu/program",
      "common/tinygpu/ptx", "common/tinygpu/base", "common/tinygpu/timing", "common/tinygpu/diagnosis",
      "common/tinygpu/observe"}},
    // What kernels encode and what the machine decodes share nothing, and no chapter knows where it runs.
    {"common/layout", {}},
    {"common/ptx", {}},
    {"common/kernels", {"common/layout", "common/ptx"}},
    {"common/harness", {"common/layout"}},
    {"chapters", {"common/harness", "common/kernels", "common/layout", "common/ptx"}},
    {"probes", {"common/harness", "common/layout", "common/ptx"}},
};

/// What a layer may not include, but does so far: {file, included}.
const std::set<std::pair<std::string, std::string>> kStill = {
    // Grids that streams, graphs and events order run without the library's own queue.
    {"common/tinygpu/cuda/submitted.cpp", "common/tinygpu/machine/chip/device_launches.h"},
    {"common/tinygpu/cuda/submitted.cpp", "common/tinygpu/machine/chip/grid_scheduler.h"},
};

std::string layer_of(const std::string& path) {
  std::string best;
  for (const auto& [layer, unused] : kAllowed)
    if (path.rfind(layer + "/", 0) == 0 && layer.size() > best.size()) best = layer;
  return best;
}

TEST(IncludeGraph, PointsDownward) {
  const std::regex include(R"(#include\s*"([^"]+)\")");
  int seen = 0;
  for (const char* folder : {"common", "chapters", "probes"})
    for (const auto& file : repo::files(folder, {".h", ".cpp", ".cu", ".cuh", ".inc"})) {
      const std::string layer = layer_of(file.string());
      ASSERT_FALSE(layer.empty()) << file << " lies in no layer that this test knows";
      const std::string text = repo::read(repo::root / file);
      for (auto it = std::sregex_iterator(text.begin(), text.end(), include); it != std::sregex_iterator(); ++it) {
        const std::string target = (*it)[1];
        if (!std::filesystem::exists(repo::root / target)) continue;  // generated, or beside the file
        const std::string other = layer_of(target);
        ++seen;
        EXPECT_TRUE(other == layer || kAllowed.at(layer).count(other) || kStill.count({file.string(), target}))
            << file << " includes " << target;
      }
    }
  EXPECT_GT(seen, 100);
}

// Project includes are written from the root, so that the test above sees them all.
TEST(IncludeGraph, IncludesAreWrittenFromTheRoot) {
  const std::regex include(R"(#include\s*"([^"]+)\")");
  for (const char* folder : {"common", "chapters", "probes"})
    for (const auto& file : repo::files(folder, {".h", ".cpp", ".cu", ".cuh"})) {
      const std::string text = repo::read(repo::root / file);
      for (auto it = std::sregex_iterator(text.begin(), text.end(), include); it != std::sregex_iterator(); ++it) {
        const std::string target = (*it)[1];
        if (std::filesystem::exists((repo::root / file).parent_path() / target)) {
          EXPECT_TRUE(std::filesystem::exists(repo::root / target))
              << file << " includes \"" << target << "\" from beside itself";
        }
      }
    }
}

// std::regex asks the locale for a facet by number. Where a compiler links libstdc++ into the machine's library beside
// the shared one of libfmt and libtbb, the numbers differ, and a host thread crashes.
TEST(IncludeGraph, TheMachineUsesNoStdRegex) {
  for (const auto& file : repo::files("common/tinygpu", {".h", ".cpp", ".inc"}))
    EXPECT_EQ(repo::read(repo::root / file).find("#include <regex>"), std::string::npos) << file;
}

// A function that is compiled for several levels crashes under ThreadSanitizer before main(); clones.h knows that.
TEST(IncludeGraph, OneHeaderMakesClones) {
  const std::string attribute = std::string("gnu::target") + "_clones";
  for (const char* folder : {"common", "chapters", "tests", "probes"})
    for (const auto& file : repo::files(folder, {".h", ".cpp", ".cu", ".cuh"}))
      if (file != "common/harness/clones.h") {
        EXPECT_EQ(repo::read(repo::root / file).find(attribute), std::string::npos) << file;
      }
}

}  // namespace
