#include "common/tinygpu/engines/mbarrier_unit.h"

namespace tinygpu {

MBarrierUnit& MBarrierUnit::of(Warp& w) {
  MBarrierUnit& u = w.sm().extensions.get<MBarrierUnit>();
  if (!u.loaded_) {
    const MachineSpec& s = w.spec();
    u.arrive = uint32_t(s.number("mbarrier.arrive"));
    u.arrive_release = uint32_t(s.number("mbarrier.arrive.release"));
    u.expect = uint32_t(s.number("mbarrier.expect_tx"));
    u.release_cluster = uint32_t(s.number("mbarrier.release.cluster"));
    u.answer = uint32_t(s.number("mbarrier.try_wait.answer"));
    u.spin = uint32_t(s.number("mbarrier.spin"));
    u.spin_end = uint32_t(s.number("mbarrier.spin.end"));
    u.hint = uint32_t(s.number("mbarrier.try_wait.hint"));
    u.ready = uint32_t(s.number("mbarrier.try_wait.ready"));
    u.wake = uint32_t(s.number("mbarrier.wake"));
    u.remote_hop = uint32_t(s.number("mbarrier.remote_hop"));
    u.wait_limit = uint64_t(s.number("mbarrier.try_wait.limit") * s.clock_ghz);
    u.loaded_ = true;
  }
  return u;
}

}  // namespace tinygpu
