// A library to preload, as profilers have: says so in a program that was started again for NVIDIA's runtime.
#include <cstdio>
#include <cstdlib>

__attribute__((constructor)) static void say() {
  if (std::getenv("GEN5_HANDED_OVER")) std::fputs("preloaded again\n", stderr);
}
