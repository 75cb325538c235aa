#include "common/tinygpu/base/temporary_folder.h"

#include <cstdlib>

namespace tinygpu {

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code none;
  std::string path = (std::filesystem::temp_directory_path(none) / (name + "XXXXXX")).string();
  if (mkdtemp(path.data())) path_ = path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code none;
  if (!path_.empty()) std::filesystem::remove_all(path_, none);
}

}  // namespace tinygpu
