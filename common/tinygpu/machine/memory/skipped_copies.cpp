#include "common/tinygpu/machine/memory/skipped_copies.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {

void SkippedCopies::add(uint32_t offset, uint64_t bytes) {
  if (!bytes) return;
  const size_t end = size_t((offset + bytes - 1) / kChunk + 1);
  if (chunks_.size() < end) chunks_.resize(end);
  std::fill(chunks_.begin() + offset / kChunk, chunks_.begin() + long(end), true);
}

bool SkippedCopies::overlaps(uint32_t offset, uint32_t bytes) const {
  for (size_t i = offset / kChunk; i <= (offset + bytes - 1) / kChunk && i < chunks_.size(); ++i)
    if (chunks_[i]) return true;
  return false;
}

void warn_if_steering(const Warp& w, const char* what) {
  if (!w.gpu().options.timing_only || !(w.current_op().flags & Op::steers)) return;
  w.report(Severity::warning, "timing-only-control",
           std::string(what) +
               " decides where this kernel branches or what memory it reaches, and in a timing-only run it is not "
               "computed",
           "run it without --timing-only: then the clock is right");
}

}  // namespace tinygpu
