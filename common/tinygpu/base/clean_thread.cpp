#include "common/tinygpu/base/clean_thread.h"

#include <signal.h>

#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace tinygpu {
namespace {

constexpr size_t kRoom = size_t(2) << 20, kStack = size_t(8) << 20;

class CleanFloats {
 public:
  CleanFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~CleanFloats() { std::fesetenv(&before_); }
  CleanFloats(const CleanFloats&) = delete;
  CleanFloats& operator=(const CleanFloats&) = delete;

 private:
  std::fenv_t before_;
};

struct Stack {
  uintptr_t begin = 0, end = 0;
};

Stack stack_of_this_thread() {
  Stack out;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes)) return out;
  void* begin = nullptr;
  size_t size = 0;
  if (!pthread_attr_getstack(&attributes, &begin, &size)) {
    out.begin = reinterpret_cast<uintptr_t>(begin);
    out.end = out.begin + size;
  }
  pthread_attr_destroy(&attributes);
  return out;
}

/// False also where this is another stack than the thread's, such as a coroutine's.
bool has_room() {
  static thread_local const Stack stack = stack_of_this_thread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > stack.begin && here < stack.end && here - stack.begin >= kRoom;
}

struct Call {
  FunctionRef<void()> f;
  std::exception_ptr thrown;

  void run() {
    try {
      const CleanFloats floats;
      f();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
};

/// False if there is no such thread.
bool run_elsewhere(Call& call) {
  const auto thread = start_thread(
      [](void* to) -> void* {
        static_cast<Call*>(to)->run();
        return nullptr;
      },
      &call);
  return thread && !pthread_join(*thread, nullptr);
}

}  // namespace

void on_clean_thread(FunctionRef<void()> f) {
  Call call{f, nullptr};
  if (has_room() || !run_elsewhere(call)) call.run();
  if (call.thrown) std::rethrow_exception(call.thrown);
}

std::optional<pthread_t> start_thread(void* (*f)(void*), void* to) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes)) return std::nullopt;
  pthread_attr_setstacksize(&attributes, kStack);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int failed = pthread_create(&thread, &attributes, f, to);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (failed) return std::nullopt;
  return thread;
}

}  // namespace tinygpu
