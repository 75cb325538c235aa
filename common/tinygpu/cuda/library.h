// Loading modules from memory and files, for cuModule*, cuLibrary* and cudaLibrary*.
#pragma once
#include <cuda.h>

#include <string>

#include "common/tinygpu/cuda/module.h"

namespace tinygpu::cuda {

class State;

/// The option arrays of cuModuleLoadDataEx and its like.
struct JitOptions {
  CUjit_option* options = nullptr;
  void** values = nullptr;
  unsigned count = 0;
};

/// Loads PTX text, a fatbin or a fatbin wrapper. Diagnoses go to the error log buffer of the options, or to stderr.
CUresult load_image(State& s, const void* image, const JitOptions& jit, Module*& out);
/// The same from a file, a regular one. FILE_NOT_FOUND.
CUresult load_file(State& s, const char* path, const JitOptions& jit, Module*& out);

/// The entry points of a module, loaded if need be. INVALID_HANDLE for a dead module.
CUresult entries_of(State& s, const void* module, Module*& out, std::vector<std::string>& names);
/// NOT_FOUND if the module has no such kernel; INVALID_HANDLE for a dead module.
CUresult find_in_module(State& s, const void* module, const char* name, Kernel*& out);
CUresult find_global(State& s, const void* module, const char* name, void** address, size_t* size);

/// cuOccupancyMaxActiveClusters with the cluster size from launch attributes or the kernel itself.
CUresult count_active_clusters(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared,
                               const CUlaunchAttribute* attributes, unsigned count, int& out);

}  // namespace tinygpu::cuda
