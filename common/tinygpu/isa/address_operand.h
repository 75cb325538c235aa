// Decoding of the address operand that loads, stores, atomics and their like have.
#pragma once
#include "common/tinygpu/engines/lsu/memory_operand.h"
#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// The state space that an instruction names (PTX ISA 5.1); generic if it names none.
inline ptx::Space space_of(const ptx::Instruction& inst) {
  using ptx::Space;
  for (const auto& m : inst.mods) {
    if (m == "global") return Space::global;
    if (m == "shared") return Space::shared;
    if (m == "shared::cta") return Space::shared_cta;
    if (m == "shared::cluster") return Space::shared_cluster;
    if (m == "local") return Space::local;
    if (m == "param") return Space::param;
    if (m == "param::entry") return Space::param_entry;
    if (m == "param::func") return Space::param_func;
    if (m == "const") return Space::constant;
  }
  return Space::generic;
}

/// Decodes the address operand into op.a, op.imm and MemoryOperand::wide.
inline void decode_address(Decoder& d, Op& op, const ptx::Operand& o) {
  op.edit<MemoryOperand>().wide = decode_base(d, op, o);
}

}  // namespace tinygpu::isa
