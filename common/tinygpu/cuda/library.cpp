#include "common/tinygpu/cuda/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/cuda/function.h"
#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/launch_attributes.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cuda {

namespace {

/// Writes `text` into the buffer of `buffer` and its used size into the value of `size` (which held the capacity).
/// False if the caller gave no buffer.
bool write_log(const JitOptions& jit, CUjit_option buffer, CUjit_option size, const std::string& text) {
  char* to = nullptr;
  void** size_value = nullptr;
  for (unsigned i = 0; i < jit.count; ++i) {
    if (jit.options[i] == buffer) to = static_cast<char*>(jit.values[i]);
    if (jit.options[i] == size) size_value = &jit.values[i];
  }
  if (!to || !size_value) return false;
  const auto capacity = static_cast<unsigned>(reinterpret_cast<uintptr_t>(*size_value));
  if (capacity == 0) return false;
  const size_t n = std::min<size_t>(text.size(), capacity - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
  *size_value = reinterpret_cast<void*>(uintptr_t(n));
  return true;
}

/// Loads what `choose` finds, and logs.
template <class F>
CUresult load_chosen(State& s, F&& choose, const JitOptions& jit, void** handle, bool ends_with_context) {
  if (!image::host_accessible(jit.options, jit.count * sizeof *jit.options, false) ||
      !image::host_accessible(jit.values, jit.count * sizeof *jit.values, true))
    return CUDA_ERROR_INVALID_VALUE;
  std::string message;
  CUresult e = CUDA_SUCCESS;
  std::unique_ptr<Module> module;
  try {
    module = std::make_unique<Module>(s.machine, choose());
    e = module->load_quietly();
    message = module->log();
  } catch (const api::LoadError& refused) {
    e = code_of(refused);
    message = refused.what();
  }
  write_log(jit, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
  const bool logged = write_log(jit, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, message);
  if (e != CUDA_SUCCESS) {
    if (!logged) say("module-not-loaded", message);
    return e;
  }
  module->ends_with_context = ends_with_context;
  *handle = s.modules.add(std::move(module));
  return CUDA_SUCCESS;
}

/// f(module) for a live module.
template <class F>
CUresult on_module(State& s, const void* handle, F&& f) {
  auto* m = static_cast<Module*>(const_cast<void*>(handle));
  return s.modules.has(m) ? CUresult(f(*m)) : CUDA_ERROR_INVALID_HANDLE;
}

/// Larger files than this hold no image that a GPU could load.
constexpr uint64_t kLargestFile = uint64_t(1) << 32;

}  // namespace

CUresult load_image(State& s, const void* image, const JitOptions& jit, void** handle, bool ends_with_context) {
  if (!handle || !image) return CUDA_ERROR_INVALID_VALUE;
  return load_chosen(
      s,
      [&] {
        if (const Link* link = s.links.of_result(image)) return link->pieces;
        return image::images_at(image, s.machine.spec(), ptx_kept_by_compilers());
      },
      jit, handle, ends_with_context);
}

bool log_error(const JitOptions& jit, const std::string& text) {
  return write_log(jit, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, text);
}

CUresult try_images(State& s, const image::Images& images, const JitOptions& jit) {
  void* module = nullptr;
  const CUresult e = load_chosen(
      s, [&] { return images; }, jit, &module, true);
  if (e == CUDA_SUCCESS) unload(s, module);
  return e;
}

std::optional<std::vector<uint8_t>> read_code(const char* path) {
  std::string why;
  auto bytes = image::read_regular_file(path, kLargestFile, why);
  if (!bytes) say("file-not-found", fmt::format("cannot read {}: {}", path, why));
  return bytes;
}

CUresult load_file(State& s, const char* path, const JitOptions& jit, void** handle, bool ends_with_context) {
  if (!handle || !path) return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = read_code(path);
  if (!bytes) return CUDA_ERROR_FILE_NOT_FOUND;
  return load_chosen(
      s, [&] { return image::images_of(image::Bytes(*bytes), s.machine.spec(), ptx_kept_by_compilers()); }, jit, handle,
      ends_with_context);
}

CUresult unload(State& s, const void* module) {
  return s.modules.remove(static_cast<const Module*>(module)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult count_kernels(State& s, const void* module, unsigned* count) {
  return on_module(s, module, [&](Module& m) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    const CUresult e = m.load();
    if (e == CUDA_SUCCESS) *count = unsigned(m.entries().size());
    return e;
  });
}

CUresult list_kernels(State& s, const void* module, void** handles, unsigned count) {
  return on_module(s, module, [&](Module& m) {
    if (!handles) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult e = m.load(); e != CUDA_SUCCESS) return e;
    const std::vector<std::string> names = m.entries();
    for (unsigned i = 0; i < count && i < names.size(); ++i) handles[i] = m.kernel_handle(names[i]);
    return CUDA_SUCCESS;
  });
}

CUresult kernel_in(State& s, const void* module, const char* name, void** handle) {
  if (!handle || !name) return CUDA_ERROR_INVALID_VALUE;
  return on_module(s, module, [&](Module& m) {
    Kernel* k = m.kernel(name);
    if (k) *handle = k;
    return k ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}

CUresult find_global(State& s, const void* module, const char* name, void** address, size_t* size) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  return on_module(s, module, [&](Module& m) {
    const auto v = m.variable(name);
    if (!v) return CUDA_ERROR_NOT_FOUND;
    if (address) *address = reinterpret_cast<void*>(v->address);
    if (size) *size = v->size;
    return CUDA_SUCCESS;
  });
}

CUresult count_active_clusters(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared,
                               const CUlaunchAttribute* attributes, unsigned count, int& out) {
  if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
  LaunchRequest r;
  const void* event = nullptr;
  if (CUresult e = read_attributes(attributes, count, r, event); e != CUDA_SUCCESS) return e;
  const uint32_t* required = k.loaded->required_cluster;
  if (!r.cluster_given && required[0]) r.cluster = {required[0], std::max(1u, required[1]), std::max(1u, required[2])};
  const uint64_t size = api::volume(r.cluster.x, r.cluster.y, r.cluster.z);
  if (size == 0 || size > (k.non_portable_cluster ? s.machine.spec().max_cluster : s.machine.spec().portable_cluster))
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  return active_clusters_of(s, k, threads, dynamic_shared, uint32_t(size), out);
}

}  // namespace tinygpu::cuda
