// Kernels of stream_kernels.cu, launched by nvcc's host code.
#pragma once
#include <cuda_runtime_api.h>

/// When a CTA began and ended (%globaltimer), and where.
struct Stamp {
  unsigned long long begin, end;
  unsigned sm, unused;
};
/// CTAs of 128 threads that run for so many cycles; `shared` bytes each.
void launch_stay(Stamp* to, unsigned ctas, unsigned cycles, unsigned shared, cudaStream_t stream);
/// The same; it lets its dependents start at once, and begins beside the kernel ahead of it when that one lets it.
void launch_dependent_stay(Stamp* to, unsigned ctas, unsigned cycles, cudaStream_t stream);
/// Runs until *flag is set.
void launch_wait(volatile unsigned* flag, cudaStream_t stream);
/// *to = value, after so many cycles.
void launch_set(volatile unsigned* to, unsigned value, unsigned cycles, cudaStream_t stream);
/// *to = *from + 1, after so many cycles.
void launch_next(volatile unsigned* to, const volatile unsigned* from, unsigned cycles, cudaStream_t stream);
