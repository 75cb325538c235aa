// Every family's table, one per file of isa/. A new file adds its name here.
#pragma once
#include <array>
#include <span>

#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// An opcode with a decode function of its own.
struct Entry {
  Opcode opcode;
  DecodeFn decode;
};

/// How an instruction is executed: the function that the interpreter calls, and the types of the sources that it reads.
struct Executor {
  ExecFn fn = nullptr;
  std::array<ptx::Type, 4> sources{};
};

/// One function that an opcode may stand for (lanewise.h). Forms of an opcode stand together; the first whose modifiers
/// an instruction has is taken.
struct LanewiseForm {
  Opcode opcode;
  std::string_view modifiers;  // with spaces between them
  Executor (*executor)(ptx::Type);
  CostClass cost;  // alu: of 64-bit types alu64
};
/// Decodes an instruction by the forms of its opcode.
void decode_form(Decoder& d, Op& op);

/// What a family has; defined at the end of the family's file.
struct Table {
  std::span<const Entry> entries;
  std::span<const LanewiseForm> forms = {};
};

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
