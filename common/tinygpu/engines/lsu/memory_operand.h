// What the load/store unit needs of an instruction with an address: its state space, its memory order, its addresses.
#pragma once
#include "common/tinygpu/machine/warp/warp.h"
#include "common/tinygpu/ptx/memory_order.h"
#include "common/tinygpu/ptx/types.h"

namespace tinygpu {

/// True for the windows that .shared, .shared::cta and .shared::cluster address.
inline bool is_shared(ptx::Space s) {
  return s == ptx::Space::shared || s == ptx::Space::shared_cta || s == ptx::Space::shared_cluster;
}

/// The details (Op::get) of every instruction with one address operand begin with this. Op::a is the slot of the base
/// register, Op::imm the displacement.
struct MemoryOperand {
  ptx::Space space;
  bool wide;               // the base is 64 bits wide
  bool strong;             // an ordered load or store: its global lanes wait for the serial phase
  ptx::MemoryOrder order;  // of loads, stores and atomics
  bool cached;             // a load that allocates in L1
};
inline const MemoryOperand& memory_operand(const Op& op) { return op.get<MemoryOperand>(); }

/// One address per lane, of all 32 lanes.
inline void lane_addresses(Warp& w, const Op& op, uint64_t* out) {
  if (op.a == kNoSlot) {
    for (int i = 0; i < 32; ++i) out[i] = uint64_t(op.imm);
  } else if (memory_operand(op).wide) {
    const uint64_t* base = w.at<uint64_t>(op.a);
    for (int i = 0; i < 32; ++i) out[i] = base[i] + uint64_t(op.imm);
  } else {
    const uint32_t* base = w.at<uint32_t>(op.a);
    for (int i = 0; i < 32; ++i) out[i] = uint32_t(base[i] + uint32_t(op.imm));
  }
}

}  // namespace tinygpu
