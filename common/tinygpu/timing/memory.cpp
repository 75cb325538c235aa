#include "common/tinygpu/timing/memory.h"

#include <algorithm>

namespace tinygpu {

MemoryTiming::MemoryTiming(const MachineSpec& s)
    : sectors_per_cycle(s.number("mem.sm.bytes_per_cycle") / 32),
      stored_per_cycle(s.number("mem.sm.store_bytes_per_cycle") / 32),
      l1_latency(uint32_t(s.number("mem.l1.latency"))),
      l1_bytes(uint32_t(s.number("mem.l1.bytes"))),
      l1_line(s.number("mem.l1.line_cycles")),
      miss_latency(uint32_t(s.number("mem.dram.latency") - s.number("mem.l2.latency"))),
      miss_least(uint32_t(std::max(0.0, miss_latency - s.number("mem.l2.far") / 2 -
                                            s.number("mem.dram.late_share") * s.number("mem.dram.late") / 2))),
      remote_latency(uint32_t(s.number("dsmem.latency"))),
      pass_cycles(int64_t(s.number("mem.shared.pass"))),
      word_latency(int64_t(s.number("mem.shared.word_latency"))),
      collect_fixed(int64_t(s.number("mem.shared.collect"))),
      collect_word(int64_t(s.number("mem.shared.collect.word"))),
      l2_capacity(uint64_t(s.number("mem.l2.bytes"))),
      l2_read_copies(uint32_t(s.number("mem.l2.read_copies"))),
      cp_async_latency(uint64_t(s.number("cp_async.latency"))),
      copy_pass(s.number("cp_async.pass")),
      least_latency(uint64_t(std::min(s.number("mem.l2.latency"), s.number("tma.latency")))),
      l2_bytes(s.number("mem.l2.bytes_per_cycle")),
      l2_write_bytes(s.number("mem.l2.write_bytes_per_cycle")),
      l2_write_least(s.number("mem.l2.write_least")),
      l2_request(s.number("mem.l2.request")),
      gpcs(uint32_t(s.number("chip.gpcs"))),
      cpcs_of_gpc(uint32_t(s.number("chip.gpc.cpcs"))),
      gpc_bytes(s.number("mem.gpc.bytes_per_cycle")),
      gpc_shares_within(s.number("mem.gpc.shares_within")),
      gpc_shared_bytes(s.number("mem.l2.shared_bytes_per_cycle") / std::max(1u, gpcs)),
      cpc_write_bytes(s.number("mem.cpc.write_bytes_per_cycle")),
      l2_far(s.number("mem.l2.far")),
      l2_slices(uint32_t(s.number("mem.l2.slices"))),
      slice_bytes(s.number("mem.l2.slice_bytes_per_cycle")),
      slice_write_bytes(s.number("mem.l2.slice_write_bytes_per_cycle")),
      dram_bytes(s.number("mem.dram.bytes_per_cycle")),
      dram_channels(uint32_t(s.number("mem.dram.channels"))),
      dram_late_share(s.number("mem.dram.late_share")),
      dram_late(s.number("mem.dram.late")),
      dram_write(s.number("mem.dram.write_factor")),
      store_queue(uint64_t(s.number("mem.store.queue"))),
      stores_waiting(uint32_t(s.number("mem.store.waiting"))),
      atomic_line(s.number("mem.atomic.line")),
      atomic_sector(s.number("mem.atomic.sector")),
      atomic_word(s.number("mem.atomic.word")),
      atomic_float_word(s.number("mem.atomic.word.float")),
      shared_atomic_pass(int64_t(s.number("mem.shared.atomic.pass"))),
      shared_atomic_same(int64_t(s.number("mem.shared.atomic.same"))),
      shared_float_round(uint64_t(s.number("mem.shared.atomic.float_round"))),
      conflicts_free(s.free.bank_conflicts),
      atomic_scan(uint64_t(s.number("mem.atomic.scan"))) {}

}  // namespace tinygpu
