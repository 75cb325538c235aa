#include "common/harness/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace gen5::harness {
namespace {

/// Characters as a terminal counts them: UTF-8 continuation bytes take no place.
size_t width(const std::string& s) {
  return size_t(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string with_commas(uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string s;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % 3 == 0) s += ',';
    s += digits[i];
  }
  return s;
}

std::string with_unit(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  double v = double(bytes) / 1024;
  int u = 0;
  while (v >= 1024 && u < 3) v /= 1024, ++u;
  return fmt::format("{:.1f} {}", v, units[u]);
}

std::string Table::render() const {
  std::vector<size_t> widths(head_.size());
  for (size_t c = 0; c < head_.size(); ++c) widths[c] = width(head_[c]);
  for (const auto& r : rows_)
    for (size_t c = 0; c < r.size() && c < widths.size(); ++c) widths[c] = std::max(widths[c], width(r[c]));
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string s = "  ";
    for (size_t c = 0; c < cells.size() && c < widths.size(); ++c) {
      const std::string pad(widths[c] - width(cells[c]), ' ');
      s += (c ? "  " : "") + (c < left_ ? cells[c] + pad : pad + cells[c]);
    }
    s.erase(s.find_last_not_of(' ') + 1);
    return s + "\n";
  };
  std::string rule = "  ";
  for (size_t c = 0; c < widths.size(); ++c) rule += std::string(widths[c] + (c ? 2 : 0), '-');
  std::string text = line(head_) + rule + "\n";
  for (const auto& r : rows_) text += line(r);
  return text;
}

}  // namespace gen5::harness
