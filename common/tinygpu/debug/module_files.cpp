#include "common/tinygpu/debug/module_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>

namespace tinygpu::debug {
namespace {

constexpr std::string_view kSuffix = ".ptx";

}  // namespace

void keep_module(const std::string& socket, std::string_view ptx) {
  if (ptx.find(".debug_info") == ptx.npos) return;
  // A run that is repeated loads it again, as may a snapshot meanwhile: the file appears as a whole.
  const std::string path = fmt::format("{}.{:016x}", socket, std::hash<std::string_view>{}(ptx));
  std::ofstream(path, std::ios::binary) << ptx;
  std::error_code none;
  std::filesystem::rename(path, path + std::string(kSuffix), none);
}

std::vector<std::string> kept_modules(const std::string& socket) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(socket).parent_path(), none))
    if (file.path().extension() == kSuffix) out.push_back(file.path().string());
  std::ranges::sort(out);
  return out;
}

}  // namespace tinygpu::debug
