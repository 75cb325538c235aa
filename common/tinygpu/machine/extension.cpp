#include "common/tinygpu/machine/extension.h"

#include <algorithm>

namespace tinygpu {

Extension* Extensions::find_alias(const std::type_info& type) {
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return *k.type == type; });
  Extension* const state = same == known_.end() ? nullptr : same->state;
  known_.push_back({&type, state});
  return state;
}

void Extensions::made(const std::type_info& type, Extension* state) {
  for (Known& k : known_)
    if (*k.type == type) k.state = state;
}

}  // namespace tinygpu
