// GEN5_CLONES before a function: it is compiled for three levels of x86-64, and the program takes the best that its
// processor has when it starts.
#pragma once

// The function that chooses is called while the program is loaded, before ThreadSanitizer is there; instrumented, it
// crashes.
#if defined(__SANITIZE_THREAD__)
#define GEN5_CLONES
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GEN5_CLONES
#endif
#endif
#ifndef GEN5_CLONES
#define GEN5_CLONES [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#endif
