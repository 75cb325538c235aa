// Who has done what to an mbarrier: asked when a deadlock is explained, and known by an observer (check/), not by the
// machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/tinygpu/machine/origin.h"

namespace tinygpu {

class Cta;
class Launch;

/// What one instruction of one warp has done to an mbarrier.
struct MbarrierAct {
  enum class Kind : uint8_t {
    arrive,
    expect_tx,
    complete_tx,
    pass,  // a wait that has seen `phase` complete
  } kind = Kind::arrive;
  Origin who;           // of an operation: the thread that issued it
  uint64_t phase = 0;   // the last one in which it did
  uint64_t amount = 0;  // in that phase: arrivals, or bytes; of waits, how many phases they have seen end
  uint64_t time = 0;    // the last time
  std::string what;     // of a copy: its box; empty: not known
};

/// An observer that knows.
class MbarrierActs {
 public:
  virtual ~MbarrierActs() = default;
  /// In the order in which they came first.
  virtual std::vector<MbarrierAct> acts_on(const Cta& cta, uint32_t offset) const = 0;
};

/// What an observer of the launch knows; nothing where none does.
std::vector<MbarrierAct> acts_on(const Launch& launch, const Cta& cta, uint32_t offset);
/// "arrived in phase 3, 2 times", "lands 1024 bytes in phase 0 (box 64 × 8)", at its instruction.
LabelledPlace place_of(const MbarrierAct& act);

}  // namespace tinygpu
