// NVIDIA's runtime where a program has linked it statically, as nvcc does unless it is told otherwise. What it asks of
// the driver is not public (cuGetExportTable); but its functions lie in the program under the names that everybody
// knows.
#pragma once
#include <string>
#include <vector>

#include "common/tinygpu/image/elf.h"

namespace tinygpu::cuda {

struct StaticRuntime {
  std::vector<image::Elf::Function> functions;  // of the runtime's API, internal entry points of nvcc's code included
  std::string why_not;                          // they cannot be replaced; empty: they can
};
/// What of it a program or library has. `links_it`: it has device code and does not link the runtime dynamically.
StaticRuntime find_static_runtime(const image::Elf& file, bool links_it);

}  // namespace tinygpu::cuda
