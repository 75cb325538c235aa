#include "common/tinygpu/cuda/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/base/checked.h"
#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/cuda/function.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/timing/launch.h"

namespace tinygpu::cuda {

namespace {

constexpr uint32_t kMaxGridX = 0x7fffffff, kMaxGridYz = 65535;
constexpr uint32_t kMaxBlockXy = 1024, kMaxBlockZ = 64;
/// Of all parameters of a kernel (CUDA programming guide: 32,764 bytes).
constexpr uint64_t kMostParamBytes = 32764;
std::string text(const Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

CUresult refuse(CUresult code, const Kernel& k, const std::string& message, const std::string& help = {}) {
  say("launch-refused", fmt::format("kernel {} was not launched: {}", k.name, message), help);
  return code;
}

CUresult check_shape(const MachineSpec& spec, const LaunchRequest& r) {
  const CUresult code = r.from_runtime ? kInvalidConfiguration : CUDA_ERROR_INVALID_VALUE;
  const Dim3 &g = r.grid, &b = r.block;
  if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > kMaxGridX || g.y > kMaxGridYz || g.z > kMaxGridYz)
    return refuse(code, *r.kernel,
                  fmt::format("grid {} is outside 1..({},{},{})", text(g), kMaxGridX, kMaxGridYz, kMaxGridYz));
  if (b.x == 0 || b.y == 0 || b.z == 0 || b.x > kMaxBlockXy || b.y > kMaxBlockXy || b.z > kMaxBlockZ ||
      b.count() > spec.max_threads_per_block)
    return refuse(code, *r.kernel,
                  fmt::format("block {} has {} threads; at most ({},{},{}) and {} in all", text(b), b.count(),
                              kMaxBlockXy, kMaxBlockXy, kMaxBlockZ, spec.max_threads_per_block));
  return CUDA_SUCCESS;
}

CUresult check_bounds(const LaunchRequest& r) {
  const ptx::Function& f = *r.kernel->function->source;
  const Dim3& b = r.block;
  const uint64_t max_threads = volume(f.maxntid[0], std::max(1u, f.maxntid[1]), std::max(1u, f.maxntid[2]));
  if (f.maxntid[0] && b.count() > max_threads)
    return refuse(
        CUDA_ERROR_INVALID_VALUE, *r.kernel,
        fmt::format("block {} has {} threads, the kernel is compiled for at most {}", text(b), b.count(), max_threads),
        "raise __launch_bounds__ or launch fewer threads");
  if (f.reqntid[0]) {
    const Dim3 want{f.reqntid[0], f.reqntid[1] ? f.reqntid[1] : 1, f.reqntid[2] ? f.reqntid[2] : 1};
    if (b.x != want.x || b.y != want.y || b.z != want.z)
      return refuse(CUDA_ERROR_INVALID_VALUE, *r.kernel,
                    fmt::format("block {}, but the kernel requires exactly {}", text(b), text(want)));
  }
  return CUDA_SUCCESS;
}

CUresult check_cluster(const MachineSpec& spec, const LaunchRequest& r, Dim3& cluster, bool& explicit_cluster) {
  const Kernel& k = *r.kernel;
  const ptx::Function& f = *k.function->source;
  Dim3 required{f.reqnctapercluster[0], f.reqnctapercluster[1] ? f.reqnctapercluster[1] : 1,
                f.reqnctapercluster[2] ? f.reqnctapercluster[2] : 1};
  if (k.required_cluster[0])
    required = {k.required_cluster[0], k.required_cluster[1] ? k.required_cluster[1] : 1,
                k.required_cluster[2] ? k.required_cluster[2] : 1};
  cluster = r.cluster_given ? r.cluster : required.x ? required : Dim3{1, 1, 1};
  explicit_cluster = r.cluster_given || required.x != 0 || f.explicit_cluster;
  if (r.cluster_given && required.x && (required.x != cluster.x || required.y != cluster.y || required.z != cluster.z))
    return refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, k,
                  fmt::format("cluster {} asked for, but the kernel is compiled for {}", text(cluster), text(required)),
                  "leave out the launch attribute or remove __cluster_dims__");
  const uint64_t size = volume(cluster.x, cluster.y, cluster.z);
  const uint32_t most = k.non_portable_cluster ? spec.max_cluster : spec.portable_cluster;
  if (size == 0 || size > most)
    return refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, k,
                  fmt::format("cluster {} has {} CTAs, at most {} are allowed", text(cluster), size, most),
                  size && size <= spec.max_cluster
                      ? "set cudaFuncAttributeNonPortableClusterSizeAllowed on the kernel first"
                      : "");
  if (f.maxclusterrank && size > f.maxclusterrank)
    return refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, k,
                  fmt::format("cluster {} has more CTAs than .maxclusterrank {}", text(cluster), f.maxclusterrank));
  if (r.grid.x % cluster.x || r.grid.y % cluster.y || r.grid.z % cluster.z)
    return refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, k,
                  fmt::format("grid {} is not a multiple of the cluster {}", text(r.grid), text(cluster)));
  return CUDA_SUCCESS;
}

CUresult check_resources(const MachineSpec& spec, const LaunchRequest& r, const Dim3& cluster) {
  const Kernel& k = *r.kernel;
  const Function& f = *k.function;
  const uint32_t limit = dynamic_shared_limit(spec, k);
  if (r.dynamic_shared > limit)
    return refuse(CUDA_ERROR_INVALID_VALUE, k,
                  fmt::format("{} bytes of dynamic shared memory asked for, {} are allowed (static: {})",
                              r.dynamic_shared, limit, f.static_shared),
                  r.dynamic_shared + f.static_shared <= spec.shared_per_block_optin
                      ? "call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first"
                      : fmt::format("a CTA has at most {} bytes of shared memory", spec.shared_per_block_optin));
  const Occupancy fit = occupancy(spec, f, uint32_t(r.block.count()), uint32_t(r.dynamic_shared));
  if (fit.blocks_per_sm == 0)
    return refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, k,
                  fmt::format("no SM can hold a CTA of {} threads with {} registers each ({} limit)", r.block.count(),
                              f.registers_per_thread, fit.limit),
                  "launch fewer threads, or bound registers by __launch_bounds__");
  if (r.cooperative && r.grid.count() > uint64_t(fit.blocks_per_sm) * uint32_t(spec.sms))
    return refuse(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, k,
                  fmt::format("a cooperative grid of {} CTAs, but only {} × {} can be resident together",
                              r.grid.count(), spec.sms, fit.blocks_per_sm));
  if (cluster.count() > 1 &&
      active_clusters(spec, f, uint32_t(r.block.count()), uint32_t(r.dynamic_shared), uint32_t(cluster.count())) == 0)
    return refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, k,
                  fmt::format("no group of SMs can hold a cluster of {} such CTAs", cluster.count()));
  return CUDA_SUCCESS;
}

CUresult pack_parameters(const LaunchRequest& r, std::vector<uint8_t>& out) {
  const Function& f = *r.kernel->function;
  CheckedSize declared = 0;
  for (const ptx::Param& p : f.source->params) declared = declared.rounded_up(std::max(1u, p.align)) + p.size;
  if (declared.value() > kMostParamBytes)
    return refuse(
        CUDA_ERROR_INVALID_VALUE, *r.kernel,
        fmt::format("it has {} bytes of parameters, at most {} are allowed", declared.value(), kMostParamBytes));
  out.assign(f.param_bytes, 0);
  if (r.packed) {
    if (r.packed_size < f.param_bytes)
      return refuse(CUDA_ERROR_INVALID_VALUE, *r.kernel,
                    fmt::format("{} bytes of parameters given, {} needed", r.packed_size, f.param_bytes));
    if (!out.empty()) std::memcpy(out.data(), r.packed, out.size());
    return CUDA_SUCCESS;
  }
  if (!f.params.empty() && !r.args)
    return refuse(CUDA_ERROR_INVALID_VALUE, *r.kernel, fmt::format("no parameters given, {} needed", f.params.size()));
  for (size_t i = 0; i < f.params.size(); ++i) {
    if (!r.args[i])
      return refuse(CUDA_ERROR_INVALID_VALUE, *r.kernel, fmt::format("the pointer to parameter {} is null", i));
    std::memcpy(out.data() + f.params[i].offset, r.args[i], f.params[i].size);
  }
  return CUDA_SUCCESS;
}

/// The word through which cooperative groups synchronise a grid: its address travels in %envreg1:%envreg2
/// (cooperative_groups/details/driver_abi.h). {size, barrier}, zero at launch.
uint64_t grid_workspace(State& s) {
  constexpr uint64_t kBytes = 64;
  const uint64_t address = s.gpu.memory.allocate(kBytes, 512, MemoryKind::device, "grid workspace");
  if (uint8_t* p = s.gpu.memory.translate(address, kBytes)) {
    std::memset(p, 0, kBytes);
    std::memcpy(p, &kBytes, 4);
  }
  return address;
}

}  // namespace

uint32_t dynamic_shared_limit(const MachineSpec& spec, const Kernel& k) {
  const uint32_t used = k.function ? k.function->static_shared : 0;
  if (k.max_dynamic_shared >= 0) return uint32_t(k.max_dynamic_shared);
  return used < spec.shared_per_block ? spec.shared_per_block - used : 0;
}

uint32_t active_clusters(const MachineSpec& spec, const Function& f, uint32_t threads, uint32_t dynamic_shared,
                         uint32_t cluster_size) {
  const uint32_t per_sm = occupancy(spec, f, threads, dynamic_shared).blocks_per_sm;
  const uint32_t gpc = spec.sms_per_gpc;
  const uint32_t whole = uint32_t(spec.sms) / gpc, rest = uint32_t(spec.sms) % gpc;
  const uint32_t in_gpcs = whole * (gpc * per_sm / cluster_size) + rest * per_sm / cluster_size;
  if (cluster_size == 1) return in_gpcs;
  // Of a GPC's SMs not all lie so that they can hold clusters: what a launch has, too.
  const uint64_t usable = std::min(uint32_t(spec.sms), LaunchTiming(spec).usable_sms(cluster_size));
  return uint32_t(std::min<uint64_t>(in_gpcs, usable * per_sm / cluster_size));
}

CUresult prepare(State& s, const LaunchRequest& r, PreparedLaunch& out) {
  Kernel& k = *r.kernel;
  const MachineSpec& spec = s.gpu.spec;
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  if (CUresult e = check_shape(spec, r); e != CUDA_SUCCESS) return e;
  if (CUresult e = check_bounds(r); e != CUDA_SUCCESS) return e;
  LaunchConfig& config = out.config;
  if (CUresult e = check_cluster(spec, r, config.cluster, config.explicit_cluster); e != CUDA_SUCCESS) return e;
  if (CUresult e = check_resources(spec, r, config.cluster); e != CUDA_SUCCESS) return e;
  if (CUresult e = pack_parameters(r, config.params); e != CUDA_SUCCESS) return e;
  config.grid = r.grid;
  config.block = r.block;
  config.dynamic_shared = uint32_t(r.dynamic_shared);
  config.cooperative = r.cooperative;
  config.programmatic = r.programmatic;
  out.request = r;
  out.request.args = nullptr;
  out.request.packed = nullptr;
  return CUDA_SUCCESS;
}

CUresult begin_launch(State& s, const PreparedLaunch& prepared, RunningLaunch& out) {
  if (!s.is_kernel(prepared.request.kernel)) return CUDA_ERROR_INVALID_HANDLE;
  Kernel& k = *prepared.request.kernel;
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  out.kernel = &k;
  out.config = prepared.config;
  out.config.kernel = k.function;
  out.config.program = k.module->program();
  if (out.config.cooperative) out.config.grid_workspace = grid_workspace(s);
  s.observe();
  return CUDA_SUCCESS;
}

void release_workspace(State& s, const RunningLaunch& launch) {
  if (launch.config.grid_workspace) s.gpu.memory.release(launch.config.grid_workspace);
}

void end_launch(State& s, const RunningLaunch& launch, LaunchStats& stats) {
  Kernel& k = *launch.kernel;
  if (k.function->sass)
    stats.counters[k.module->assembled_here(k.name) ? "launches timed by machine code of ptxas"
                                                    : "launches timed by machine code"] = 1;
  release_workspace(s, launch);
}

CUresult run_launch(State& s, const PreparedLaunch& prepared) {
  RunningLaunch launch;
  if (CUresult e = begin_launch(s, prepared, launch); e != CUDA_SUCCESS) return e;
  on_clean_thread([&] {
    try {
      LaunchStats stats = s.gpu.launch(launch.config);
      end_launch(s, launch, stats);
      s.add(launch.kernel->name, stats);
    } catch (const KernelFault& fault) {
      release_workspace(s, launch);
      s.fault(fault.diagnosis);
    }
  });
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
