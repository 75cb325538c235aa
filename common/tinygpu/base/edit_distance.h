// How much two words differ: for suggestions where one is not known.
#pragma once
#include <cstddef>
#include <string_view>

namespace tinygpu {

/// How many letters must be put in, left out or changed to make `b` of `a` (Levenshtein's distance).
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace tinygpu
