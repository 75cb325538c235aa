#include "common/tinygpu/base/source_place.h"

#include <algorithm>
#include <charconv>

namespace tinygpu {

std::string SourcePlace::read(std::string_view text, SourcePlace& out) {
  const size_t colon = text.rfind(':');
  const std::string_view number = text.substr(colon == text.npos ? 0 : colon + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.line);
  if (error != std::errc() || end != number.data() + number.size() || out.line < 1)
    return "write LINE, FILE:LINE or ptx:LINE";
  out.file = colon == text.npos ? "" : text.substr(0, colon);
  out.ptx = out.file == "ptx";
  return {};
}

bool SourcePlace::names(const Where& where) const {
  if (ptx) return where.ptx_line == line;
  const auto is = [&](const std::string& path, int number) {
    if (number != line || !path.ends_with(file)) return false;
    return file.empty() || path.size() == file.size() || file.starts_with('/') ||
           path[path.size() - file.size() - 1] == '/';
  };
  return is(where.cuda_file, where.cuda_line) ||
         std::ranges::any_of(where.inlined, [&](const InlinedPlace& i) { return is(i.file, i.line); });
}

}  // namespace tinygpu
