// Why a program cannot run on tinygpu, found out before it is started.
#pragma once
#include <string>

#include "common/tinygpu/image/elf.h"

namespace tinygpu::cli {

struct ProgramCheck {
  std::string why_not;          // what to rebuild with, or empty
  bool static_runtime = false;  // it has the runtime's functions in itself, and they can be replaced
};
/// `file`: the program's bytes; what is no ELF file (a script) passes.
ProgramCheck check_program(image::Bytes file);

}  // namespace tinygpu::cli
