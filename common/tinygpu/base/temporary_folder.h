// A folder among the system's temporary files.
#pragma once
#include <filesystem>
#include <string>

namespace tinygpu {

/// A new folder of this process's own, gone with all that is in it when this ends.
class TemporaryFolder {
 public:
  /// `name`: what its name begins with. Where it cannot be made, path() is empty and errno says why.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tinygpu
