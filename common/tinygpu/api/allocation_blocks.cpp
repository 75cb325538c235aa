#include "common/tinygpu/api/allocation_blocks.h"

#include "common/tinygpu/machine/memory/allocation_blocks.h"

namespace tinygpu::api {

void set_allocation_blocks(uint64_t bytes) { tinygpu::set_allocation_blocks(bytes); }

}  // namespace tinygpu::api
