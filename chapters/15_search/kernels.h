// The kernels of this program: points that the template was compiled for.
#pragma once
#include <span>

#include "chapters/15_search/space.h"

namespace search {

/// On device memory, rows contiguous: bf16 words, and f32.
struct Operands {
  uint16_t *a, *b;
  float* d;
  uint32_t m, n, k;
};

struct Kernel {
  tiny::Point point;
  void (*run)(const Operands&);
};

/// Steps 4 to 8 of chapter 13; what the climb tries; what the mistakes' searches find. A file each.
std::span<const Kernel> steps();
std::span<const Kernel> others();
std::span<const Kernel> wrong_winners();

/// Null where the template was not compiled for the point.
const Kernel* kernel_of(const tiny::Point& p);

}  // namespace search
