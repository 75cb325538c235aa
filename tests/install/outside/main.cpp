// What an outside project does with an installed gen5: encodes a descriptor, asks the machine for its devices, and
// makes a machine of its own.
#include <cstdio>

#include "common/layout/smem_descriptor.h"
#include "common/tinygpu/api/gen5_machine.h"

extern "C" int cudaGetDeviceCount(int*);

int main() {
  constexpr uint64_t descriptor = gen5::layout::smem_descriptor({.leading = 16, .stride = 1024});
  std::printf("descriptor %llx\n", static_cast<unsigned long long>(descriptor));
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != 0) return 1;
  std::printf("%d device\n", devices);
  gen5_machine* machine = nullptr;
  if (gen5_machine_create("b200", nullptr, &machine) != GEN5_OK) return std::puts(gen5_machine_error()), 1;
  uint64_t address = 0;
  uint32_t word = 0;
  gen5_machine_allocate(machine, sizeof word, &address);
  gen5_machine_fill(machine, address, 0x5a, sizeof word);
  gen5_machine_read(machine, address, &word, sizeof word);
  std::printf("word %x\n", word);
  gen5_machine_destroy(machine);
  return 0;
}
