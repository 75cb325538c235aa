// Which lines of one run's sources are which of another's, where the sources changed between.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tinygpu::observe {

/// A line of a file, by the file's path.
using SourceLine = std::pair<std::string, int>;

/// Lines of `before` that are in `after`, as kernels' "source" has them: equal lines in the same order, and between two
/// such pairs the lines that changed, if there are as many on both sides. Files are partners by name; a file that is
/// left over on each side is the other's partner.
std::map<SourceLine, SourceLine> align_lines(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after);

}  // namespace tinygpu::observe
