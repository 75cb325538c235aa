// The numbers of one GPU that the machine reads while it runs. timing/ fills it from probes/machines/NAME.json.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "common/tinygpu/program/program.h"
#include "common/tinygpu/timing/free_work.h"

namespace tinygpu {

struct MachineSpec {
  std::string name = "b200";
  int compute_major = 10, compute_minor = 0;
  int sms = 148;
  double clock_ghz = 1.965;
  uint64_t global_bytes = 180ull << 30;
  uint64_t l2_bytes = 126ull << 20;
  uint32_t shared_per_sm = 233472;  // bytes, with the reserved 1 KiB per CTA
  uint32_t shared_per_block_optin = 232448;
  uint32_t shared_per_block = 49152;
  uint32_t reserved_shared_per_block = 1024;
  uint32_t registers_per_sm = 65536;
  uint32_t max_threads_per_sm = 2048;
  uint32_t max_warps_per_sm = 64;
  uint32_t max_blocks_per_sm = 32;
  uint32_t max_threads_per_block = 1024;
  uint32_t max_cluster = 16, portable_cluster = 8;
  uint32_t sms_per_gpc = 16;                           // where the SMs of a cluster must lie
  uint32_t memory_clock_khz = 0, memory_bus_bits = 0;  // what the device reports
  double host_link_bytes_per_second = 0;               // copies between host and device
  double copy_bytes_per_second = 0;                    // copies within device memory: reads and writes together
  bool has_tmem = true;                                // tcgen05
  bool has_wgmma = false;
  CostTable costs{};
  /// Everything else, by dotted name ("tma.latency", "tcgen05.mma.fixed.ss.cg1.m128"): the engines' own numbers.
  /// number() throws std::out_of_range that names the missing key, so a profile that lacks a number is an error and not
  /// a zero.
  std::map<std::string, double> numbers;
  double number(const std::string& key) const;
  /// Set by make_free(): loads and bank conflicts cost nothing where the engines look at it, the rest by the numbers.
  FreeWork free = {};
};

}  // namespace tinygpu
