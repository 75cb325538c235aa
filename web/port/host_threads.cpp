// One thread, which is the page's worker.
#include "common/tinygpu/machine/host_threads.h"

namespace tinygpu {

class HostThreads::Pool {};

int host_processors() { return 1; }
uint64_t host_memory() { return uint64_t(2) << 30; }

HostThreads::HostThreads() = default;
HostThreads::~HostThreads() = default;

void HostThreads::run(int, size_t n, const std::function<void(size_t)>& f) {
  for (size_t i = 0; i < n; ++i) f(i);
}

}  // namespace tinygpu
