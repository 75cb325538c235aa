// The project's own files, for tests that read them.
#pragma once
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace repo {

inline const std::filesystem::path root = GEN5_SOURCE;

inline std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Files below `folder` (relative to the root) with one of the extensions, as relative paths.
inline std::vector<std::filesystem::path> files(const std::string& folder, const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::exists(root / folder)) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder))
    for (const std::string& e : extensions)
      if (entry.path().extension() == e) found.push_back(std::filesystem::relative(entry.path(), root));
  return found;
}

}  // namespace repo
