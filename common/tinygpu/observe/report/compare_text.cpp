// Two runs side by side, for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/observe/report/compare.h"
#include "common/tinygpu/observe/report/html.h"

namespace tinygpu::observe {
namespace {

constexpr size_t kNameWidth = 44, kTextWidth = 72;

/// Letters, which may take several bytes each.
size_t letters(std::string_view text) {
  size_t n = 0;
  for (const char c : text) n += (c & 0xc0) != 0x80;
  return n;
}

std::string left(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, letters(text)), ' ');
}
std::string right(const std::string& text, size_t width) {
  return std::string(width - std::min(width, letters(text)), ' ') + text;
}

std::string rows(const char* title, const std::vector<Change>& changes) {
  if (changes.empty()) return {};
  size_t width = kNameWidth;
  for (const Change& c : changes) width = std::max(width, letters(c.name));
  std::string out =
      fmt::format("\n  {} {} {} {}\n", left(title, width), right("before", 16), right("now", 16), right("change", 14));
  for (const Change& c : changes)
    out += fmt::format("{} {} {} {} {}\n", c.mark == Change::Mark::same ? " " : "*", left(c.name, width),
                       right(c.before, 16), right(c.after, 16), right(c.difference, 14));
  return out;
}

std::string line_rows(const std::vector<LineChange>& lines) {
  if (lines.empty()) return "\n  no line's cycles changed\n";
  std::string out = fmt::format("\n  {} {} {} {} {}  {}\n", left("line before", 24), left("now", 24),
                                right("cycles before", 14), right("now", 14), right("change", 14), "source");
  for (const LineChange& l : lines) {
    const bool less = l.after < l.before;
    const std::string by = (less ? "−" : "+") + thousands(less ? l.before - l.after : l.after - l.before);
    const std::string text = l.text.size() > kTextWidth ? l.text.substr(0, kTextWidth - 3) + "..." : l.text;
    out += fmt::format("* {} {} {} {} {}  {}\n", left(l.before_at.empty() ? "-" : l.before_at, 24),
                       left(l.after_at.empty() ? "-" : l.after_at, 24), right(thousands(l.before), 14),
                       right(thousands(l.after), 14), right(by, 14), text);
  }
  return out;
}

}  // namespace

std::string render(const Comparison& c) {
  std::string out = fmt::format("before  {}: {} on {}\nnow     {}: {} on {}\n", c.before.path, c.before.command,
                                c.before.machine, c.after.path, c.after.command, c.after.machine);
  for (const std::string& note : c.notes) out += note + "\n";
  for (const KernelChange& k : c.kernels) {
    out += fmt::format("\n{}\n", k.after_label);
    if (k.before != k.after) out += fmt::format("  {}\n  in place of another kernel: {}\n", k.after, k.before);
    out += rows("times and limits", k.times) + rows("units", k.units) +
           rows("waits, in shares of a role's time", k.waits) + line_rows(k.lines);
  }
  for (const std::string& name : c.only_before) out += fmt::format("\nonly before: {}\n", name);
  for (const std::string& name : c.only_after) out += fmt::format("\nonly now: {}\n", name);
  if (c.kernels.empty() && c.only_before.empty() && c.only_after.empty()) out += "\nno kernel was launched\n";
  return out;
}

}  // namespace tinygpu::observe
