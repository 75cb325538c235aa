#include "common/tinygpu/timing/spec.h"

#include <stdexcept>

namespace tinygpu {

double MachineSpec::number(const std::string& key) const {
  auto it = numbers.find(key);
  if (it == numbers.end()) throw std::out_of_range("machine profile " + name + " has no number \"" + key + "\"");
  return it->second;
}

}  // namespace tinygpu
