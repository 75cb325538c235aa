// The commonest access to global memory: a weak load or store of all 32 lanes, one behind the other.
#pragma once
#include "common/tinygpu/isa/lanes.h"

TINYGPU_ISA_BEGIN

struct DenseGlobal {
  uint8_t* first;  // what lane 0 names
  uint64_t ready;  // when a load's values are there
};

/// True: all lanes take part, `bytes` each, and name bytes of one allocation, aligned and without gaps; the access has
/// been charged as resolve() and access_time() do. False: nothing has happened, and they must look (where observers are
/// told of it, always). `space`: any.
bool dense_global(Warp& w, const Op& op, ptx::Space space, uint32_t bytes, bool load, DenseGlobal& out);

TINYGPU_ISA_END
