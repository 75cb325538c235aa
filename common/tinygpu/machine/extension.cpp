#include "common/tinygpu/machine/extension.h"

namespace tinygpu {

Extension* Extensions::find_alias(const std::type_info& type) {
  Extension* state = nullptr;
  const auto look = [&](const Known& k) {
    if (k.type && *k.type == type) state = k.state;
  };
  for (const Known& k : first_) look(k);
  for (const Known& k : more_) look(k);
  for (Known& k : first_)
    if (!k.type) {
      k = {&type, state};
      return state;
    }
  more_.push_back({&type, state});
  return state;
}

void Extensions::made(const std::type_info& type, Extension* state) {
  const auto tell = [&](Known& k) {
    if (k.type && *k.type == type) k.state = state;
  };
  for (Known& k : first_) tell(k);
  for (Known& k : more_) tell(k);
}

}  // namespace tinygpu
