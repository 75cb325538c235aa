#include "common/tinygpu/cuda/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/cuda/launch_capture.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

namespace {

CUresult refuse(const Kernel& k, CUresult code, const std::string& why, const std::string& help = {}) {
  say("launch-refused", fmt::format("kernel {} was not launched: {}", k.name, why), help);
  return code;
}

/// What a driver answers, and the runtime of CUDA 13 on an H200.
CUresult code_of_refusal(const api::LaunchRefused& e) {
  using Reason = api::LaunchRefused::Reason;
  switch (e.reason) {
    case Reason::configuration:
    case Reason::threads:
    case Reason::dynamic_shared:
    case Reason::parameters: return CUDA_ERROR_INVALID_VALUE;
    case Reason::cluster: return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    case Reason::resources: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case Reason::cooperative: return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult pack_parameters(const LaunchRequest& r, std::vector<uint8_t>& out) {
  const api::Kernel& k = *r.kernel->loaded;
  if (r.packed) {
    if (r.packed_size < out.size())
      return refuse(*r.kernel, CUDA_ERROR_INVALID_VALUE,
                    fmt::format("{} bytes of parameters given, {} needed", r.packed_size, out.size()));
    if (!out.empty()) std::memcpy(out.data(), r.packed, out.size());
    return CUDA_SUCCESS;
  }
  if (!k.parameters.empty() && !r.args)
    return refuse(*r.kernel, CUDA_ERROR_INVALID_VALUE,
                  fmt::format("no parameters given, {} needed", k.parameters.size()));
  for (size_t i = 0; i < k.parameters.size(); ++i) {
    if (!r.args[i])
      return refuse(*r.kernel, CUDA_ERROR_INVALID_VALUE, fmt::format("the pointer to parameter {} is null", i));
    std::memcpy(out.data() + k.parameters[i].offset, r.args[i], k.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

/// A green context's SMs have to hold a cluster, and all of a cooperative grid.
CUresult check_room(State& s, const LaunchRequest& r, const LaunchConfig& c) {
  const auto size = uint32_t(c.cluster.count());
  uint64_t groups = 0;
  for (const auto& sms : s.machine.sm_groups(size))
    groups += std::ranges::all_of(sms, [&](uint32_t sm) { return (*r.only_on)[sm]; });
  if (groups == 0)
    return refuse(*r.kernel, CUDA_ERROR_INVALID_CLUSTER_SIZE,
                  fmt::format("the SMs of its green context hold no cluster of {} CTAs", size));
  const uint64_t most =
      groups * size *
      api::blocks_per_sm(s.machine.spec(), *r.kernel->loaded, uint32_t(c.block.count()), c.dynamic_shared);
  if (r.cooperative && c.grid.count() > most)
    return refuse(
        *r.kernel, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        fmt::format("a cooperative grid of {} CTAs, and the SMs of its green context hold {}", c.grid.count(), most));
  return CUDA_SUCCESS;
}

}  // namespace

uint32_t dynamic_shared_limit(const MachineSpec& spec, const Kernel& k) {
  const uint32_t used = k.loaded ? k.loaded->static_shared : 0;
  if (k.max_dynamic_shared >= 0) return uint32_t(k.max_dynamic_shared);
  return used < spec.shared_per_block ? spec.shared_per_block - used : 0;
}

CUresult prepare(State& s, const LaunchRequest& r, PreparedLaunch& out) {
  Kernel& k = *r.kernel;
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  api::LaunchRequest wanted;
  wanted.grid = r.grid;
  wanted.block = r.block;
  if (r.cluster_given) wanted.cluster = r.cluster;
  if (const uint32_t* n = k.required_cluster; n[0])
    wanted.required_cluster = Dim3{n[0], std::max(1u, n[1]), std::max(1u, n[2])};
  wanted.dynamic_shared = r.dynamic_shared;
  wanted.most_dynamic_shared = dynamic_shared_limit(s.machine.spec(), k);
  wanted.portable_cluster_only = !k.non_portable_cluster;
  wanted.cooperative = r.cooperative;
  try {
    out.config = api::prepare(s.machine.spec(), *k.loaded, std::move(wanted));
  } catch (const api::LaunchRefused& e) {
    return refuse(k, code_of_refusal(e), e.what(), e.help);
  }
  if (r.only_on) {
    if (CUresult e = check_room(s, r, out.config); e != CUDA_SUCCESS) return e;
    out.config.only_on = r.only_on;
  }
  if (CUresult e = pack_parameters(r, out.config.params); e != CUDA_SUCCESS) return e;
  out.request = r;
  out.request.args = nullptr;
  out.request.packed = nullptr;
  return CUDA_SUCCESS;
}

CUresult begin_launch(State& s, const PreparedLaunch& prepared, RunningLaunch& out) {
  if (!s.modules.has_kernel(prepared.request.kernel)) return CUDA_ERROR_INVALID_HANDLE;
  Kernel& k = *prepared.request.kernel;
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  out.kernel = &k;
  out.config = prepared.config;
  out.config.kernel = k.loaded->function;
  out.config.program = k.loaded->program;
  if (out.config.cooperative) out.config.grid_workspace = api::make_grid_workspace(s.gpu);
  log_launch();
  if (!s.options.capture.empty()) capture(s, out);
  s.observers.attach(s.machine, s.hooks.is_child());
  s.machine.observe();
  return CUDA_SUCCESS;
}

void release_workspace(State& s, const RunningLaunch& launch) {
  if (launch.config.grid_workspace) s.machine.memory().release(launch.config.grid_workspace);
}

void end_launch(State& s, const RunningLaunch& launch, LaunchStats& stats) {
  const api::Kernel& k = *launch.kernel->loaded;
  if (k.timed_by_machine_code)
    stats.counters[k.assembled_here ? "launches timed by machine code of ptxas" : "launches timed by machine code"] = 1;
  release_workspace(s, launch);
}

}  // namespace tinygpu::cuda
