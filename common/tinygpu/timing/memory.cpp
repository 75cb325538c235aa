#include "common/tinygpu/timing/memory.h"

namespace tinygpu {

MemoryTiming::MemoryTiming(const MachineSpec& s)
    : sectors_per_cycle(s.number("mem.sm.bytes_per_cycle") / 32),
      miss_latency(uint32_t(s.number("mem.dram.latency") - s.number("mem.l2.latency"))),
      remote_latency(uint32_t(s.number("dsmem.latency"))),
      pass_cycles(int64_t(s.number("mem.shared.pass"))),
      word_latency(int64_t(s.number("mem.shared.word_latency"))),
      collect_fixed(int64_t(s.number("mem.shared.collect"))),
      collect_word(int64_t(s.number("mem.shared.collect.word"))),
      l2_read_copies(uint32_t(s.number("mem.l2.read_copies"))),
      cp_async_latency(uint64_t(s.number("cp_async.latency"))) {}

}  // namespace tinygpu
