#include "common/tinygpu/machine/warp/special.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/program/special.h"

namespace tinygpu {

uint64_t nanoseconds(const Warp& w, uint64_t cycle) { return uint64_t(double(cycle) / w.spec().clock_ghz); }

void special_values(const Warp& w, Special s, uint64_t lanes[32]) {
  const Cta& cta = w.cta();
  const Cluster& cluster = cta.cluster;
  const LaunchConfig& c = cluster.partition.launch.config;
  const Dim3 shape = cluster.shape;
  auto all = [&](uint64_t v) { std::fill(lanes, lanes + 32, v); };
  auto each = [&](auto&& f) {
    for (uint32_t i = 0; i < 32; ++i) lanes[i] = f(i);
  };
  auto thread = [&](uint32_t lane) { return uint64_t(w.index()) * 32 + lane; };
  if (s == environment_register(1)) return all(c.grid_workspace >> 32);
  if (s == environment_register(2)) return all(c.grid_workspace & 0xffffffff);
  switch (s) {
    case Special::tid_x: each([&](uint32_t i) { return thread(i) % c.block.x; }); break;
    case Special::tid_y: each([&](uint32_t i) { return thread(i) / c.block.x % c.block.y; }); break;
    case Special::tid_z: each([&](uint32_t i) { return thread(i) / c.block.x / c.block.y; }); break;
    case Special::ntid_x: all(c.block.x); break;
    case Special::ntid_y: all(c.block.y); break;
    case Special::ntid_z: all(c.block.z); break;
    case Special::ctaid_x: all(cta.key.id.x); break;
    case Special::ctaid_y: all(cta.key.id.y); break;
    case Special::ctaid_z: all(cta.key.id.z); break;
    case Special::nctaid_x: all(c.grid.x); break;
    case Special::nctaid_y: all(c.grid.y); break;
    case Special::nctaid_z: all(c.grid.z); break;
    case Special::laneid: each([](uint32_t i) { return i; }); break;
    case Special::warpid: all(w.index()); break;
    case Special::nwarpid: all(w.spec().max_warps_per_sm); break;
    case Special::smid: all(cta.sm.index); break;
    case Special::nsmid: all(uint64_t(w.spec().sms)); break;
    case Special::gridid: all(cluster.partition.launch.number); break;
    case Special::clusterid_x: all(cluster.id.x); break;
    case Special::clusterid_y: all(cluster.id.y); break;
    case Special::clusterid_z: all(cluster.id.z); break;
    case Special::nclusterid_x: all(c.grid.x / shape.x); break;
    case Special::nclusterid_y: all(c.grid.y / shape.y); break;
    case Special::nclusterid_z: all(c.grid.z / shape.z); break;
    case Special::cluster_ctaid_x: all(cta.key.id.x % shape.x); break;
    case Special::cluster_ctaid_y: all(cta.key.id.y % shape.y); break;
    case Special::cluster_ctaid_z: all(cta.key.id.z % shape.z); break;
    case Special::cluster_nctaid_x: all(shape.x); break;
    case Special::cluster_nctaid_y: all(shape.y); break;
    case Special::cluster_nctaid_z: all(shape.z); break;
    case Special::cluster_ctarank: all(cta.rank); break;
    case Special::cluster_nctarank: all(shape.count()); break;
    case Special::is_explicit_cluster: all(c.explicit_cluster); break;
    case Special::lanemask_eq: each([](uint32_t i) { return 1u << i; }); break;
    case Special::lanemask_le: each([](uint32_t i) { return (2u << i) - 1; }); break;
    case Special::lanemask_lt: each([](uint32_t i) { return (1u << i) - 1; }); break;
    case Special::lanemask_ge: each([](uint32_t i) { return ~((1u << i) - 1); }); break;
    case Special::lanemask_gt: each([](uint32_t i) { return i == 31 ? 0u : ~((2u << i) - 1); }); break;
    case Special::clock: all(uint32_t(w.time())); break;
    case Special::clock_hi: all(w.time() >> 32); break;
    case Special::clock64: all(w.time()); break;
    case Special::globaltimer: all(nanoseconds(w, w.time())); break;
    case Special::globaltimer_lo: all(uint32_t(nanoseconds(w, w.time()))); break;
    case Special::globaltimer_hi: all(nanoseconds(w, w.time()) >> 32); break;
    case Special::dynamic_smem_size: all(c.dynamic_shared); break;
    case Special::total_smem_size:  // in units of allocation (PTX ISA 10.33)
      all((c.dynamic_shared + c.kernel->static_shared + 127) / 128 * 128);
      break;
    case Special::aggr_smem_size:
      all((c.dynamic_shared + c.kernel->static_shared + 127) / 128 * 128 + w.spec().reserved_shared_per_block);
      break;
    case Special::reserved_smem_offset_begin: all(0); break;
    case Special::reserved_smem_offset_cap:
    case Special::reserved_smem_offset_end: all(w.spec().reserved_shared_per_block); break;
    default: all(0); break;
  }
}

}  // namespace tinygpu
