#include "common/tinygpu/cuda/function.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

namespace {

/// Bytes of shared memory that an SM has for the kernel's CTAs by what the program prefers: a carveout in percent, else
/// a cache configuration, else all of it. The rule is that of cuda_occupancy.h, which CUDA publishes.
uint32_t preferred_shared(const MachineSpec& spec, const Kernel& k) {
  int percent = k.carveout;
  if (percent < 0) switch (k.cache_config) {
      case CU_FUNC_CACHE_PREFER_L1: percent = 0; break;
      case CU_FUNC_CACHE_PREFER_EQUAL: percent = 50; break;
      default: percent = 100;
    }
  return api::shared_split(uint64_t(spec.shared_per_sm) * uint32_t(percent) / 100);
}

}  // namespace

CUresult parameter_of(Kernel& k, size_t index, size_t* offset, size_t* size) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  if (index >= k.loaded->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  if (offset) *offset = k.loaded->parameters[index].offset;
  if (size) *size = k.loaded->parameters[index].size;
  return CUDA_SUCCESS;
}

CUresult function_attribute(State& s, Kernel& k, int attribute, int& value) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  const api::Kernel& f = *k.loaded;
  const MachineSpec& spec = s.machine.spec();
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: value = int(api::max_threads(spec, f)); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: value = int(f.static_shared); break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: value = int(f.constant_bytes); break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: value = int(f.local_bytes); break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: value = int(f.registers); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: value = k.module->target_number(); break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: value = spec.compute_major * 10 + spec.compute_minor; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: value = int(dynamic_shared_limit(spec, k)); break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: value = k.carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: value = f.explicit_cluster; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
      const int axis = attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
      value = int(k.required_cluster[0] ? k.required_cluster[axis] : f.required_cluster[axis]);
      break;
    }
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: value = k.non_portable_cluster; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: value = k.cluster_policy; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(State& s, Kernel& k, int attribute, int value) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  const MachineSpec& spec = s.machine.spec();
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const uint32_t used = k.loaded->static_shared;
      const uint32_t most = used < spec.shared_per_block_optin ? spec.shared_per_block_optin - used : 0;
      if (value < 0 || uint32_t(value) > most) {
        say("attribute-refused",
            fmt::format(
                "kernel {}: {} bytes of dynamic shared memory asked for; with {} static bytes at most {} are left",
                k.name, value, used, most));
        return CUDA_ERROR_INVALID_VALUE;
      }
      k.max_dynamic_shared = value;
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      k.carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (value < 0 || k.loaded->required_cluster[0]) return CUDA_ERROR_INVALID_VALUE;
      k.required_cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = uint32_t(value);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: k.non_portable_cluster = value != 0; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
        return CUDA_ERROR_INVALID_VALUE;
      k.cluster_policy = value;
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult max_active_blocks(State& s, Kernel& k, int threads, size_t dynamic_shared, int& blocks) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  if (threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  blocks = 0;
  if (uint32_t(threads) > api::max_threads(s.machine.spec(), *k.loaded)) return CUDA_SUCCESS;
  if (dynamic_shared > dynamic_shared_limit(s.machine.spec(), k)) return CUDA_SUCCESS;
  blocks = int(api::blocks_per_sm(s.machine.spec(), *k.loaded, uint32_t(threads), uint32_t(dynamic_shared),
                                  preferred_shared(s.machine.spec(), k)));
  return CUDA_SUCCESS;
}

CUresult available_dynamic_shared(State& s, Kernel& k, int blocks, int threads, size_t& bytes) {
  int fit = 0;
  if (CUresult e = max_active_blocks(s, k, threads, 0, fit); e != CUDA_SUCCESS) return e;
  if (blocks <= 0 || blocks > fit) return CUDA_ERROR_INVALID_VALUE;
  // As cuda_occupancy.h has it: a CTA alone has what it asks for, several share what is preferred, and what the system
  // keeps for each is not taken off.
  constexpr uint32_t kUnit = 128;
  const MachineSpec& spec = s.machine.spec();
  const uint32_t used = k.loaded->static_shared;
  const uint32_t most = uint32_t(k.max_dynamic_shared >= 0 ? spec.shared_per_block_optin : spec.shared_per_block);
  const uint32_t all = blocks == 1 ? most : std::max(preferred_shared(spec, k), api::shared_split(1));
  const uint32_t each = std::min(all / uint32_t(blocks) / kUnit * kUnit, most);
  bytes = std::min(each > used ? each - used : 0, uint32_t(dynamic_shared_limit(spec, k)));
  return CUDA_SUCCESS;
}

CUresult potential_block_size(State& s, Kernel& k, size_t (*dynamic_of)(int), size_t dynamic_shared, int limit,
                              int& grid, int& block) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  int most = int(api::max_threads(s.machine.spec(), *k.loaded)) / 32 * 32;
  if (limit > 0 && limit < most) most = (limit + 31) / 32 * 32;
  int best = 0;
  grid = block = 0;
  for (int threads = most; threads > 0; threads -= 32) {
    const int used = limit > 0 ? std::min(threads, limit) : threads;
    int blocks = 0;
    if (CUresult e = max_active_blocks(s, k, used, dynamic_of ? dynamic_of(used) : dynamic_shared, blocks); e) return e;
    if (blocks * used <= best) continue;
    best = blocks * used;
    block = used;
    grid = blocks * s.machine.spec().sms;
  }
  return CUDA_SUCCESS;
}

CUresult active_clusters_of(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared, uint32_t size,
                            int& clusters) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  if (threads == 0) return CUDA_ERROR_INVALID_VALUE;
  clusters = 0;
  if (threads > api::max_threads(s.machine.spec(), *k.loaded) ||
      dynamic_shared > dynamic_shared_limit(s.machine.spec(), k))
    return CUDA_SUCCESS;
  clusters = int(api::active_clusters(s.machine.spec(), *k.loaded, uint32_t(threads), uint32_t(dynamic_shared), size));
  return CUDA_SUCCESS;
}

CUresult potential_cluster_size(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared, int& size) {
  uint32_t n = k.non_portable_cluster ? s.machine.spec().max_cluster : s.machine.spec().portable_cluster;
  for (;; n /= 2) {
    int clusters = 0;
    if (CUresult e = active_clusters_of(s, k, threads, dynamic_shared, n, clusters); e != CUDA_SUCCESS) return e;
    if (n == 1 || clusters > 0) break;
  }
  size = int(n);
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
