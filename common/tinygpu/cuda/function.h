// Attributes and occupancy of kernels, for both APIs.
#pragma once
#include <cuda.h>

#include <cstdint>

#include "common/tinygpu/cuda/module.h"

namespace tinygpu::cuda {

class State;

/// Value of a CUfunction_attribute. INVALID_VALUE for a number that is none.
CUresult function_attribute(State& s, Kernel& k, int attribute, int& value);
/// Sets one (cudaFuncAttribute has the same numbers). INVALID_VALUE for values outside the machine's limits and for
/// attributes that cannot be set.
CUresult set_function_attribute(State& s, Kernel& k, int attribute, int value);

/// Where a parameter lies among the kernel's; either place may be null.
CUresult parameter_of(Kernel& k, size_t index, size_t* offset, size_t* size);

CUresult max_active_blocks(State& s, Kernel& k, int threads, size_t dynamic_shared, int& blocks);
/// The largest dynamic shared memory with which `blocks` CTAs of `threads` fit one SM.
CUresult available_dynamic_shared(State& s, Kernel& k, int blocks, int threads, size_t& bytes);
/// The block size with the highest occupancy, largest first, and the grid that fills the machine with it.
CUresult potential_block_size(State& s, Kernel& k, size_t (*dynamic_of)(int threads), size_t dynamic_shared, int limit,
                              int& grid, int& block);
CUresult potential_cluster_size(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared, int& size);
/// How many clusters of `size` such CTAs can be resident: none if no launch may have such CTAs.
CUresult active_clusters_of(State& s, Kernel& k, uint64_t threads, size_t dynamic_shared, uint32_t size, int& clusters);

}  // namespace tinygpu::cuda
