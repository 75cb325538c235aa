// Where machine profiles lie, and what is read of them.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "common/tinygpu/timing/profile.h"

namespace tinygpu {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestProfile = 16 << 20;

/// The library or program that this is part of; empty if it is not known.
fs::path own_file() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&load_profile), &info) || !info.dli_fname) return {};
  // A program's is as it was called: a bare name was found on the PATH.
  const bool bare = !std::strchr(info.dli_fname, '/');
  std::error_code failed;
  const fs::path file = fs::canonical(bare ? "/proc/self/exe" : info.dli_fname, failed);
  return failed ? fs::path() : file;
}

std::vector<fs::path> directories() {
  std::vector<fs::path> dirs;
  if (const char* env = std::getenv("GEN5_MACHINE_DIR")) dirs.emplace_back(env);
  dirs.emplace_back(TINYGPU_MACHINE_DIR);
  if (const fs::path here = own_file().parent_path(); !here.empty()) {
    dirs.push_back(here / "machines");
    dirs.push_back(here.parent_path() / "lib/machines");  // of the program in bin/
  }
  return dirs;
}

}  // namespace

Profile read_profile(const std::string& name_or_path) {
  fs::path path = name_or_path;
  const bool is_path = name_or_path.find('/') != std::string::npos || path.extension() == ".json";
  if (!is_path) {
    path.clear();
    for (const fs::path& dir : directories()) {
      std::error_code ignored;
      if (fs::exists(dir / (name_or_path + ".json"), ignored)) {
        path = dir / (name_or_path + ".json");
        break;
      }
    }
    if (path.empty())
      throw ProfileError(fmt::format("no machine is called \"{}\"; known: {}. A path to a profile works too.",
                                     name_or_path, fmt::join(profile_names(), ", ")));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(kLargestProfile + 1, '\0');  // a device may have no end
  in.read(text.data(), std::streamsize(text.size()));
  if (in.bad() || in.gcount() == 0) throw ProfileError(fmt::format("{}: cannot be read", path.string()));
  if (in) throw ProfileError(fmt::format("{}: longer than {} bytes, no profile", path.string(), kLargestProfile));
  text.resize(size_t(in.gcount()));
  return parse_profile(text, path.string());
}

MachineSpec load_profile(const std::string& name_or_path) { return read_profile(name_or_path).spec; }

std::vector<std::string> profile_names() {
  std::set<std::string> names;
  for (const fs::path& dir : directories()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(dir, ignored))
      if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

}  // namespace tinygpu
