#include "common/tinygpu/machine/extension.h"

#include <algorithm>

namespace tinygpu {

Extension* Extensions::find_alias(const std::type_info& type) {
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return *k.type == type; });
  if (same == known_.end()) return nullptr;
  Extension* const state = same->state;
  known_.push_back({&type, state});
  return state;
}

}  // namespace tinygpu
