// Prints the highest x86-64 level that this machine has. Run when the build is configured.
#include <cstdio>
#include <initializer_list>

#include "common/tinygpu/isa/cpu_level.h"

int main() {
  const char* highest = "";
  for (const char* level : {"v2", "v3", "v4"})
    if (tinygpu::isa::cpu_has(level)) highest = level;
  std::fputs(highest, stdout);
}
