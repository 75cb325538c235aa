#include "common/tinygpu/cuda/shared_pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tinygpu::cuda {

SharedPages::SharedPages(uint64_t bytes) : file_(memfd_create("tinygpu", MFD_CLOEXEC)) {
  if (file_ < 0 || ftruncate(file_, off_t(bytes)) == 0) return;
  close(file_);
  file_ = -1;
}

SharedPages::~SharedPages() {
  if (file_ >= 0) close(file_);
}

bool SharedPages::appear_at(uint8_t* where, uint64_t bytes) const {
  return file_ >= 0 &&
         mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_, 0) != MAP_FAILED;
}

void SharedPages::vanish_from(uint8_t* where, uint64_t bytes) {
  mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

}  // namespace tinygpu::cuda
