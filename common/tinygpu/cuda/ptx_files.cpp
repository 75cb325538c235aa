#include "common/tinygpu/cuda/ptx_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/cuda/unwritable.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cuda {
namespace {

constexpr uint64_t kLargest = uint64_t(1) << 28;  // bytes of a file

/// FNV-1a, 64 bits.
uint64_t hash_of(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

}  // namespace

void exchange_ptx(std::string& text, const std::string& dump_to, const std::string& replace_from) {
  const std::filesystem::path to = dump_to, from = replace_from;
  if (to.empty() && from.empty()) return;
  const std::string name = fmt::format("{:016x}.ptx", hash_of(text));
  if (!to.empty()) {
    std::error_code none;
    std::filesystem::create_directories(to, none);
    std::ofstream out(to / name, std::ios::binary);
    if (!(out << text).flush()) say_unwritable((to / name).string());
  }
  if (from.empty()) return;
  const std::string file = (from / name).string();
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
