// Timing-only runs (RunOptions::timing_only) move no bytes in bulk copies and compute no MMA. What a kernel does must
// not depend on such bytes and results.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/machine/extension.h"

namespace tinygpu {

class Warp;

/// Bytes of a CTA's shared memory whose copies were skipped.
class SkippedCopies final : public Extension {
 public:
  void add(uint32_t offset, uint64_t bytes);
  bool overlaps(uint32_t offset, uint32_t bytes) const;

 private:
  static constexpr uint32_t kChunk = 16;
  std::vector<bool> chunks_;
};

/// In a timing-only run: the result of the current op, `what`, is not known but decides what the kernel does
/// (Op::steers). A warning.
void warn_if_steering(const Warp& w, const char* what);

}  // namespace tinygpu
