// Views of a stopped machine as parts of an HTML page that needs no script and loads nothing.
#pragma once
#include <string>

#include "common/tinygpu/debug/wire.h"

namespace tinygpu::debug {

std::string html_of_barriers(const Json& view);
std::string html_of_operations(const Json& view);
/// A picture of all 512 columns; `view` has "map". `operations`: the view "inflight", what is under way is drawn too.
std::string html_of_tensor_memory(const Json& view, const Json& operations);
/// A matrix: the larger a number beside the others, the darker its cell.
std::string html_of_tile(const Json& view);
/// `body`: parts; `title` and `place` are text.
std::string html_page(const std::string& title, const std::string& place, const std::string& body);

}  // namespace tinygpu::debug
