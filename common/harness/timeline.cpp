#include "common/harness/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/harness/table.h"

namespace gen5::harness {
namespace {

constexpr uint32_t kTick = 10;  // columns from one mark of the ruler to the next

/// The smallest number of at most two digits and zeros, easy to multiply by ten, that is not below `least`.
uint64_t round_number(uint64_t least) {
  for (const uint64_t n : {1, 2, 3, 4, 5, 6, 8})
    if (n >= least) return n;
  for (uint64_t power = 1;; power *= 10)
    for (const uint64_t factor : {10, 12, 15, 16, 20, 25, 30, 40, 50, 60, 80})
      if (factor * power >= least) return factor * power;
}

/// Spans in rows in which none overlaps another, each in the first row that has room.
std::vector<std::vector<Span>> rows_of(std::vector<Span> spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<std::vector<Span>> rows;
  for (const Span& s : spans) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const std::vector<Span>& r) { return r.back().end <= s.begin; });
    if (row == rows.end())
      rows.push_back({s});
    else
      row->push_back(s);
  }
  if (rows.empty()) rows.emplace_back();
  return rows;
}

std::string draw_row(const std::vector<Span>& spans, uint64_t origin, uint64_t scale, uint32_t columns) {
  std::string line(columns, ' ');
  std::vector<bool> shown(spans.size());
  for (uint32_t c = 0; c < columns; ++c) {
    const uint64_t from = origin + c * scale, to = from + scale;
    uint64_t covered = 0, most = 0;
    size_t best = 0;
    for (size_t i = 0; i < spans.size(); ++i) {
      const uint64_t begin = std::max(from, spans[i].begin), end = std::min(to, spans[i].end);
      if (begin >= end) continue;
      covered += end - begin;
      if (end - begin > most) most = end - begin, best = i;
    }
    if (2 * covered < scale || most == 0) continue;
    line[c] = spans[best].mark;
    shown[best] = true;
  }
  for (size_t i = 0; i < spans.size(); ++i) {
    const uint64_t c = (spans[i].begin - origin) / scale;
    if (!shown[i] && c < columns && line[c] == ' ') line[c] = spans[i].mark;
  }
  return line;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

uint64_t Picture::begin() const {
  uint64_t first = ~0ull;
  for (const Lane& lane : lanes)
    for (const Span& s : lane.spans) first = std::min(first, s.begin);
  return first == ~0ull ? 0 : first;
}

uint64_t Picture::end() const {
  uint64_t last = begin();
  for (const Lane& lane : lanes)
    for (const Span& s : lane.spans) last = std::max(last, s.end);
  return last;
}

std::string draw(const std::vector<Picture>& pictures, const DrawOptions& options) {
  uint64_t longest = 1;
  size_t names = 0;
  for (const Picture& p : pictures) {
    longest = std::max(longest, p.end() - p.begin());
    for (const Lane& lane : p.lanes) names = std::max(names, lane.name.size());
  }
  const uint64_t window = options.window ? options.window : longest;
  const uint64_t scale = round_number((window + options.columns - 1) / options.columns);
  const uint32_t columns = uint32_t((window + scale - 1) / scale);
  const std::string indent(2, ' ');
  const auto named = [&](const std::string& name) { return indent + name + std::string(names - name.size() + 2, ' '); };

  std::string numbers, ticks;
  for (uint32_t c = 0; c <= columns; c += kTick) {
    // A number stands above its tick, unless the one before it reaches this far.
    if (numbers.size() <= c) numbers += std::string(c - numbers.size(), ' ') + with_commas(c * scale) + " ";
    ticks += std::string(c - ticks.size(), ' ') + "|";
  }
  std::string out;
  for (const Picture& p : pictures) {
    const uint64_t all = p.end() - p.begin();
    out += indent + p.title;
    if (all > columns * scale)
      out += fmt::format(" (the first {} of {} cycles)", with_commas(columns * scale), with_commas(all));
    out += "\n" + trimmed(named("") + numbers) + trimmed(named("") + ticks);
    for (const Lane& lane : p.lanes) {
      bool first = true;
      for (const std::vector<Span>& row : rows_of(lane.spans)) {
        const std::string line = trimmed(named(first ? lane.name : "") + draw_row(row, p.begin(), scale, columns));
        if (first || line.size() > 1) out += line;  // a row may lie behind the window
        first = false;
      }
    }
    if (&p != &pictures.back()) out += "\n";
  }
  return out + fmt::format("\n{}A column is {} {}.\n", indent, with_commas(scale), scale == 1 ? "cycle" : "cycles");
}

}  // namespace gen5::harness
