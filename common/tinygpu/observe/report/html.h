// Text on its way into a page.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tinygpu::observe {

/// For the text of an element and for an attribute in double quotes.
std::string html(std::string_view text);

/// 12,345
std::string thousands(uint64_t n);

/// For a <script type="application/json">: nothing in it ends the element or begins a comment. What is not UTF-8 is
/// replaced.
std::string script(const nlohmann::ordered_json& data);

}  // namespace tinygpu::observe
