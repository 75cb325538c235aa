#include "common/tinygpu/cli/program_check.h"

#include <algorithm>

#include "common/tinygpu/cuda/static_runtime.h"
#include "common/tinygpu/image/fatbin.h"

namespace tinygpu::cli {

namespace {

bool needs(const image::Elf& elf, std::string_view library) {
  const auto needed = elf.dynamic_strings();
  return std::any_of(needed.begin(), needed.end(), [&](const std::string& n) { return n.starts_with(library); });
}

/// Kinds of device code that a program carries.
struct DeviceCode {
  bool any = false, ptx = false;
};
DeviceCode device_code(const image::Elf& elf) {
  DeviceCode out;
  for (const char* name : {".nv_fatbin", "__nv_relfatbin"})
    if (const image::Elf::Section* section = elf.section(name))
      for (const image::FatbinEntry& e : image::read_fatbin_section(section->bytes)) {
        out.any = true;
        out.ptx |= e.kind == image::FatbinEntry::Kind::ptx;
      }
  return out;
}

}  // namespace

ProgramCheck check_program(image::Bytes file) {
  ProgramCheck out;
  const auto elf = image::Elf::read(file);
  if (!elf) return out;
  DeviceCode code;
  try {
    code = device_code(*elf);
  } catch (const image::FatbinError& e) {
    out.why_not = std::string("its device code cannot be read: ") + e.what();
    return out;
  }
  const bool driver = needs(*elf, "libcuda.so");
  if (!needs(*elf, "libcudart.so")) {
    const cuda::StaticRuntime runtime = cuda::find_static_runtime(*elf, code.any && !driver);
    out.static_runtime = !runtime.functions.empty();
    out.why_not = driver ? "" : runtime.why_not;
  }
  // A program that calls the driver may bring its PTX otherwise: nvcc puts some machine code into each.
  if (out.why_not.empty() && code.any && !code.ptx && !driver)
    out.why_not =
        "it carries machine code (cubin) only, and tinygpu runs PTX; rebuild it with "
        "-gencode arch=compute_100a,code=[sm_100a,compute_100a]";
  return out;
}

}  // namespace tinygpu::cli
