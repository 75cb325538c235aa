// GEN5_CLONES before a function: it is compiled for three levels of x86-64, and the program takes the best that its
// processor has when it starts.
#pragma once
#include "common/harness/thread_sanitizer.h"

// The function that chooses is called while the program is loaded, before ThreadSanitizer is there; instrumented, it
// crashes.
#ifdef GEN5_THREAD_SANITIZER
#define GEN5_CLONES
#else
#define GEN5_CLONES [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#endif
