// Loading modules from memory and files, for cuModule*, cuLibrary* and cudaLibrary*.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/cuda/module.h"

namespace tinygpu::cuda {

class State;

/// The option arrays of cuModuleLoadDataEx and its like.
struct JitOptions {
  CUjit_option* options = nullptr;
  void** values = nullptr;
  unsigned count = 0;
};

/// Loads PTX text, a fatbin or a fatbin wrapper; `handle` receives the module. Diagnoses go to the error log buffer of
/// the options, or to stderr. Modules end with their context, libraries don't.
CUresult load_image(State& s, const void* image, const JitOptions& jit, void** handle, bool ends_with_context = false);
/// The same from a file, a regular one. FILE_NOT_FOUND.
CUresult load_file(State& s, const char* path, const JitOptions& jit, void** handle, bool ends_with_context = false);
/// Loads them and takes them away again, to see whether they fit together.
CUresult try_images(State& s, const image::Images& images, const JitOptions& jit);
/// False if the options name no buffer for it.
bool log_error(const JitOptions& jit, const std::string& text);
/// The bytes of a regular file, or nothing, and a diagnosis.
std::optional<std::vector<uint8_t>> read_code(const char* path);
// All others: INVALID_HANDLE for a dead module.
CUresult unload(State& s, const void* module);

CUresult count_kernels(State& s, const void* module, unsigned* count);
/// The handles of the first `count` kernels.
CUresult list_kernels(State& s, const void* module, void** handles, unsigned count);
/// NOT_FOUND if the module has no such kernel, or variable.
CUresult kernel_in(State& s, const void* module, const char* name, void** handle);
CUresult find_global(State& s, const void* module, const char* name, void** address, size_t* size);

/// cuOccupancyMaxActiveClusters with the cluster size from launch attributes or the kernel itself.
CUresult count_active_clusters(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared,
                               const CUlaunchAttribute* attributes, unsigned count, int& out);

}  // namespace tinygpu::cuda
