// Executors of ops that the lowering makes: reads of special registers (PTX ISA 10), negated predicates, and the stop
// at an instruction that is not modelled.
#include <cmath>

#include "common/tinygpu/isa/families.h"

TINYGPU_ISA_BEGIN

namespace {

uint32_t divide(uint32_t a, uint32_t b) { return b ? a / b : 0; }

/// Nanoseconds since the GPU was made, the clock of %globaltimer. Hardware updates it every 32 ns (B200) to 1 µs; the
/// model's has a resolution of 1 ns.
uint64_t nanoseconds(const Warp& w) { return uint64_t(double(w.time()) / w.spec().clock_ghz); }

/// Value for one lane; predicates give 0 or 1.
uint64_t value_of(Warp& w, Special s, uint32_t lane) {
  const LaunchConfig& c = w.domain().launch.config;
  const Cta& cta = w.cta();
  const uint32_t thread = w.index() * 32 + lane;
  const Dim3 grid = c.grid, block = c.block, cluster = c.cluster;
  switch (s) {
    case Special::tid_x: return thread % block.x;
    case Special::tid_y: return thread / block.x % block.y;
    case Special::tid_z: return thread / block.x / block.y;
    case Special::ntid_x: return block.x;
    case Special::ntid_y: return block.y;
    case Special::ntid_z: return block.z;
    case Special::ctaid_x: return cta.id.x;
    case Special::ctaid_y: return cta.id.y;
    case Special::ctaid_z: return cta.id.z;
    case Special::nctaid_x: return grid.x;
    case Special::nctaid_y: return grid.y;
    case Special::nctaid_z: return grid.z;
    case Special::laneid: return lane;
    case Special::warpid: return w.index();
    case Special::nwarpid: return w.spec().max_warps_per_sm;
    case Special::smid: return w.sm().index;
    case Special::nsmid: return uint64_t(w.spec().sms);
    case Special::gridid: return w.gpu().grids;
    case Special::clusterid_x: return cta.id.x / cluster.x;
    case Special::clusterid_y: return cta.id.y / cluster.y;
    case Special::clusterid_z: return cta.id.z / cluster.z;
    case Special::nclusterid_x: return divide(grid.x, cluster.x);
    case Special::nclusterid_y: return divide(grid.y, cluster.y);
    case Special::nclusterid_z: return divide(grid.z, cluster.z);
    case Special::cluster_ctaid_x: return cta.id.x % cluster.x;
    case Special::cluster_ctaid_y: return cta.id.y % cluster.y;
    case Special::cluster_ctaid_z: return cta.id.z % cluster.z;
    case Special::cluster_nctaid_x: return cluster.x;
    case Special::cluster_nctaid_y: return cluster.y;
    case Special::cluster_nctaid_z: return cluster.z;
    case Special::cluster_ctarank: return cta.rank;
    case Special::cluster_nctarank: return cluster.count();
    case Special::is_explicit_cluster: return c.explicit_cluster;
    case Special::lanemask_eq: return 1u << lane;
    case Special::lanemask_le: return (2u << lane) - 1;
    case Special::lanemask_lt: return (1u << lane) - 1;
    case Special::lanemask_ge: return ~((1u << lane) - 1);
    case Special::lanemask_gt: return ~((2u << lane) - 1);
    case Special::clock: return uint32_t(w.time());
    case Special::clock_hi: return w.time() >> 32;
    case Special::clock64: return w.time();
    case Special::globaltimer: return nanoseconds(w);
    case Special::globaltimer_lo: return uint32_t(nanoseconds(w));
    case Special::globaltimer_hi: return nanoseconds(w) >> 32;
    case Special::dynamic_smem_size: return c.dynamic_shared;
    case Special::total_smem_size: return c.kernel->static_shared + c.dynamic_shared;
    case Special::aggr_smem_size:
      return c.kernel->static_shared + c.dynamic_shared + w.spec().reserved_shared_per_block;
    case Special::reserved_smem_offset_begin: return 0;
    case Special::reserved_smem_offset_cap:
    case Special::reserved_smem_offset_end: return kSharedBase;
    case Special::current_graph_exec:
    case Special::envreg:
    case Special::pm:
    case Special::unknown: return 0;
  }
  return 0;
}

void special(Warp& w, const Op& op) {
  const Special s = Special(op.imm);
  if (s == Special::pm || s == Special::unknown)
    w.fault(FaultKind::not_modelled, "not-modelled", "not modelled: performance-monitor special registers",
            "use %clock64 or the run's own counters (gen5 run --counters)");
  switch (width_of(s)) {
    case 0: each_pred(w, op.dst, [&](int i) { return value_of(w, s, uint32_t(i)); }); break;
    case 8: each_lane<uint64_t>(w, op.dst, [&](int i) { return value_of(w, s, uint32_t(i)); }); break;
    default: each_lane<uint32_t>(w, op.dst, [&](int i) { return uint32_t(value_of(w, s, uint32_t(i))); }); break;
  }
}

void not_modelled(Warp& w, const Op& op) {
  const ptx::Instruction& inst = w.function().instruction(op);
  w.fault(FaultKind::not_modelled, "not-modelled", "not modelled: " + inst.spelling(),
          "this instruction runs on hardware but not on tinygpu; `gen5 isa` lists what is modelled");
}

void negate_predicate(Warp& w, const Op& op) {
  const uint32_t a = w.pred(op.a);
  uint32_t& d = w.pred(op.dst);
  d = (d & ~w.exec()) | (~a & w.exec());
}

}  // namespace

ExecFn internal_executor(std::string_view name) {
  if (name == "special") return special;
  if (name == "not_modelled") return not_modelled;
  if (name == "not.pred") return negate_predicate;
  return nullptr;
}

TINYGPU_ISA_END
