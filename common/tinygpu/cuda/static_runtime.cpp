#include "common/tinygpu/cuda/static_runtime.h"

#include <algorithm>
#include <cctype>

namespace tinygpu::cuda {

StaticRuntime find_static_runtime(const image::Elf& file, bool links_it) {
  StaticRuntime out;
  const auto api = [](std::string_view name) {
    for (std::string_view stem : {"cuda", "__cuda"})
      if (name.starts_with(stem) && name.size() > stem.size() && std::isupper(uint8_t(name[stem.size()]))) return true;
    return false;
  };
  for (const image::Elf::Function& f : file.functions())
    if (api(f.name)) out.functions.push_back(f);
  const auto has = [&](std::string_view name) {
    return std::any_of(out.functions.begin(), out.functions.end(), [&](const auto& f) { return f.name == name; });
  };
  // Programs have functions with such names of their own. These three no runtime lacks.
  const bool there = has("__cudaRegisterFatBinary") && has("cudaLaunchKernel") && has("cudaGetDeviceProperties");
  if (!there) {
    out.functions.clear();
    if (links_it)
      out.why_not =
          "it has the CUDA runtime linked in statically, and its symbols are stripped, so nothing can stand in for it; "
          "link it with nvcc -cudart shared, or do not strip it";
  } else if (has("cudaGetDeviceProperties_v2")) {  // in CUDA 12 the name without _v2 is another function
    out.functions.clear();
    out.why_not =
        "it has the runtime of CUDA 12 linked in statically, and tinygpu stands in for that of CUDA 13; build it with "
        "CUDA 13";
  }
  return out;
}

}  // namespace tinygpu::cuda
