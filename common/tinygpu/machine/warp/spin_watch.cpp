#include "common/tinygpu/machine/warp/spin_watch.h"

#include <algorithm>

#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 29;
}

}  // namespace

void SpinWatch::branches_back(const Warp& w, uint32_t taken) {
  if (left_ == 0 || (taken & ~closed_) == 0) return;
  --left_;
  const uint64_t state = mix(w.state(), taken);
  auto loop = std::ranges::find(loops_, taken, &Loop::mask);
  if (loop == loops_.end()) {
    loops_.push_back({taken, state});
    return;
  }
  if (loop->state == state) {
    closed_ |= taken;
  } else if (++loop->since == loop->next) {
    loop->state = state;
    loop->since = 0;
    loop->next *= 2;
  }
}

}  // namespace tinygpu
