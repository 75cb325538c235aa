#include "common/tinygpu/search/landscape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string_view>

namespace tinygpu::search {
namespace {

// Colours that most colour-blind people can tell apart (Okabe and Ito).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#f0e442", "#000000"};
constexpr int kLeft = 70, kColumn = 38, kTop = 64, kTimes = 360, kGap = 70, kShares = 130, kLegend = 300;

const char* colour(size_t i) { return kColours[i % std::size(kColours)]; }

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

void text(std::string& out, double x, double y, std::string_view words, const char* more = "") {
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, escaped(words));
}
void line(std::string& out, double x1, double y1, double x2, double y2, const char* stroke) {
  out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2,
                     stroke);
}

/// A logarithmic axis of microseconds.
struct Axis {
  double low, high;
  double y(double us) const { return kTop + kTimes * (1 - std::log(us / low) / std::log(high / low)); }
  /// 1, 2, 5, 10 … between its ends.
  std::vector<double> ticks() const {
    std::vector<double> out;
    for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
      for (const double step : {1.0, 2.0, 5.0})
        if (decade * step >= low && decade * step <= high) out.push_back(decade * step);
    return out;
  }
};

}  // namespace

Landscape landscape(const Space& space, const MachineSpec& spec, const Problem& problem, uint32_t each, uint64_t seed) {
  Landscape out;
  out.rules = rules(space.kind());
  std::map<std::pair<uint16_t, uint16_t>, size_t> places;
  std::vector<std::vector<uint64_t>> chosen;  // of each tile, indices of the space
  std::mt19937_64 random(seed);
  const Legal legal{spec, space.kind(), problem};
  space.for_each([&](uint64_t index, const Point& p) {
    const auto [at, fresh] = places.try_emplace({p.m, p.n}, out.tiles.size());
    if (fresh) {
      out.tiles.push_back({p.m, p.n, 0, 0, std::vector<uint64_t>(out.rules.size()), {}});
      chosen.emplace_back();
    }
    Landscape::Tile& tile = out.tiles[at->second];
    ++tile.points;
    if (const Rule* rule = broken(out.rules, legal, p)) {
      ++tile.pruned[size_t(std::find(out.rules.begin(), out.rules.end(), rule) - out.rules.begin())];
      return;
    }
    // Each legal point is as likely to be kept as any other (reservoir sampling).
    std::vector<uint64_t>& kept = chosen[at->second];
    if (++tile.legal <= each)
      kept.push_back(index);
    else if (const uint64_t place = random() % tile.legal; place < each)
      kept[place] = index;
  });
  const std::unique_ptr<Model> model = make_model(spec, problem);
  const auto faster = [](const Estimate& a, const Estimate& b) { return a.cycles < b.cycles; };
  for (size_t i = 0; i < out.tiles.size(); ++i) {
    std::vector<Estimate>& sampled = out.tiles[i].sampled;
    for (const uint64_t index : chosen[i]) sampled.push_back(model->estimate(space[index]));
    std::sort(sampled.begin(), sampled.end(), faster);
    if (!sampled.empty() && (out.best.cycles == 0 || faster(sampled[0], out.best))) out.best = sampled[0];
  }
  std::stable_sort(out.tiles.begin(), out.tiles.end(), [&](const Landscape::Tile& a, const Landscape::Tile& b) {
    if (a.sampled.empty() || b.sampled.empty()) return a.sampled.size() > b.sampled.size();
    return faster(a.sampled[0], b.sampled[0]);
  });
  return out;
}

std::string svg(const Landscape& l, const MachineSpec& spec, const std::string& title) {
  double low = 1e30, high = 0;
  std::vector<std::string> limits;
  uint64_t points = 0, legal = 0;
  for (const Landscape::Tile& t : l.tiles) {
    points += t.points;
    legal += t.legal;
    for (const Estimate& e : t.sampled) {
      low = std::min(low, microseconds(spec, e.cycles));
      high = std::max(high, microseconds(spec, e.cycles));
      if (std::find(limits.begin(), limits.end(), e.limit) == limits.end()) limits.emplace_back(e.limit);
    }
  }
  if (high == 0) low = 1, high = 10;
  const Axis axis{low / 1.1, high * 1.1};
  const int right = kLeft + kColumn * int(l.tiles.size()), shares = kTop + kTimes + kGap;
  const int width = right + kLegend, height = shares + kShares + 40;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n",
      width, height);
  text(out, kLeft, 24, title, "font-size=\"16\"");
  text(out, kLeft, 44,
       fmt::format("{} points, {} legal. Each dot is a legal point, taken at random: its time on the tiny machine.",
                   points, legal));
  for (const double us : axis.ticks()) {
    line(out, kLeft, axis.y(us), right, axis.y(us), "#ddd");
    text(out, kLeft - 8, axis.y(us) + 4, fmt::format("{:g} us", us), "text-anchor=\"end\"");
  }
  for (size_t i = 0; i < l.tiles.size(); ++i) {
    const Landscape::Tile& tile = l.tiles[i];
    const double middle = kLeft + kColumn * (double(i) + 0.5);
    for (size_t k = 0; k < tile.sampled.size(); ++k) {
      const Estimate& e = tile.sampled[k];
      const size_t limit = size_t(std::find(limits.begin(), limits.end(), e.limit) - limits.begin());
      // Side by side, so that equals do not hide each other.
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\" fill=\"{}\" fill-opacity=\"0.7\"/>\n",
                         middle + (double(k * 7 % 13) - 6) * 2.2, axis.y(microseconds(spec, e.cycles)), colour(limit));
    }
    out += fmt::format("<text transform=\"translate({:.1f} {}) rotate(-60)\" text-anchor=\"end\">{}x{}</text>\n",
                       middle + 4, kTop + kTimes + 16, tile.m, tile.n);
    // What the rules take out, from below; white: what is legal.
    double y = shares + kShares;
    for (size_t r = 0; r < tile.pruned.size(); ++r) {
      const double part = kShares * double(tile.pruned[r]) / double(tile.points);
      if (part > 0)
        out += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"{}\" fill-opacity=\"{}\">"
            "<title>{}x{}: {} points: {}</title></rect>\n",
            middle - kColumn * 0.4, y - part, kColumn * 0.8, part, colour(r), r < std::size(kColours) ? 0.85 : 0.4,
            tile.m, tile.n, tile.pruned[r], escaped(l.rules[r]->name));
      y -= part;
    }
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
                       middle - kColumn * 0.4, shares, kColumn * 0.8, kShares);
  }
  text(out, kLeft - 8, shares + 10, "all", "text-anchor=\"end\"");
  text(out, kLeft - 8, shares + kShares, "none", "text-anchor=\"end\"");
  text(out, kLeft, shares + kShares + 24, "Of each tile's points: what which rule takes out first; white is legal.");
  double y = kTop + 8;
  text(out, right + 24, y, "limited by", "font-weight=\"bold\"");
  for (size_t i = 0; i < limits.size(); ++i) {
    y += 18;
    out += fmt::format("<circle cx=\"{}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", right + 30, y - 4, colour(i));
    text(out, right + 42, y, limits[i]);
  }
  y = std::max(y + 36, double(shares) - 18 * double(l.rules.size()) + kShares);
  text(out, right + 24, y, "taken out by", "font-weight=\"bold\"");
  for (size_t r = 0; r < l.rules.size(); ++r) {
    if (std::all_of(l.tiles.begin(), l.tiles.end(), [&](const Landscape::Tile& t) { return t.pruned[r] == 0; }))
      continue;
    y += 18;
    out += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
                       right + 25, y - 9, colour(r), r < std::size(kColours) ? 0.85 : 0.4);
    text(out, right + 42, y, l.rules[r]->name);
  }
  return out + "</svg>\n";
}

std::string page(const std::string& title, const std::string& said, const std::string& picture) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{0}</title>\n<style>body {{ font-family: "
      "sans-serif; margin: 2em; }} pre {{ overflow-x: auto; }}</style>\n<h1>{0}</h1>\n<pre>{1}</pre>\n{2}</html>\n",
      escaped(title), escaped(said), picture);
}

}  // namespace tinygpu::search
