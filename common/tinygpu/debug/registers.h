// Registers of a warp's calls, where they hold a value.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu::debug {

/// A call in which lanes of a warp stand.
struct CallPlace {
  const Function* function = nullptr;
  uint32_t pc = 0;  // of callers: the call
  uint32_t register_base = 0, local_base = 0;
};
/// Number 0 is the innermost. Nothing: there are not so many.
std::optional<CallPlace> call_of(const Group& g, size_t number);

class Registers {
 public:
  Registers(const Warp& w, const CallPlace& at);

  /// Where register `reg` of the function is, if it holds a value that is its own: it has been written, will be read,
  /// and no load or MMA is about to write it.
  const RegisterPlace* find(uint32_t reg) const;
  /// The same of the first register of that name that holds one.
  const RegisterPlace* find(const std::string& name) const;
  bool holds(const RegisterPlace& p) const;
  /// Why there is none, as a sentence's end: "%r1 is not written yet, …".
  std::string missing(const std::string& name) const;
  /// All 32 lanes: numbers; of more than 8 bytes hexadecimal digits in the order of memory.
  Json values(const RegisterPlace& p) const;
  /// The bytes of one lane.
  std::string bytes(const RegisterPlace& p, uint32_t lane) const;
  uint32_t word(const RegisterPlace& p, uint32_t lane) const;
  const ptx::Register& declared(const RegisterPlace& p) const { return at_.function->source->registers[p.reg]; }

 private:
  bool stands(const RegisterPlace& p) const { return at_.pc > p.first && at_.pc <= p.last; }
  bool awaited(const RegisterPlace& p) const;
  const uint8_t* slot(const RegisterPlace& p) const;

  const Warp& warp_;
  const CallPlace at_;
  std::set<uint32_t> accumulators_;  // of wgmma that may still run
};

}  // namespace tinygpu::debug
