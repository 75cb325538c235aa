// How many bits of MMAs' operands and results toggle: what the energy of a multiplication depends on (timing/power.h).
#pragma once
#include <cstdint>

#include "common/tinygpu/base/function_ref.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/numerics/formats.h"

namespace tinygpu {

/// A CTA's sample of its MMAs: the first and every 13th behind it, so that no loop over a few stages hides from it.
class MmaToggle final : public Extension {
 public:
  /// The CTA executes an MMA: is it one that is looked at?
  static bool wants(Cta& cta) { return cta.extensions.get<MmaToggle>().seen_++ % kEvery == 0; }
  /// An operand of one that is: `terms` planes of `rows` elements (numerics::plane_element), row by row.
  static void operand(Cta& cta, const uint8_t* planes, numerics::Format format, uint32_t terms, uint32_t rows);
  /// The same of a register of mma.sync, whose rows are four lanes apart.
  static void operand(Cta& cta, const uint32_t* lanes);
  /// Its results in `columns` that follow each other, `rows` words each, of which `bits` (of 32 at most) count.
  static void results(Cta& cta, uint32_t columns, FunctionRef<const uint32_t*(uint32_t)> column, uint32_t rows,
                      uint32_t bits);

 private:
  static constexpr uint32_t kEvery = 13;
  uint32_t seen_ = 0;
};

}  // namespace tinygpu
