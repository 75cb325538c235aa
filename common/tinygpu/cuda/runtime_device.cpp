// Devices: one, the chosen machine.
#include <cstring>

#include "common/tinygpu/cuda/device.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;

namespace {

using DeviceAttribute = cudaDeviceAttr;
using Limit = cudaLimit;

unsigned device_flags = cudaDeviceScheduleAuto;

template <class F>
cudaError_t on_device(int device, F&& f) {
  return always([&](State& s) { return device == 0 ? CUresult(f(s)) : CUDA_ERROR_INVALID_DEVICE; });
}

void fill_properties(const tinygpu::MachineSpec& spec, cudaDeviceProp& p) {
  auto get = [&](int attribute) {
    int value = 0;
    device_attribute(spec, attribute, value);
    return value;
  };
  std::memset(&p, 0, sizeof p);
  std::strncpy(p.name, device_name(spec).c_str(), sizeof p.name - 1);
  device_uuid(spec, p.uuid.bytes);
  p.totalGlobalMem = spec.global_bytes;
  p.sharedMemPerBlock = spec.shared_per_block;
  p.regsPerBlock = int(spec.registers_per_sm);
  p.warpSize = 32;
  p.memPitch = size_t(get(cudaDevAttrMaxPitch));
  p.maxThreadsPerBlock = int(spec.max_threads_per_block);
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = get(cudaDevAttrMaxBlockDimX + i);
    p.maxGridSize[i] = get(cudaDevAttrMaxGridDimX + i);
  }
  p.totalConstMem = 65536;
  p.major = spec.compute_major;
  p.minor = spec.compute_minor;
  p.textureAlignment = size_t(get(cudaDevAttrTextureAlignment));
  p.texturePitchAlignment = size_t(get(cudaDevAttrTexturePitchAlignment));
  p.surfaceAlignment = size_t(get(cudaDevAttrSurfaceAlignment));
  p.multiProcessorCount = spec.sms;
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.ECCEnabled = 1;
  p.asyncEngineCount = get(cudaDevAttrAsyncEngineCount);
  p.unifiedAddressing = 1;
  p.memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = get(cudaDevAttrL2CacheSize);
  p.maxThreadsPerMultiProcessor = int(spec.max_threads_per_sm);
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = spec.shared_per_sm;
  p.regsPerMultiprocessor = int(spec.registers_per_sm);
  p.managedMemory = p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = spec.shared_per_block_optin;
  p.maxBlocksPerMultiProcessor = int(spec.max_blocks_per_sm);
  p.reservedSharedMemPerBlock = spec.reserved_shared_per_block;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.clusterLaunch = get(cudaDevAttrClusterLaunch);
  p.unifiedFunctionPointers = 1;
}

}  // namespace

extern "C" {

#include "common/tinygpu/cuda/device_calls.inc"

cudaError_t cudaGetDeviceCount(int* count) {
  return always([&](State&) { return answer(count, 1); });
}
cudaError_t cudaGetDevice(int* device) {
  return always([&](State&) { return answer(device, 0); });
}
/// From CUDA 12 on it makes the primary context.
cudaError_t cudaSetDevice(int device) {
  return on_device(device, [](State& s) {
    s.runtime_in_use = true;
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaSetValidDevices(int* devices, int count) {
  return always([&](State&) {
    if (!devices && count) return CUDA_ERROR_INVALID_VALUE;
    if (count < 0 || count > 1) return CUDA_ERROR_INVALID_VALUE;
    return count == 0 || devices[0] == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return wanted ? cudaGetDevice(device) : finish(CUDA_ERROR_INVALID_VALUE);
}
cudaError_t cudaSetDeviceFlags(unsigned flags) {
  const unsigned schedule = flags & cudaDeviceScheduleMask;
  const bool one = schedule == cudaDeviceScheduleAuto || schedule == cudaDeviceScheduleSpin ||
                   schedule == cudaDeviceScheduleYield || schedule == cudaDeviceScheduleBlockingSync;
  if (!one || flags & ~unsigned(cudaDeviceMask)) return finish(CUDA_ERROR_INVALID_VALUE);
  device_flags = flags;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  if (!flags) return finish(CUDA_ERROR_INVALID_VALUE);
  *flags = device_flags;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  return on_device(device, [&](State& s) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    fill_properties(s.machine.spec(), *p);
    return CUDA_SUCCESS;
  });
}
/// Succeeds after a fault as well; the thread's last error stays for cudaGetLastError, as on hardware.
cudaError_t cudaDeviceReset() {
  return always([](State& s) {
    s.reset();
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (!config) return finish(CUDA_ERROR_INVALID_VALUE);
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return config > cudaFuncCachePreferEqual ? finish(CUDA_ERROR_INVALID_VALUE) : cudaSuccess;
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  if (!config) return finish(CUDA_ERROR_INVALID_VALUE);
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  return config > cudaSharedMemBankSizeEightByte ? finish(CUDA_ERROR_INVALID_VALUE) : cudaSuccess;
}

// ---- Peers: there are none
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return always([&](State&) {
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    *can = 0;
    return device == 0 && peer == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return api([](State&) { return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; });
}
cudaError_t cudaDeviceDisablePeerAccess(int) {
  return api([](State&) { return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED; });
}

}  // extern "C"
