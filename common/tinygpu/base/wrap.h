// Lines of text for a terminal.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tinygpu {

/// Columns that UTF-8 text takes.
size_t columns(std::string_view text);

/// Text in lines of `width` columns at most, broken at spaces. The first begins at column `indent`, those after it with
/// `prefix`.
std::string wrapped(std::string_view text, size_t indent, std::string_view prefix, size_t width = 100);

}  // namespace tinygpu
