#include "common/tinygpu/cuda/function.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/base/checked.h"
#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

namespace {

uint32_t max_threads(const MachineSpec& spec, const Function& f) {
  uint32_t most = spec.max_threads_per_block;
  const uint32_t* n = f.source->maxntid[0] ? f.source->maxntid : f.source->reqntid;
  if (n[0]) most = uint32_t(std::min<uint64_t>(most, volume(n[0], std::max(1u, n[1]), std::max(1u, n[2]))));
  // A register file holds so many warps: registers are given out per warp in units of 256.
  if (f.registers_per_thread) {
    const uint32_t per_warp = (f.registers_per_thread * 32 + 255) / 256 * 256;
    most = std::min(most, spec.registers_per_sm / per_warp * 32);
  }
  return most;
}

}  // namespace

uint64_t volume(uint32_t x, uint32_t y, uint32_t z) { return (CheckedSize(x) * y * z).value(); }

CUresult parameter_of(Kernel& k, size_t index, size_t* offset, size_t* size) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  if (index >= k.function->params.size()) return CUDA_ERROR_INVALID_VALUE;
  if (offset) *offset = k.function->params[index].offset;
  if (size) *size = k.function->params[index].size;
  return CUDA_SUCCESS;
}

CUresult function_attribute(State& s, Kernel& k, int attribute, int& value) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  const Function& f = *k.function;
  const MachineSpec& spec = s.gpu.spec;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: value = int(max_threads(spec, f)); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: value = int(f.static_shared); break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: value = 0; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: {
      const uint32_t frame = k.module->frame_bytes(k.name);
      value = int(frame ? frame : f.local_bytes);
      break;
    }
    case CU_FUNC_ATTRIBUTE_NUM_REGS: value = int(f.registers_per_thread); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: value = k.module->target_number(); break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: value = spec.compute_major * 10 + spec.compute_minor; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: value = int(dynamic_shared_limit(spec, k)); break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: value = k.carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: value = f.source->explicit_cluster; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
      const int axis = attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
      value = int(k.required_cluster[0] ? k.required_cluster[axis] : f.source->reqnctapercluster[axis]);
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
  const MachineSpec& spec = s.gpu.spec;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const uint32_t used = k.function->static_shared;
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
      if (value < 0 || k.function->source->reqnctapercluster[0]) return CUDA_ERROR_INVALID_VALUE;
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
  if (uint32_t(threads) > max_threads(s.gpu.spec, *k.function)) return CUDA_SUCCESS;
  if (dynamic_shared > dynamic_shared_limit(s.gpu.spec, k)) return CUDA_SUCCESS;
  blocks = int(occupancy(s.gpu.spec, *k.function, uint32_t(threads), uint32_t(dynamic_shared)).blocks_per_sm);
  return CUDA_SUCCESS;
}

CUresult available_dynamic_shared(State& s, Kernel& k, int blocks, int threads, size_t& bytes) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  if (blocks <= 0 || threads <= 0 || uint32_t(threads) > max_threads(s.gpu.spec, *k.function))
    return CUDA_ERROR_INVALID_VALUE;
  auto fits = [&](uint32_t n) {
    return occupancy(s.gpu.spec, *k.function, uint32_t(threads), n).blocks_per_sm >= uint32_t(blocks);
  };
  if (!fits(0)) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t used = k.function->static_shared;
  uint32_t low = 0, high = s.gpu.spec.shared_per_block_optin > used ? s.gpu.spec.shared_per_block_optin - used : 0;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (fits(middle))
      low = middle;
    else
      high = middle - 1;
  }
  bytes = low;
  return CUDA_SUCCESS;
}

CUresult potential_block_size(State& s, Kernel& k, size_t (*dynamic_of)(int), size_t dynamic_shared, int limit,
                              int& grid, int& block) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  int most = int(max_threads(s.gpu.spec, *k.function)) / 32 * 32;
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
    grid = blocks * s.gpu.spec.sms;
  }
  return CUDA_SUCCESS;
}

CUresult active_clusters_of(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared, uint32_t size,
                            int& clusters) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  if (threads == 0) return CUDA_ERROR_INVALID_VALUE;
  clusters = 0;
  if (threads > max_threads(s.gpu.spec, *k.function) || dynamic_shared > dynamic_shared_limit(s.gpu.spec, k))
    return CUDA_SUCCESS;
  clusters = int(active_clusters(s.gpu.spec, *k.function, uint32_t(threads), uint32_t(dynamic_shared), size));
  return CUDA_SUCCESS;
}

CUresult potential_cluster_size(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared, int& size) {
  uint32_t n = k.non_portable_cluster ? s.gpu.spec.max_cluster : s.gpu.spec.portable_cluster;
  for (;; n /= 2) {
    int clusters = 0;
    if (CUresult e = active_clusters_of(s, k, threads, dynamic_shared, n, clusters); e != CUDA_SUCCESS) return e;
    if (n == 1 || clusters > 0) break;
  }
  size = int(n);
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
