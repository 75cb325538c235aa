// Every family's table, one per file of isa/. A new file adds its name here.
#pragma once
#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

// clang-format off
#define TINYGPU_FAMILIES(X)                                                                                 \
  X(approx) X(arithmetic) X(atomics) X(barriers) X(bulk_copy) X(cluster) X(compare) X(control) X(convert)   \
  X(cp_async) X(fences) X(launch_control) X(load_store) X(logic) X(matrix) X(mbarrier) X(mma_sparse)        \
  X(mma_sync) X(move) X(multimem) X(packed) X(st_async) X(tcgen05_alloc) X(tcgen05_commit)                  \
  X(tcgen05_cp_shift) X(tcgen05_ld_st) X(tcgen05_mma) X(tensor_copy) X(tensormap) X(texture) X(video)       \
  X(warp_ops) X(wgmma) X(wmma)
// clang-format on

#define TINYGPU_DECLARE(name) Table name##_table();
TINYGPU_FAMILIES(TINYGPU_DECLARE)
#undef TINYGPU_DECLARE

/// Executors of the lowering's own ops (Decoder: InstructionSet::internal): special.cpp.
ExecFn internal_executor(std::string_view name);

}  // namespace tinygpu::isa
