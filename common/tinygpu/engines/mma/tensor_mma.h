// One tcgen05.mma from issue to accumulators: what it names, and its way into the tensor core's queue (tensor_mma.cpp);
// what it does to Tensor Memory (mma_execute.cpp). PTX ISA 9.7.16.10.
//
// cta_group::2 is one MMA over two CTAs whose ranks differ in bit 0, whichever of them issues it. Each holds half of
// D's rows, and its shared memory holds the same half of A's rows (at A's descriptor) and half of B's columns (at B's):
// the even CTA the first halves, the odd one the second.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "common/tinygpu/base/function_ref.h"
#include "common/tinygpu/engines/mma/data_path.h"
#include "common/tinygpu/engines/mma/instruction_descriptor.h"
#include "common/tinygpu/engines/mma/scale_factors.h"
#include "common/tinygpu/engines/mma/sparse_metadata.h"
#include "common/tinygpu/engines/mma/tensor_core.h"
#include "common/tinygpu/engines/mma/zero_columns.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"

namespace tinygpu {

/// What a tcgen05.mma names: operand values of the issuing thread.
struct MmaRequest {
  MmaKind kind = MmaKind::f16;
  uint32_t cta_group = 1;
  bool sparse = false, weight_stationary = false;
  uint32_t d = 0;  // Tensor Memory address of the accumulator
  bool a_in_tmem = false;
  uint64_t a = 0;         // descriptor, or Tensor Memory address
  uint64_t b = 0;         // descriptor
  uint32_t metadata = 0;  // .sp: Tensor Memory address
  uint32_t idesc = 0;
  uint32_t scales = 0;                // block-scaled kinds: factors a row
  uint32_t scale_a = 0, scale_b = 0;  // and their Tensor Memory addresses
  bool accumulate = false;            // enable-input-d
  int scale = 0;                      // scale-input-d: D * 2^−scale
  bool shift_a = false;               // .ashift
  /// .collector::a or, of .ws, .collector::bN.
  enum class Collector : uint8_t { discard, fill, use, lastuse } collector = Collector::discard;
  uint8_t buffer = 0;  // 0: of A; 1 to 4: B's buffers b0 to b3
  bool masked = false;
  std::array<uint32_t, 8>
      disable_lane{};         // bit i of word w: lane 32 w + i keeps its cells; from word 4 on the odd CTA's
  uint64_t zero_columns = 0;  // .ws: descriptor of the zero-column mask

  /// "collector::b0".
  std::string collector_name() const;
  MmaForm form() const { return {int(cta_group), sparse, weight_stationary, a_in_tmem, scales}; }
};

/// A checked request: all that execution needs.
struct MmaOperation {
  std::array<Cta*, 2> cta{};  // of the pair: the even one, the odd one
  Origin who;
  MmaRequest request;
  InstructionDescriptor idesc;
  DataPath path;
  OperandLayout a, b;
  ElementPacking a_packing = ElementPacking::natural, b_packing = ElementPacking::natural;
  TmemAddress d, a_tmem, metadata, scale_a, scale_b;  // in range
  ZeroColumnMask zero_columns;
  CollectorFill kept;  // what its collector buffer has been filled with, by itself or one issued before; null: nothing

  /// Of block-scaled kinds, in one CTA.
  ScaleFactors scale_factors(bool of_a) const;
  /// What it touches in Tensor Memory, the same in each CTA.
  struct Cells {
    TmemRects rects;
    bool reads, writes;
    const char* what;
    bool is_operand = true;  // else the accumulator
  };
  void each_cells(FunctionRef<void(const Cells&)> f) const;
};

/// Reads operands, writes accumulators: `who` is the operation. Faults "matrix-out-of-bounds".
void execute_mma(const MmaOperation& o, uint64_t now, const Origin& who);

/// Its accumulators count as written: all that is left of it in a run of the clock alone.
void mark_written(const MmaOperation& o);

/// Checks everything that can be checked at issue and queues the operation on the tensor core. Operands are read and
/// accumulators written when the queue executes it. Faults: "instruction-descriptor", "matrix-descriptor",
/// "zero-column-mask", "tmem-…", "mma-…", "cta-pair-…".
void issue_mma(Cta& cta, SmPartition& partition, const Origin& who, const MmaRequest& request, uint64_t now);

}  // namespace tinygpu
