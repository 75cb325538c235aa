// Files of page/, as cmake/Embed.cmake puts them into the library.
#pragma once
#include <string_view>

namespace tinygpu::observe::parts {

extern const std::string_view kPage;    // page.html, with {{name}} where something comes in
extern const std::string_view kStill;   // still.html: the same without data and script
extern const std::string_view kStyle;   // page.css
extern const std::string_view kScript;  // the .js files, one behind the other

}  // namespace tinygpu::observe::parts
