// The commonest access to global memory: a weak load or store of all 32 lanes, one behind the other.
#pragma once
#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// What lane 0 names, if all lanes take part, `bytes` each, and name bytes of one allocation, aligned and without gaps;
/// the access has been charged then as resolve() and finish_access() do. Null: nothing has happened, and they must look
/// (where observers are told of it, always). `space`: any.
uint8_t* dense_global(Warp& w, const Op& op, ptx::Space space, uint32_t bytes, bool load);

}  // namespace tinygpu::isa
