// Virtual registers share slots where their lives do not meet.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/program/allocate/async_registers.h"
#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/flow.h"
#include "common/tinygpu/program/lower/touch.h"

namespace tinygpu {

/// Between these places of the code a register has its slot for itself.
struct RegisterLife {
  uint32_t reg = 0, begin = 0, end = 0;
};

/// Live ranges → slots. A register that an asynchronous operation may still read or write is live until the wait.
struct RegisterPacking {
  std::vector<uint32_t> slot;       // by register id; kNoSlot if never touched
  uint32_t bytes = 0;               // of the packed area
  std::vector<RegisterLife> lives;  // by their begin
  uint32_t live_words = 0;          // most 32-bit words live at once: an estimate of registers per thread
};
/// Throws LinkError if the function is too large for it.
RegisterPacking pack_registers(const ptx::Function& f, const Flow& flow, const std::vector<Touch>& touches,
                               const AsyncRegisters& async, uint32_t first_slot);

}  // namespace tinygpu
