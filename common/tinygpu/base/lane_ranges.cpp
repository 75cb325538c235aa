#include "common/tinygpu/base/lane_ranges.h"

#include <fmt/format.h>

namespace tinygpu {

std::string lane_ranges(uint32_t mask) {
  std::string out;
  for (int lane = 0; lane < 32;) {
    if (!(mask >> lane & 1)) {
      ++lane;
      continue;
    }
    int end = lane;
    while (end < 31 && mask >> (end + 1) & 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", lane);
    if (end > lane) out += fmt::format(" to {}", end);
    lane = end + 1;
  }
  return out;
}

}  // namespace tinygpu
