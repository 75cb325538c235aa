// Every family's table, one per file of isa/. A new file adds its line here and in families.cpp's list.
#pragma once
#include "common/tinygpu/isa/lanes.h"

TINYGPU_ISA_BEGIN

#define TINYGPU_FAMILIES(X)                                                                                        \
  X(arithmetic)                                                                                                    \
  X(packed)                                                                                                        \
  X(logic)                                                                                                         \
  X(compare)                                                                                                       \
  X(move) X(convert) X(approx) X(load_store) X(atomics) X(cp_async) X(fences) X(control) X(barriers) X(warp_ops)   \
      X(matrix) X(mma_sync) X(mbarrier) X(bulk_copy) X(tensor_copy) X(tensormap) X(cluster) X(st_async)            \
          X(launch_control) X(tcgen05_alloc) X(tcgen05_ld_st) X(tcgen05_cp_shift) X(tcgen05_mma) X(tcgen05_commit) \
              X(wgmma) X(video) X(wmma) X(mma_sparse) X(multimem) X(texture)

#define TINYGPU_DECLARE(name) Table name##_table();
TINYGPU_FAMILIES(TINYGPU_DECLARE)
#undef TINYGPU_DECLARE

/// Executors of the lowering's own ops (Decoder: InstructionSet::internal): special.cpp.
ExecFn internal_executor(std::string_view name);

TINYGPU_ISA_END
