// One thread, with a stack as large as the link says, and C's floating-point environment.
#include "common/tinygpu/base/clean_thread.h"

namespace tinygpu {

void on_clean_thread(FunctionRef<void()> f) { f(); }

std::optional<pthread_t> start_thread(void* (*)(void*), void*) { return std::nullopt; }

}  // namespace tinygpu
