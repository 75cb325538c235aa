// Machine code of a cubin, as far as program/sass/sass_code.h needs it. NVIDIA does not document the encoding; what is
// read here agrees with what nvdisasm prints of the same bytes (tests/cuda): 16 bytes an instruction, the operation in
// the lowest nine bits, a branch's distance, and the compiler's control bits. Anything unknown is an instruction that
// takes its turn at the issue port.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "common/tinygpu/image/elf.h"
#include "common/tinygpu/program/sass/sass_code.h"

namespace tinygpu::image {

/// By function name. Empty if `cubin` is no CUDA ELF, or for a GPU before sm_90.
std::map<std::string, std::shared_ptr<const SassCode>> read_machine_code(Bytes cubin);

/// The instructions in `code`, the contents of a .text section.
SassCode read_instructions(Bytes code);

}  // namespace tinygpu::image
