// mbarrier operations. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct MBarrierTiming {
  uint32_t arrive;          // of the issuing warp for a relaxed operation
  uint32_t arrive_release;  // and with release semantics
  uint32_t expect;          // expect_tx, alone or with an arrive
  uint32_t ready;           // test_wait or try_wait on a finished phase: until the next instruction
  uint32_t answer;          // and until its answer is there
  uint32_t spin;            // what ptxas' YIELD adds to a test_wait that is all of a loop
  uint32_t spin_end;        // and leaving the loop to the one that ends it
  uint32_t hint;            // what a time hint adds to a try_wait that gives up
  uint32_t wake;            // completion of a phase until a suspended try_wait returns
  uint32_t remote_hop;      // an operation's way to another CTA
  uint64_t wait_limit;      // that a try_wait without a hint may suspend
  explicit MBarrierTiming(const MachineSpec& spec);
};

}  // namespace tinygpu
