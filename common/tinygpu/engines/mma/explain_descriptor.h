// Descriptors in words: what `gen5 explain --smem-desc` and `--instr-desc` print.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/tinygpu/engines/mma/instruction_descriptor.h"

namespace tinygpu {

/// How a matrix descriptor is to be read. Without `rows` the picture shows 8 rows of M or N.
struct ExplainOperand {
  bool wgmma = false;
  bool mn_major = false;
  uint32_t element_bytes = 2;
  uint32_t rows = 8;
};

/// Every field with its bits and its meaning for this major-ness, what is illegal, the bytes that one instruction reads
/// from first to last, and a table of the shared offsets of the operand's 16-byte pieces.
std::string explain_matrix_descriptor(uint64_t raw, const ExplainOperand& operand);

/// Every field with its bits and meaning, what is illegal, and what the instruction reads and writes: bytes of each
/// operand, lanes and columns of D.
std::string explain_instruction_descriptor(uint32_t raw, MmaKind kind, const MmaForm& form);

}  // namespace tinygpu
