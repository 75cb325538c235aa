#include "common/tinygpu/base/wrap.h"

#include <algorithm>

namespace tinygpu {

size_t columns(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string wrapped(std::string_view text, size_t indent, std::string_view prefix, size_t width) {
  std::string out;
  size_t at = indent;
  bool begins = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!begins) {
      const bool fits = at + 1 + columns(word) <= width;
      if (fits)
        out += " ";
      else
        out.append("\n").append(prefix);
      at = fits ? at + 1 : columns(prefix);
    }
    begins = false;
    out += word;
    at += columns(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace tinygpu
