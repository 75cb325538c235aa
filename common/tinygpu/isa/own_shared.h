// The commonest access to shared memory: a load or store of all 32 lanes, in the own CTA's window.
#pragma once
#include "common/tinygpu/isa/lane_pattern.h"

TINYGPU_ISA_BEGIN

struct OwnShared {
  uint8_t* first;  // what lane 0 names
  const LanePattern* lanes;
  uint64_t ready;  // when a load's values are there
};

/// True: all lanes take part, and name shared memory of their own CTA, in bounds and aligned; the access has been
/// checked, watched and charged as resolve() and finish_access() do. False: nothing has happened, and they must look.
/// `space`: any.
bool own_shared_load(Warp& w, const Op& op, ptx::Space space, uint32_t bytes, OwnShared& out);
bool own_shared_store(Warp& w, const Op& op, ptx::Space space, uint32_t bytes, OwnShared& out);

TINYGPU_ISA_END
