// Programs call from any thread, and what they have made of it must not change what the machine does.
#pragma once
#include <pthread.h>

#include <optional>

#include "common/tinygpu/base/function_ref.h"

namespace tinygpu {

/// Calls f with room on the stack, where matrix multiplications put their operands, and with C's own floating-point
/// environment: rounding to nearest, subnormals kept, no traps. A program that is linked with -ffast-math has another
/// one. Where the caller's stack is small, or unknown, f runs on another thread, and this waits for it.
void on_clean_thread(FunctionRef<void()> f);

/// Begins a thread with as much room, for f(to), which takes no signals: they are for the program's threads. Nothing
/// where the system has no thread left.
std::optional<pthread_t> start_thread(void* (*f)(void*), void* to);

}  // namespace tinygpu
