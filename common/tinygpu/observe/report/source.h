// The CUDA lines that a profile names.
#pragma once
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/observe/profile.h"

namespace tinygpu::observe {

/// The text of a file, or nothing where it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

class SourceFiles {
 public:
  explicit SourceFiles(ReadFile read) : read_(std::move(read)) {}
  /// Line `number`, from 1 on; nothing where there is none.
  std::optional<std::string_view> line(const std::string& path, int number);

 private:
  struct File {
    std::string text;
    std::vector<size_t> starts;  // of its lines
  };
  const ReadFile read_;
  std::map<std::string, std::optional<File>> files_;
};

/// The lines of a kernel's files that cost something, with some around them, each file with its lines in order:
/// [{"file", "lines": [[number, text], …]}]. Files that cannot be read are not among them.
nlohmann::ordered_json source_of(const KernelProfile& kernel, SourceFiles& files);

}  // namespace tinygpu::observe
