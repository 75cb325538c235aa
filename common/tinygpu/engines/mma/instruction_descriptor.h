// What the tensor core reads out of a tcgen05 instruction descriptor: fields, and what is legal for a kind and a form.
// PTX ISA 9.7.16.4.2 (fields), 9.7.16.2.1 (shapes). The encoding side is common/layout; the two share no code.
#pragma once
#include <cstdint>
#include <optional>

#include "common/tinygpu/engines/mma/matrix_descriptor.h"
#include "common/tinygpu/engines/mma/mma_kind.h"

namespace tinygpu {

/// A 32-bit tcgen05 instruction descriptor taken apart.
struct InstructionDescriptor {
  uint32_t raw = 0;
  MmaKind kind = MmaKind::f16;
  uint8_t sparsity_selector = 0;
  bool sparse = false, saturate = false;
  uint8_t d_code = 0, a_code = 0, b_code = 0;
  bool negate_a = false, negate_b = false;
  bool a_mn_major = false, b_mn_major = false;
  uint32_t n = 0, m = 0;
  uint8_t max_shift = 0;
  uint8_t sfa_id = 0, sfb_id = 0, scale_code = 0;  // block-scaled kinds
  bool k96 = false;                                // mxf4, mxf4nvf4

  static InstructionDescriptor decode(uint32_t raw, MmaKind kind);

  bool block_scaled() const { return info(kind).block_scaled(); }
  bool nibbles() const { return info(kind).nibbles(); }
  /// nullopt: the code is no type of this kind.
  std::optional<numerics::Format> a_type() const;
  std::optional<numerics::Format> b_type() const;
  using Accumulator = MmaAccumulator;
  std::optional<Accumulator> d_type() const;
  /// ue8m0 or ue4m3.
  numerics::Format scale_type() const { return scale_code ? numerics::Format::ue8m0 : numerics::Format::ue4m3; }
  /// K of one instruction.
  uint32_t k() const;
  /// Columns by which .ws may shift B (bits 31:30): 0, 8, 16, 32.
  uint32_t max_shift_columns() const { return max_shift ? 4u << max_shift : 0; }
};

/// How the instruction that carries the descriptor is written.
struct MmaForm {
  int cta_group = 1;
  bool sparse = false, weight_stationary = false, a_in_tmem = false;
  uint32_t scales = 0;  // .scale_vec::NX or its .blockN spelling: N; 0: not looked at
};

/// The first field that is illegal for the form (PTX ISA 9.7.16.4.2, 9.7.16.2: shapes), or nothing.
std::optional<FieldProblem> check(const InstructionDescriptor& d, const MmaForm& form);

}  // namespace tinygpu
