// One tcgen05.mma from issue to accumulators: where its operands lie, what it does to Tensor Memory, what it costs.
// PTX ISA 9.7.16.10; data-path layouts: spec tcgen05_mma.md 5.3.
#pragma once
#include <array>
#include <cstdint>

#include "common/tinygpu/engines/matrix_descriptor.h"
#include "common/tinygpu/engines/tensor_core.h"
#include "common/tinygpu/engines/tensor_memory.h"

namespace tinygpu {

/// What a tcgen05.mma names: operand values of the issuing thread.
struct MmaRequest {
  MmaKind kind = MmaKind::f16;
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
  std::array<uint32_t, 4> disable_lane{};  // bit i of word w: lane 32 w + i keeps its cells
};

/// Checks everything that can be checked at issue and queues the operation on the CTA's tensor core. Operands are read
/// and accumulators written when the queue executes it. cta_group::1, dense, not .ws. Faults: "instruction-descriptor",
/// "matrix-descriptor", "tmem-…", "mma-…".
void issue_mma(Cta& cta, Domain& domain, const Origin& who, const MmaRequest& request, uint64_t now);

/// Lane offset of row `r` of D (and of A in Tensor Memory): layout D for M = 128, layout F for M = 64.
constexpr uint32_t mma_lane(uint32_t m, uint32_t r) { return m == 64 ? r / 16 * 32 + r % 16 : r; }

/// Cycles of one tcgen05.mma by the profile's closed forms (keys "tcgen05.mma.…").
struct MmaTime {
  double interval = 0;  // until the unit takes the next one
  double latency = 0;   // issue until a program that waits for its commit goes on
};
MmaTime mma_time(const MachineSpec& spec, int cta_group, uint32_t m, uint32_t n, bool a_in_tmem);

}  // namespace tinygpu
