// What one instruction does to registers, as its decode function declared it.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/ptx/module.h"

namespace tinygpu {

struct Touch {
  std::vector<uint32_t> uses, defs;
  std::vector<uint32_t> steers;                  // of the uses: guards, addresses, targets
  std::vector<uint32_t> async_uses, async_defs;  // read, written when the operation executes
  int channel = -1;                              // of async_uses and async_defs
  int commits = -1;                              // channel whose operations it closes into a group
  int waits = -1;                                // channel that it waits for
  uint32_t left = 0;                             // groups that the wait leaves in flight
  bool guarded = false;                          // it may do nothing of that
};

/// Instructions whose results, through whatever is computed from them, become guards, addresses or targets. Where a
/// register is written does not matter: what once steers counts everywhere.
std::vector<bool> find_steering(const std::vector<Touch>& touches);

struct Flow;
/// Per register: it has one value in all lanes of a warp that run together, as far as ptxas can prove it.
std::vector<bool> find_uniform(const ptx::Function& f, const Flow& flow, const std::vector<Touch>& touches);
/// The same of an operand, or of the base of an address.
bool is_uniform(const ptx::Operand& o, const std::vector<bool>& uniform_registers);

/// Per block: it branches to itself and carries no register from one turn to the next.
std::vector<bool> find_spins(const Flow& flow, const std::vector<Touch>& touches);

}  // namespace tinygpu
