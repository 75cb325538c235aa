// The page around the data: its fixed parts lie in page/ and are built in.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

namespace tinygpu::observe {

/// `title` is text; `tables` is HTML that can be read without a script; `data` is what the script draws.
void write_page(std::ostream& out, const std::string& title, const std::string& tables,
                const nlohmann::ordered_json& data);

/// A page without a script.
void write_still_page(std::ostream& out, const std::string& title, const std::string& body);

}  // namespace tinygpu::observe
