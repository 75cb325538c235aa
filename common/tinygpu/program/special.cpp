#include "common/tinygpu/program/special.h"

#include <unordered_map>

namespace tinygpu {

Special special_from_name(std::string_view name) {
  static const std::unordered_map<std::string_view, Special> names = {
      {"tid.x", Special::tid_x},
      {"tid.y", Special::tid_y},
      {"tid.z", Special::tid_z},
      {"tid", Special::tid_x},
      {"ntid.x", Special::ntid_x},
      {"ntid.y", Special::ntid_y},
      {"ntid.z", Special::ntid_z},
      {"ctaid.x", Special::ctaid_x},
      {"ctaid.y", Special::ctaid_y},
      {"ctaid.z", Special::ctaid_z},
      {"nctaid.x", Special::nctaid_x},
      {"nctaid.y", Special::nctaid_y},
      {"nctaid.z", Special::nctaid_z},
      {"laneid", Special::laneid},
      {"warpid", Special::warpid},
      {"nwarpid", Special::nwarpid},
      {"smid", Special::smid},
      {"nsmid", Special::nsmid},
      {"gridid", Special::gridid},
      {"clusterid.x", Special::clusterid_x},
      {"clusterid.y", Special::clusterid_y},
      {"clusterid.z", Special::clusterid_z},
      {"nclusterid.x", Special::nclusterid_x},
      {"nclusterid.y", Special::nclusterid_y},
      {"nclusterid.z", Special::nclusterid_z},
      {"cluster_ctaid.x", Special::cluster_ctaid_x},
      {"cluster_ctaid.y", Special::cluster_ctaid_y},
      {"cluster_ctaid.z", Special::cluster_ctaid_z},
      {"cluster_nctaid.x", Special::cluster_nctaid_x},
      {"cluster_nctaid.y", Special::cluster_nctaid_y},
      {"cluster_nctaid.z", Special::cluster_nctaid_z},
      {"cluster_ctarank", Special::cluster_ctarank},
      {"cluster_nctarank", Special::cluster_nctarank},
      {"is_explicit_cluster", Special::is_explicit_cluster},
      {"lanemask_eq", Special::lanemask_eq},
      {"lanemask_le", Special::lanemask_le},
      {"lanemask_lt", Special::lanemask_lt},
      {"lanemask_ge", Special::lanemask_ge},
      {"lanemask_gt", Special::lanemask_gt},
      {"clock", Special::clock},
      {"clock_hi", Special::clock_hi},
      {"clock64", Special::clock64},
      {"globaltimer", Special::globaltimer},
      {"globaltimer_lo", Special::globaltimer_lo},
      {"globaltimer_hi", Special::globaltimer_hi},
      {"dynamic_smem_size", Special::dynamic_smem_size},
      {"total_smem_size", Special::total_smem_size},
      {"aggr_smem_size", Special::aggr_smem_size},
      {"reserved_smem_offset_begin", Special::reserved_smem_offset_begin},
      {"reserved_smem_offset_cap", Special::reserved_smem_offset_cap},
      {"reserved_smem_offset_end", Special::reserved_smem_offset_end},
      {"current_graph_exec", Special::current_graph_exec},
  };
  auto it = names.find(name);
  if (it != names.end()) return it->second;
  if (name == "envreg1") return environment_register(1);
  if (name == "envreg2") return environment_register(2);
  if (name.substr(0, 6) == "envreg") return Special::envreg;
  if (name.substr(0, 2) == "pm") return Special::pm;
  return Special::unknown;
}

int width_of(Special s) {
  switch (s) {
    case Special::clock64:
    case Special::globaltimer:
    case Special::gridid:
    case Special::current_graph_exec: return 8;
    case Special::is_explicit_cluster: return 0;
    default: return 4;
  }
}

bool is_dynamic(Special s) {
  return s == Special::clock || s == Special::clock_hi || s == Special::clock64 || s == Special::globaltimer ||
         s == Special::globaltimer_lo || s == Special::globaltimer_hi || s == Special::pm;
}

}  // namespace tinygpu
