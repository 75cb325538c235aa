#include "common/tinygpu/search/stretch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>
#include <string>

namespace tinygpu::search {
namespace {

/// Cycles of blocks, of many tiles.
struct Mean {
  double sum = 0, blocks = 0;
  void add(double cycles, uint32_t of) {
    sum += cycles;
    blocks += of;
  }
  double each() const { return sum / blocks; }
};

bool alike(const Mean& a, const Mean& b) {
  return !a.blocks || !b.blocks || std::abs(a.each() - b.each()) <= kSteady * std::min(a.each(), b.each());
}

}  // namespace

std::vector<MmaSeries> read_mma_ends(std::istream& in) {
  std::vector<MmaSeries> all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    MmaSeries s;
    uint32_t warpgroup;
    words >> s.sm >> warpgroup;
    for (uint64_t end; words >> end;) s.ends.push_back(end);
    all.push_back(std::move(s));
  }
  return all;
}

Stretched stretched(const std::vector<MmaSeries>& run, const Stretch& s) {
  size_t mmas = 0;
  for (const MmaSeries& series : run) mmas += series.ends.size();
  const size_t pieces = size_t(s.tiles) * s.blocks, each = pieces ? mmas / pieces : 0, of_tile = each * s.blocks;
  if (!each || mmas % pieces) return {};
  const uint32_t middle = s.from + (s.blocks - s.from) / 2;
  Mean early, late, first, behind;
  struct Sm {
    uint64_t end = 0;
    double longer = 0;
  };
  std::map<uint32_t, Sm> sms;
  for (const MmaSeries& series : run) {
    if (series.ends.size() % of_tile) return {};
    double longer = 0;
    for (size_t tile = 0; tile < series.ends.size(); tile += of_tile) {
      const auto end = [&](uint32_t blocks) { return double(series.ends[tile + blocks * each - 1]); };
      const double cycles = end(s.blocks) - end(s.from);
      early.add(end(middle) - end(s.from), middle - s.from);
      late.add(end(s.blocks) - end(middle), s.blocks - middle);
      (tile ? behind : first).add(cycles, s.blocks - s.from);
      longer += cycles / (s.blocks - s.from) * s.missing;
    }
    Sm& sm = sms[series.sm];
    sm.end = std::max(sm.end, series.ends.back());
    sm.longer = std::max(sm.longer, longer);
  }
  // The SM that is the last then need not be the last of the run.
  double last = 0, last_then = 0;
  for (const auto& [number, sm] : sms) {
    last = std::max(last, double(sm.end));
    last_then = std::max(last_then, double(sm.end) + sm.longer);
  }
  const bool fast = !s.most || std::max(early.each(), late.each()) <= (1 + kSteady) * s.most;
  return {last_then - last, fast && alike(early, late) && alike(first, behind)};
}

}  // namespace tinygpu::search
