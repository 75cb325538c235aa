#include "common/tinygpu/timing/tensor_memory.h"

namespace tinygpu {

TensorMemoryTiming::TensorMemoryTiming(const MachineSpec& s)
    : alloc(s.number("tcgen05.alloc")),
      alloc_contended(s.number("tcgen05.alloc.contended")),
      dealloc(s.number("tcgen05.dealloc")),
      relinquish(s.number("tcgen05.relinquish")),
      ld_min(s.number("tcgen05.ld.min")),
      ld_fixed(s.number("tcgen05.ld.fixed")),
      ld_register(s.number("tcgen05.ld.per_register")),
      ld_latency(s.number("tcgen05.ld.latency")),
      st_fixed(s.number("tcgen05.st.fixed")),
      st_register(s.number("tcgen05.st.per_register")),
      st_latency(s.number("tcgen05.st.latency")),
      wait_ld(s.number("tcgen05.wait.ld")),
      wait_st(s.number("tcgen05.wait.st")),
      cp_fixed(s.number("tcgen05.cp.fixed")),
      cp_bytes_per_cycle(s.number("tcgen05.cp.bytes_per_cycle")),
      cp_latency(s.number("tcgen05.cp.latency")),
      shift_latency(s.number("tcgen05.shift.latency")) {}

}  // namespace tinygpu
