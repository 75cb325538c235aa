// Kernels of runtime_kernels.cu, by their host stubs.
#pragma once
#include <cuda_runtime_api.h>

void saxpy(int n, float a, const float* x, float* y);
void fill_shared(int* out, int n);
void write_symbols(int value);
void read_symbols(int* out);
void cluster_ranks(unsigned* out);
void fixed_cluster(unsigned* out);
void bounded(int* out);
void store_at(int* p);
void store_misaligned(char* p);
void fail_assert(int value);
void stop_here();
void print_values(int n);
void wait_forever();
void grid_sum(const int* in, int* out, int n);
extern const void* const counter_symbol;
extern const void* const table_symbol;
int managed_value();
void set_managed_value(int v);
/// Launches with <<<>>> from nvcc's host code.
void launch_saxpy(int n, float a, const float* x, float* y, cudaStream_t stream);
void launch_packed(char c, double d, short s, const long long (&values)[3], double* out);
