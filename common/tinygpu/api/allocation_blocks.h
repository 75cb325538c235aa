// Whoever allocates for the program gives whole blocks of memory.
#pragma once
#include <cstdint>

namespace tinygpu::api {

/// Blocks of so many bytes: what is accessed behind an allocation's end, but in its last block, is told and goes on.
void set_allocation_blocks(uint64_t bytes);

}  // namespace tinygpu::api
