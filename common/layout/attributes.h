// How functions here are declared: usable on the host, in kernels and at compile time.
#pragma once

#ifdef __CUDACC__
#define GEN5_LAYOUT __host__ __device__ constexpr
#else
#define GEN5_LAYOUT constexpr
#endif
