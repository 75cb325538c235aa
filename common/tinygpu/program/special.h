// Special registers: %tid, %clock64, %envreg1 …
#pragma once
#include <cstdint>
#include <string_view>

namespace tinygpu {

enum class Special : uint16_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  dynamic_smem_size,
  total_smem_size,
  aggr_smem_size,
  reserved_smem_offset_begin,
  reserved_smem_offset_cap,
  reserved_smem_offset_end,
  current_graph_exec,
  envreg,
  pm,
  unknown
};
/// %envreg0 … %envreg31 follow the named ones: read-only registers that the driver fills (PTX ISA 10). Known use: a
/// cooperative launch keeps the address of the grid's barrier in %envreg1 (high) and %envreg2 (low).
constexpr Special environment_register(uint16_t n) { return Special(uint16_t(Special::unknown) + 1 + n); }
Special special_from_name(std::string_view name);
/// Bytes of the special register's value: 8 for the 64-bit ones, 0 for predicates, else 4.
int width_of(Special s);
/// True for the registers that change while a warp runs (clocks): read by an op, not a frame constant.
bool is_dynamic(Special s);

}  // namespace tinygpu
