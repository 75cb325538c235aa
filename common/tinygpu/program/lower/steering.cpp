// Which results decide what a function does: found backwards from guards, addresses and targets.
#include <algorithm>

#include "common/tinygpu/program/lower/touch.h"

namespace tinygpu {

std::vector<bool> find_steering(const std::vector<Touch>& touches) {
  uint32_t registers = 0;
  for (const Touch& t : touches)
    for (const auto* list : {&t.uses, &t.defs, &t.async_uses, &t.async_defs})
      for (const uint32_t r : *list) registers = std::max(registers, r + 1);
  std::vector<bool> steers(registers), found(touches.size());
  for (const Touch& t : touches)
    for (const uint32_t r : t.steers) steers[r] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = touches.size(); i-- > 0;) {
      const Touch& t = touches[i];
      if (found[i]) continue;
      const auto decides = [&](uint32_t r) { return r < registers && steers[r]; };
      if (std::ranges::none_of(t.defs, decides) && std::ranges::none_of(t.async_defs, decides)) continue;
      found[i] = changed = true;
      for (const auto* list : {&t.uses, &t.async_uses})
        for (const uint32_t r : *list)
          if (r < registers) steers[r] = true;
    }
  }
  return found;
}

}  // namespace tinygpu
