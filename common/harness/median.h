// The middle of some values.
#pragma once
#include <algorithm>
#include <vector>

namespace gen5::harness {

/// Of two middle ones the upper. `values` is not empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace gen5::harness
