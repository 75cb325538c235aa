// The zero-column mask of tcgen05.mma.ws (PTX ISA 9.7.16.4.3): columns of B that are taken as zero, and by how many
// columns B is shifted.
#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include "common/tinygpu/engines/mma/matrix_descriptor.h"

namespace tinygpu {

/// The 64-bit descriptor taken apart. Its fields' text calls zeroed columns used and used ones skipped; the manual's
/// own examples and CuTe have it as here: ones, of zeroed columns, come in runs of `skip`, zeros in runs of `use`.
struct ZeroColumnMask {
  uint64_t raw = 0;
  std::array<uint8_t, 4> start{};     // bits of the sequence that are left out at its beginning
  std::array<bool, 4> zeros_first{};  // the sequence begins with a run of zeroed columns
  bool enabled = false;
  uint32_t skip = 1, use = 1;
  uint32_t shift = 0;

  static ZeroColumnMask decode(uint64_t raw);
  /// The columns of D that get zeros: N columns in `parts` sub-masks.
  std::bitset<256> columns(uint32_t n, uint32_t parts) const;
};

/// The first illegal field. `m`: of the MMA; `max_shift`: columns by which the instruction descriptor allows to shift.
std::optional<FieldProblem> check(const ZeroColumnMask& mask, uint32_t m, uint32_t max_shift);

}  // namespace tinygpu
