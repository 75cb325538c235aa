// Allocators that give whole blocks: what lies between an allocation's end and its block's end is nobody else's. A
// property of the process's program: torch's allocator gives blocks of 512 bytes.
#pragma once
#include <cstdint>

#include "common/tinygpu/machine/memory/memory.h"

namespace tinygpu {

/// 1: an allocation is what the program asked for.
void set_allocation_blocks(uint64_t bytes);
uint64_t allocation_blocks();
/// Memory for bytes that pass the end of an allocation of the device, or lie behind that of lent host memory (which
/// torch has aligned to 64), but are in its last block; nullptr if they lie elsewhere. What is stored there is kept,
/// and the host's own memory is left alone.
uint8_t* behind_in_block(const GlobalMemory& memory, uint64_t address, uint64_t size);

}  // namespace tinygpu
