#include "common/tinygpu/timing/wgmma.h"

namespace tinygpu {

WgmmaTiming::WgmmaTiming(const MachineSpec& s)
    : columns_per_cycle(s.number("wgmma.columns_per_cycle")),
      bytes_per_cycle(s.number("wgmma.smem_bytes_per_cycle")),
      batch(uint64_t(s.number("wgmma.batch"))),
      wait_ss(uint64_t(s.number("wgmma.wait.ss"))),
      wait_rs(uint64_t(s.number("wgmma.wait.rs"))),
      queue(uint32_t(s.number("wgmma.queue"))),
      queue_free(uint64_t(s.number("wgmma.queue.free"))),
      beside(s.number("wgmma.beside")) {}

}  // namespace tinygpu
