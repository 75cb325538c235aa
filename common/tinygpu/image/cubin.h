// What ptxas wrote into a cubin about its kernels. tinygpu runs the PTX beside it, but how many registers a thread
// needs on the chip only ptxas knows, and occupancy depends on it.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "common/tinygpu/image/elf.h"

namespace tinygpu::image {

struct CubinKernel {
  uint32_t registers = 0;    // EIATTR_REGCOUNT
  uint32_t frame_bytes = 0;  // EIATTR_FRAME_SIZE: local memory per thread of the function's own frame
};

/// By function name, from the section .nv.info. Empty if `cubin` is no CUDA ELF; numbers that no kernel can have are
/// left out.
std::map<std::string, CubinKernel> read_cubin(Bytes cubin);

}  // namespace tinygpu::image
