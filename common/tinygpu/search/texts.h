// Files of the source tree that are built in: the templates, and the headers that programs made of them include.
#pragma once
#include <span>
#include <string_view>

namespace tinygpu::search::texts {

struct File {
  std::string_view path, text;
};
std::span<const File> files();

}  // namespace tinygpu::search::texts
