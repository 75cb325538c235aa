// The middle of several measurements.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace gen5::probe {

/// The upper one of two; 0 of none.
inline double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + ptrdiff_t(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace gen5::probe
