#include "common/harness/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gen5::harness {
namespace {

/// "all in rows 3 to 9 and columns 0 to 31".
template <class Word>
std::string extent(const std::vector<Word>& got, const std::vector<Word>& want, uint32_t columns) {
  size_t top = got.size(), bottom = 0, left = columns, right = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i] != want[i]) {
      top = std::min(top, i / columns);
      bottom = std::max(bottom, i / columns);
      left = std::min(left, i % columns);
      right = std::max(right, i % columns);
    }
  return fmt::format("all in rows {} to {} and columns {} to {}", top, bottom, left, right);
}

template <class Word>
std::string sentence(const char* name, const std::vector<Word>& got, const std::vector<Word>& want, uint32_t columns,
                     Shown shown) {
  if (got.size() != want.size()) return fmt::format("{} has {} elements instead of {}", name, got.size(), want.size());
  size_t different = 0, first = 0;
  for (size_t i = got.size(); i-- > 0;)
    if (got[i] != want[i]) {
      ++different;
      first = i;
    }
  if (!different) return {};
  const auto at = [&](size_t i) {
    return columns ? fmt::format("[{}][{}]", i / columns, i % columns) : fmt::format("[{}]", i);
  };
  const auto text = [&](Word w) {
    return shown == Shown::floats ? fmt::format("{:#010x} ({:g})", w, std::bit_cast<float>(uint32_t(w)))
                                  : fmt::format("{:#x}", w);
  };
  std::string out = fmt::format("{}{} is {} and should be {}; {} of {} words differ", name, at(first), text(got[first]),
                                text(want[first]), different, got.size());
  if (columns && different < got.size()) out += ", " + extent(got, want, columns);
  // A word that stands in one place of what should be there was brought to the wrong one.
  if (std::ranges::count(want, got[first]) == 1)
    out += fmt::format(". What is there belongs to {}{}", name,
                       at(size_t(std::ranges::find(want, got[first]) - want.begin())));
  else if (got[first] == Word(-1))
    out += ". Nothing was written there";
  return out;
}

}  // namespace

std::string difference(const char* name, const std::vector<uint32_t>& got, const std::vector<uint32_t>& want,
                       uint32_t columns, Shown shown) {
  return sentence(name, got, want, columns, shown);
}

std::string difference(const char* name, const std::vector<uint16_t>& got, const std::vector<uint16_t>& want,
                       uint32_t columns) {
  return sentence(name, got, want, columns, Shown::bits);
}

std::string difference(const std::string& place, double got, double want) {
  return fmt::format("{} is {:g} and should be {:g}", place, got, want);
}

}  // namespace gen5::harness
