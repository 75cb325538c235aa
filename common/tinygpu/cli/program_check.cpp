#include "common/tinygpu/cli/program_check.h"

#include <algorithm>

#include "common/tinygpu/cuda/fatbin.h"

namespace tinygpu::cli {

std::string why_not(cuda::Bytes file) {
  const auto elf = cuda::Elf::read(file);
  if (!elf) return {};
  bool device_code = false, ptx = false;
  for (const char* name : {".nv_fatbin", "__nv_relfatbin"}) {
    const cuda::Elf::Section* section = elf->section(name);
    if (!section) continue;
    try {
      for (const cuda::FatbinEntry& e : cuda::read_fatbin_section(section->bytes)) {
        device_code = true;
        ptx |= e.kind == cuda::FatbinEntry::Kind::ptx;
      }
    } catch (const cuda::FatbinError& e) {
      return std::string("its device code cannot be read: ") + e.what();
    }
  }
  if (!device_code) return {};
  const auto needed = elf->dynamic_strings();
  const bool shared = std::any_of(needed.begin(), needed.end(), [](const std::string& n) {
    return n.starts_with("libcudart.so") || n.starts_with("libcuda.so");
  });
  if (!shared)
    return "it has the CUDA runtime linked in statically, so nothing can stand in for it; link it with nvcc -cudart "
           "shared";
  if (!ptx)
    return "it carries machine code (cubin) only, and tinygpu runs PTX; rebuild it with "
           "-gencode arch=compute_100a,code=[sm_100a,compute_100a]";
  return {};
}

}  // namespace tinygpu::cli
