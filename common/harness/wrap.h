// Paragraphs for the terminal.
#pragma once
#include <string>

namespace gen5::harness {

/// Breaks text at spaces so that lines have at most 100 characters; ends with a newline.
std::string wrapped(const std::string& text);

}  // namespace gen5::harness
