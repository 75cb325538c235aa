// The CUDA sources that a program's line information names.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinygpu::diagnosis {

/// The text of a file, or nothing where it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Lines of files; each file is read once.
class SourceFiles {
 public:
  explicit SourceFiles(ReadFile read) : read_(std::move(read)) {}
  /// Line `number`, from 1 on, its first 400 bytes; nothing where there is none.
  std::optional<std::string_view> line(const std::string& path, int number);

 private:
  struct File {
    std::string text;
    std::vector<size_t> starts;  // of its lines
  };
  const ReadFile read_;
  std::map<std::string, std::optional<File>> files_;
};

}  // namespace tinygpu::diagnosis
