#include "common/tinygpu/timing/mbarrier.h"

namespace tinygpu {

MBarrierTiming::MBarrierTiming(const MachineSpec& s)
    : arrive(uint32_t(s.number("mbarrier.arrive"))),
      arrive_release(uint32_t(s.number("mbarrier.arrive.release"))),
      expect(uint32_t(s.number("mbarrier.expect_tx"))),
      ready(uint32_t(s.number("mbarrier.try_wait.ready"))),
      answer(uint32_t(s.number("mbarrier.try_wait.answer"))),
      spin(uint32_t(s.number("mbarrier.spin"))),
      spin_end(uint32_t(s.number("mbarrier.spin.end"))),
      hint(uint32_t(s.number("mbarrier.try_wait.hint"))),
      wake(uint32_t(s.number("mbarrier.wake"))),
      remote_hop(uint32_t(s.number("mbarrier.remote_hop"))),
      wait_limit(uint64_t(s.number("mbarrier.try_wait.limit") * s.clock_ghz)) {}

}  // namespace tinygpu
