// What an outside project does with an installed gen5: encodes a descriptor, and asks the machine for its devices.
#include <cstdio>

#include "common/layout/smem_descriptor.h"

extern "C" int cudaGetDeviceCount(int*);

int main() {
  constexpr uint64_t descriptor = gen5::layout::smem_descriptor({.leading = 16, .stride = 1024});
  std::printf("descriptor %llx\n", static_cast<unsigned long long>(descriptor));
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != 0) return 1;
  std::printf("%d device\n", devices);
  return 0;
}
