#include "common/tinygpu/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>

namespace tinygpu {

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / (name + "XXXXXX")).string();
  if (error)
    errno = error.value();
  else if (mkdtemp(path.data()))
    path_ = path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code none;
  if (!path_.empty()) std::filesystem::remove_all(path_, none);
}

}  // namespace tinygpu
