// The twin for other languages: compare_sdpa.py calls it.
#include <cstdint>
#include <cstdio>
#include <exception>

#include "chapters/14_attention/hopper/hopper.h"

/// Pointers to device memory, sizes as in Problem. 0, or 1 behind a message on stderr.
extern "C" int attention_hopper(void* q, void* k, void* v, void* o, uint32_t heads, uint32_t queries, uint32_t keys,
                                uint32_t dim, uint32_t causal, cudaStream_t stream) try {
  const auto words = [](void* p) { return static_cast<uint16_t*>(p); };
  attention::hopper::launch({heads, queries, keys, dim, causal != 0, words(q), words(k), words(v), words(o)}, stream);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
