// One tcgen05.mma from issue to accumulators: where its operands lie, what it does to Tensor Memory, what it costs.
// PTX ISA 9.7.16.10; data-path layouts A to G as CUTLASS names them.
//
// cta_group::2 is one MMA over two CTAs whose ranks differ in bit 0, whichever of them issues it. Each holds half of
// D's rows, and its shared memory holds the same half of A's rows (at A's descriptor) and half of B's columns (at B's):
// the even CTA the first halves, the odd one the second.
#pragma once
#include <array>
#include <cstdint>

#include "common/tinygpu/engines/mma/matrix_descriptor.h"
#include "common/tinygpu/engines/mma/tensor_core.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"

namespace tinygpu {

/// What a tcgen05.mma names: operand values of the issuing thread.
struct MmaRequest {
  MmaKind kind = MmaKind::f16;
  uint32_t cta_group = 1;
  uint32_t d = 0;  // Tensor Memory address of the accumulator
  bool a_in_tmem = false;
  uint64_t a = 0;  // descriptor, or Tensor Memory address
  uint64_t b = 0;  // descriptor
  uint32_t idesc = 0;
  bool accumulate = false;  // enable-input-d
  int scale = 0;            // scale-input-d: D * 2^−scale
  bool shift_a = false;     // .ashift
  enum class Collector : uint8_t { discard, fill, use, lastuse } collector = Collector::discard;
  bool masked = false;
  std::array<uint32_t, 8>
      disable_lane{};  // bit i of word w: lane 32 w + i keeps its cells; from word 4 on the odd CTA's
};

/// Checks everything that can be checked at issue and queues the operation on the tensor core. Operands are read and
/// accumulators written when the queue executes it. Dense, not .ws. Faults: "instruction-descriptor",
/// "matrix-descriptor", "tmem-…", "mma-…", "cta-pair-…".
void issue_mma(Cta& cta, Domain& domain, const Origin& who, const MmaRequest& request, uint64_t now);

}  // namespace tinygpu
