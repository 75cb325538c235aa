// Kernels of runtime_kernels.cu, by their host stubs.
#pragma once
#include <cuda_runtime_api.h>

#ifdef __CUDACC__
#define KERNEL __global__
#else
#define KERNEL  // the host stub has the kernel's name
#endif

KERNEL void saxpy(int n, float a, const float* x, float* y);
KERNEL void fill_shared(int* out, int n);
KERNEL void write_symbols(int value);
KERNEL void read_symbols(int* out);
KERNEL void cluster_ranks(unsigned* out);
KERNEL void fixed_cluster(unsigned* out);
KERNEL void bounded(int* out);
KERNEL void store_at(int* p);
KERNEL void store_misaligned(char* p);
KERNEL void fail_assert(int value);
KERNEL void stop_here();
KERNEL void recurse(int depth, int* out);
KERNEL void print_values(int n);
KERNEL void wait_forever();
KERNEL void grid_sum(const int* in, int* out, int n);
extern const void* const counter_symbol;
extern const void* const table_symbol;
/// Launches cluster_ranks or fixed_cluster, 32 threads a CTA, in clusters of `cluster`.
cudaError_t launch_clusters(void (*kernel)(unsigned*), unsigned* out, unsigned grid, unsigned cluster);
int managed_value();
void set_managed_value(int v);
/// Launches with <<<>>> from nvcc's host code.
void launch_saxpy(int n, float a, const float* x, float* y, cudaStream_t stream);
void launch_packed(char c, double d, short s, const long long (&values)[3], double* out);
