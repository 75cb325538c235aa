// What ThreadSanitizer cannot see by itself: oneTBB comes from the distribution without its instrumentation, so the
// order that its fork and join make is told here. Without the sanitizer these are nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#endif

namespace tinygpu {

/// What happened before happened_before(p) is visible behind a later happened_after(p).
inline void happened_before([[maybe_unused]] void* p) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(p);
#endif
}
inline void happened_after([[maybe_unused]] void* p) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(p);
#endif
}

}  // namespace tinygpu
