// Why a program cannot run on tinygpu, found out before it is started.
#pragma once
#include <string>

#include "common/tinygpu/cuda/elf.h"

namespace tinygpu::cli {

/// A sentence that says what to rebuild with, or an empty string. `file`: the program's bytes; what is no ELF file (a
/// script) passes.
std::string why_not(cuda::Bytes file);

}  // namespace tinygpu::cli
