#include "chapters/15_search/space.h"

#include <fmt/format.h>

#include <array>

namespace tiny {
namespace {

/// A word for each parameter.
std::array<std::string, 6> words(const Point& p) {
  return {fmt::format("tile={}x{}{}", p.m, p.n, p.ctas == 2 ? " ctas=2" : ""),
          fmt::format("block={}", p.block),
          fmt::format("swizzle={}", p.span),
          fmt::format("stages={}", p.stages),
          fmt::format("accumulators={}", p.accumulators),
          p.persistent ? "persistent" : "serial"};
}

}  // namespace

std::string text(const Point& p) { return fmt::format("{}", fmt::join(words(p), " ")); }

std::string text_of_change(const Point& from, const Point& to) {
  const auto before = words(from), after = words(to);
  std::string out;
  for (size_t i = 0; i < after.size(); ++i)
    if (after[i] != before[i]) out += (out.empty() ? "" : " ") + after[i];
  return out;
}

}  // namespace tiny
