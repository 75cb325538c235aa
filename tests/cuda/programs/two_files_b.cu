// The other file: a device function, a variable, and host code that reads it.
__device__ int shared_counter = 100;
__device__ __noinline__ int twice(int x) { return 2 * x; }

int read_counter() {
  int value = 0;
  cudaMemcpyFromSymbol(&value, shared_counter, sizeof value);
  return value;
}
