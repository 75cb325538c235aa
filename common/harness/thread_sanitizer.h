// GEN5_THREAD_SANITIZER: defined where the compiler instruments for it.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define GEN5_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GEN5_THREAD_SANITIZER
#endif
#endif
