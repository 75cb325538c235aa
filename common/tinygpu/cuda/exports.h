// Every name that NVIDIA's library exports (export_names.cmake) is exported here too, so that any program links and
// loads. A function without an implementation says its name on stderr and returns NOT_SUPPORTED: these definitions are
// weak, an implementation replaces them. Per-thread-stream variants are jumps to the plain function: work runs when it
// is submitted, so both are the same.
#pragma once

namespace tinygpu::cuda {
/// Names the function on stderr; the code of NOT_SUPPORTED, which both APIs share. (error.h is not included here:
/// cuda.h renames functions by macros, and the lists need the names of the library.)
int say_not_implemented(const char* function);
}  // namespace tinygpu::cuda

#define TINYGPU_EXPORT(name)                   \
  extern "C" __attribute__((weak)) int name(); \
  extern "C" __attribute__((weak)) int name() { return tinygpu::cuda::say_not_implemented(#name); }

#define TINYGPU_EXPORT_PER_THREAD(name, suffix)                                                               \
  asm(".text\n.globl " #name #suffix "\n.type " #name #suffix ", @function\n" #name #suffix ":\n  jmp " #name \
      "@PLT\n.size " #name #suffix ", . - " #name #suffix "\n");

#define TINYGPU_VERSIONED(name, current)
