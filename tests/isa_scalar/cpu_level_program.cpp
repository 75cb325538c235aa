// Must print nothing: isa/cpu_level.cpp, compiled for a level that no processor has, ends it before its own code runs.
#include <cstdio>

struct Early {
  Early() { std::puts("a static object was made"); }
} early;

int main() { std::puts("main ran"); }
