#include "common/tinygpu/debug/progress.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace tinygpu::debug {

Progress* Progress::at(const std::string& socket, bool make) {
  const int fd = open(file_of(socket).c_str(), O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0), 0600);
  if (fd < 0) return nullptr;
  void* page = MAP_FAILED;
  if (!make || ftruncate(fd, sizeof(Progress)) == 0)
    page = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED) return nullptr;
  return make ? new (page) Progress : static_cast<Progress*>(page);
}

}  // namespace tinygpu::debug
