#include "common/tinygpu/api/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/base/checked.h"
#include "common/tinygpu/machine/chip/occupancy.h"
#include "common/tinygpu/timing/launch.h"

namespace tinygpu::api {

namespace {

using Reason = LaunchRefused::Reason;

constexpr uint32_t kMaxGridX = 0x7fffffff, kMaxGridYz = 65535;
constexpr uint32_t kMaxBlockXy = 1024, kMaxBlockZ = 64;
/// Of all parameters of a kernel (CUDA programming guide: 32,764 bytes).
constexpr uint64_t kMostParamBytes = 32764;

std::string text(const Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }
bool same(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
/// Declared dimensions, of which the first is there.
Dim3 dims(const uint32_t (&n)[3]) { return {n[0], std::max(1u, n[1]), std::max(1u, n[2])}; }

void check_shape(const MachineSpec& spec, const LaunchRequest& r) {
  const Dim3 &g = r.grid, &b = r.block;
  if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > kMaxGridX || g.y > kMaxGridYz || g.z > kMaxGridYz)
    throw LaunchRefused(Reason::configuration,
                        fmt::format("grid {} is outside 1..({},{},{})", text(g), kMaxGridX, kMaxGridYz, kMaxGridYz));
  if (b.x == 0 || b.y == 0 || b.z == 0 || b.x > kMaxBlockXy || b.y > kMaxBlockXy || b.z > kMaxBlockZ ||
      b.count() > spec.max_threads_per_block)
    throw LaunchRefused(Reason::configuration,
                        fmt::format("block {} has {} threads; at most ({},{},{}) and {} in all", text(b), b.count(),
                                    kMaxBlockXy, kMaxBlockXy, kMaxBlockZ, spec.max_threads_per_block));
}

void check_bounds(const Kernel& k, const LaunchRequest& r) {
  const Dim3& b = r.block;
  const Dim3 most = dims(k.most_threads), required = dims(k.required_threads);
  if (k.most_threads[0] && b.count() > volume(most.x, most.y, most.z))
    throw LaunchRefused(Reason::threads,
                        fmt::format("block {} has {} threads, the kernel is compiled for at most {}", text(b),
                                    b.count(), volume(most.x, most.y, most.z)),
                        "raise __launch_bounds__ or launch fewer threads");
  if (k.required_threads[0] && !same(b, required))
    throw LaunchRefused(Reason::threads,
                        fmt::format("block {}, but the kernel requires exactly {}", text(b), text(required)));
}

void check_cluster(const MachineSpec& spec, const Kernel& k, const LaunchRequest& r, LaunchConfig& out) {
  std::optional<Dim3> required = r.required_cluster;
  if (!required && k.required_cluster[0]) required = dims(k.required_cluster);
  const Dim3 cluster = r.cluster.value_or(required.value_or(Dim3{1, 1, 1}));
  if (r.cluster && required && !same(cluster, *required))
    throw LaunchRefused(
        Reason::cluster,
        fmt::format("cluster {} asked for, but the kernel is compiled for {}", text(cluster), text(*required)),
        "leave out the launch attribute or remove __cluster_dims__");
  const uint64_t size = volume(cluster.x, cluster.y, cluster.z);
  const uint32_t most = r.portable_cluster_only ? spec.portable_cluster : spec.max_cluster;
  if (size == 0 || size > most)
    throw LaunchRefused(
        Reason::cluster, fmt::format("cluster {} has {} CTAs, at most {} are allowed", text(cluster), size, most),
        size && size <= spec.max_cluster ? "set cudaFuncAttributeNonPortableClusterSizeAllowed on the kernel first"
                                         : "");
  if (k.most_cluster && size > k.most_cluster)
    throw LaunchRefused(Reason::cluster,
                        fmt::format("cluster {} has more CTAs than .maxclusterrank {}", text(cluster), k.most_cluster));
  if (r.grid.x % cluster.x || r.grid.y % cluster.y || r.grid.z % cluster.z)
    throw LaunchRefused(Reason::cluster,
                        fmt::format("grid {} is not a multiple of the cluster {}", text(r.grid), text(cluster)));
  out.cluster = cluster;
  out.explicit_cluster = r.cluster || required || k.explicit_cluster;
}

void check_resources(const MachineSpec& spec, const Kernel& k, const LaunchRequest& r, const Dim3& cluster) {
  const uint64_t room =
      k.static_shared < spec.shared_per_block_optin ? spec.shared_per_block_optin - k.static_shared : 0;
  const uint64_t limit = std::min(r.most_dynamic_shared, room);
  if (r.dynamic_shared > limit)
    throw LaunchRefused(
        Reason::dynamic_shared,
        fmt::format("{} bytes of dynamic shared memory asked for, {} are allowed (static: {})", r.dynamic_shared, limit,
                    k.static_shared),
        r.dynamic_shared <= room
            ? "call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first"
            : fmt::format("a CTA has at most {} bytes of shared memory", spec.shared_per_block_optin));
  const auto threads = uint32_t(r.block.count()), dynamic = uint32_t(r.dynamic_shared);
  const Occupancy fit = occupancy(spec, *k.function, threads, dynamic);
  if (fit.blocks_per_sm == 0)
    throw LaunchRefused(Reason::resources,
                        fmt::format("no SM can hold a CTA of {} threads with {} registers each ({} limit)", threads,
                                    k.registers, fit.limit),
                        "launch fewer threads, or bound registers by __launch_bounds__");
  if (r.cooperative && r.grid.count() > uint64_t(fit.blocks_per_sm) * uint32_t(spec.sms))
    throw LaunchRefused(Reason::cooperative,
                        fmt::format("a cooperative grid of {} CTAs, but only {} × {} can be resident together",
                                    r.grid.count(), spec.sms, fit.blocks_per_sm));
  if (cluster.count() > 1 && active_clusters(spec, k, threads, dynamic, uint32_t(cluster.count())) == 0)
    throw LaunchRefused(Reason::cluster,
                        fmt::format("no group of SMs can hold a cluster of {} such CTAs", cluster.count()));
}

void check_parameters(const Kernel& k, const LaunchRequest& r) {
  if (k.declared_parameter_bytes > kMostParamBytes)
    throw LaunchRefused(Reason::parameters, fmt::format("it has {} bytes of parameters, at most {} are allowed",
                                                        k.declared_parameter_bytes, kMostParamBytes));
  if (r.parameters && r.parameters->size() < k.parameter_bytes)
    throw LaunchRefused(Reason::parameters, fmt::format("{} bytes of parameters given, {} needed", r.parameters->size(),
                                                        k.parameter_bytes));
}

}  // namespace

uint64_t volume(uint32_t x, uint32_t y, uint32_t z) { return (CheckedSize(x) * y * z).value(); }

LaunchConfig prepare(const MachineSpec& spec, const Kernel& kernel, LaunchRequest r) {
  LaunchConfig out;
  check_shape(spec, r);
  check_bounds(kernel, r);
  check_cluster(spec, kernel, r, out);
  check_resources(spec, kernel, r, out.cluster);
  check_parameters(kernel, r);
  out.kernel = kernel.function;
  out.program = kernel.program;
  out.grid = r.grid;
  out.block = r.block;
  out.dynamic_shared = uint32_t(r.dynamic_shared);
  out.cooperative = r.cooperative;
  if (r.parameters) out.params = std::move(*r.parameters);
  out.params.resize(kernel.parameter_bytes);
  return out;
}

uint32_t max_threads(const MachineSpec& spec, const Kernel& k) {
  uint32_t most = spec.max_threads_per_block;
  const Dim3 n = dims(k.most_threads[0] ? k.most_threads : k.required_threads);
  if (n.x) most = uint32_t(std::min<uint64_t>(most, volume(n.x, n.y, n.z)));
  // A register file holds so many warps: registers are given out per warp in units of 256.
  if (k.registers) {
    const uint32_t per_warp = (k.registers * 32 + 255) / 256 * 256;
    most = std::min(most, spec.registers_per_sm / per_warp * 32);
  }
  return most;
}

uint32_t blocks_per_sm(const MachineSpec& spec, const Kernel& k, uint32_t threads, uint32_t dynamic_shared) {
  return occupancy(spec, *k.function, threads, dynamic_shared).blocks_per_sm;
}

uint32_t blocks_per_sm(const MachineSpec& spec, const Kernel& k, uint32_t threads, uint32_t dynamic_shared,
                       uint32_t preferred) {
  const Occupancy fit = occupancy(spec, *k.function, threads, dynamic_shared);
  const uint32_t room = preferred < fit.shared_bytes ? shared_split(fit.shared_bytes) : preferred;
  return fit.shared_bytes ? std::min(fit.blocks_per_sm, room / fit.shared_bytes) : fit.blocks_per_sm;
}

uint32_t shared_split(uint64_t bytes) {
  Occupancy one;
  one.blocks_per_sm = 1;
  one.shared_bytes = uint32_t(bytes);
  return carveout(one);
}

uint32_t active_clusters(const MachineSpec& spec, const Kernel& k, uint32_t threads, uint32_t dynamic_shared,
                         uint32_t cluster_size) {
  const uint32_t per_sm = blocks_per_sm(spec, k, threads, dynamic_shared);
  const uint32_t gpc = spec.sms_per_gpc;
  const uint32_t whole = uint32_t(spec.sms) / gpc, rest = uint32_t(spec.sms) % gpc;
  const uint32_t in_gpcs = whole * (gpc * per_sm / cluster_size) + rest * per_sm / cluster_size;
  if (cluster_size == 1) return in_gpcs;
  // Of a GPC's SMs not all lie so that they can hold clusters: what a launch has, too.
  const uint64_t usable = std::min(uint32_t(spec.sms), LaunchTiming(spec).usable_sms(cluster_size));
  return uint32_t(std::min<uint64_t>(in_gpcs, usable * per_sm / cluster_size));
}

}  // namespace tinygpu::api
