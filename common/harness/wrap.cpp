#include "common/harness/wrap.h"

#include <algorithm>

namespace gen5::harness {

std::string wrapped(const std::string& text) {
  std::string out, line;
  for (size_t i = 0; i <= text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", i), text.size());
    const std::string word = text.substr(i, end - i);
    if (!line.empty() && line.size() + 1 + word.size() > 100) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    if (end < text.size() && text[end] == '\n') {
      out += line + "\n";
      line.clear();
    }
    i = end + 1;
  }
  return out + line + "\n";
}

}  // namespace gen5::harness
