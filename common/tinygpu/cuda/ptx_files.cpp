#include "common/tinygpu/cuda/ptx_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "common/tinygpu/base/fnv.h"
#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/cuda/unwritable.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cuda {
namespace {

constexpr uint64_t kLargest = uint64_t(1) << 28;  // bytes of a file

std::string name_of(std::string_view text) {
  return fmt::format("{:016x}.ptx", fnv1a({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
}

}  // namespace

std::string dump_ptx(std::string_view text, const std::string& folder) {
  const std::string name = name_of(text);
  const std::filesystem::path to = folder;
  std::error_code none;
  std::filesystem::create_directories(to, none);
  std::ofstream out(to / name, std::ios::binary);
  if (!(out << text).flush()) say_unwritable((to / name).string());
  return name;
}

void exchange_ptx(std::string& text, const std::string& dump_to, const std::string& replace_from) {
  if (!dump_to.empty()) dump_ptx(text, dump_to);
  if (replace_from.empty()) return;
  const std::string file = (std::filesystem::path(replace_from) / name_of(text)).string();
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return;
  std::string why;
  const auto bytes = image::read_regular_file(file, kLargest, why);
  if (!bytes) return print_error(fmt::format("tinygpu: {} cannot be read: {}\n", file, why));
  text.assign(bytes->begin(), bytes->end());
  print_error(fmt::format("tinygpu: this program's PTX was replaced by {}\n", file));
}

std::optional<std::string> kept_ptx(std::string_view cubin) {
  const std::filesystem::path folder = variable("GEN5_KEPT_PTX");
  if (folder.empty()) return std::nullopt;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder, none)) {
    if (file.path().extension() != ".cubin" || file.file_size(none) < cubin.size()) continue;
    std::string why;
    const auto bytes = image::read_regular_file(file.path(), kLargest, why);
    // What a fat binary holds may be padded behind the file's end, or the file behind what it holds.
    if (!bytes || bytes->size() < cubin.size() ||
        !std::equal(cubin.begin(), cubin.end(), bytes->begin(), [](char a, uint8_t b) { return uint8_t(a) == b; }))
      continue;
    std::filesystem::path ptx = file.path();
    if (const auto text = image::read_regular_file(ptx.replace_extension(".ptx"), kLargest, why))
      return std::string(text->begin(), std::find(text->begin(), text->end(), 0));
  }
  return std::nullopt;
}

}  // namespace tinygpu::cuda
