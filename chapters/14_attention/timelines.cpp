#include "chapters/14_attention/timelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/harness/device.h"
#include "common/harness/timeline.h"
#include "common/layout/tile.h"

namespace attention {
namespace {

using namespace gen5::harness;
using gen5::layout::ceil_div;
using Operation = Watched::Operation;

/// Cycles that a picture shows at most.
constexpr uint64_t kWindow = 12600;
constexpr uint32_t kCorrectionWarp = 8;  // the first of pingpong.cuh's

/// Blocks that each of a CTA's tiles walks, one behind the other for a CTA that has several pairs.
using Blocks = std::vector<std::array<uint32_t, 2>>;

uint32_t blocks_of(const Inputs& in, uint32_t row) {
  if (row >= in.queries) return 0;
  const uint32_t all = ceil_div(in.keys, 128);
  return in.causal ? std::min(all, row / 128 + 1) : all;
}

/// A CTA's tiles. `products`: how many pairs of products it made; `first`: it is CTA 0, of `ctas`.
Blocks tiles_of(const Inputs& in, const Step& step, uint32_t products, bool first, uint32_t ctas) {
  if (step.tiles == 1) return {{products, 0}};
  Blocks out;
  const uint32_t of_a_head = ceil_div(in.queries, 256);
  if (step.persistent && first) {
    for (uint32_t i = 0, seen = 0; seen < products && i < of_a_head * in.heads; i += ctas) {
      const uint32_t place = in.causal ? of_a_head - 1 - i / in.heads : i % of_a_head;
      out.push_back({blocks_of(in, 256 * place), blocks_of(in, 256 * place + 128)});
      seen += out.back()[0] + out.back()[1];
    }
    return out;
  }
  // Which pair it had is not told, but how much it did.
  for (uint32_t place = 0; place < of_a_head; ++place) {
    const uint32_t a = blocks_of(in, 256 * place), b = blocks_of(in, 256 * place + 128);
    if (a + b == products) return {{a, b}};
  }
  return {};
}

/// A product of one block.
struct Product {
  bool values;  // O += P·V, else S = Q·Kᵀ
  uint32_t tile, block;
};

/// A CTA's products in the order in which it asks for them.
std::vector<Product> products_of(const Step& step, const Blocks& all) {
  std::vector<Product> out;
  for (const auto& n : all) {
    const uint32_t most = std::max(n[0], n[1]);
    for (uint32_t t = 0; t < 2; ++t)
      if (n[t]) out.push_back({false, t, 0});
    for (uint32_t block = 0; block < most; ++block)
      for (uint32_t t = 0; t < 2; ++t) {
        if (block >= n[t]) continue;
        const bool more = block + 1 < n[t];
        if (more && !step.values_first) out.push_back({false, t, block + 1});
        out.push_back({true, t, block});
        if (more && step.values_first) out.push_back({false, t, block + 1});
      }
  }
  return out;
}

struct TileLanes {
  Lane scores, softmax, values;
};

/// Adds what one CTA's tensor core did, and its softmax: from when scores are there, and those before are done, until
/// the product with P is asked for.
void add_products(std::array<TileLanes, 2>& lanes, const std::vector<const Operation*>& mmas,
                  const std::vector<Product>& products, uint32_t of_scores) {
  constexpr uint32_t kOfValues = 128 / 16;
  std::array<std::vector<uint64_t>, 2> scored;  // by blocks
  std::array<uint64_t, 2> weighted{};
  size_t at = 0;
  for (const Product& p : products) {
    const uint32_t count = p.values ? kOfValues : of_scores;
    if (at + count > mmas.size()) return;
    const Operation &first = *mmas[at], &last = *mmas[at + count - 1];
    at += count;
    const char mark = digit(p.block);
    Lane& lane = p.values ? lanes[p.tile].values : lanes[p.tile].scores;
    lane.spans.push_back({first.begin, last.begin + last.busy, mark});
    if (!p.values) {
      scored[p.tile].resize(p.block + 1);
      scored[p.tile][p.block] = last.end;
      continue;
    }
    const uint64_t begin = std::max(scored[p.tile].at(p.block), weighted[p.tile]);
    weighted[p.tile] = std::max(begin, first.issued);
    lanes[p.tile].softmax.spans.push_back({begin, weighted[p.tile], mark});
  }
}

/// Loads of K and V, by blocks; of Q, by 'q'.
void add_loads(Lane& lane, const std::vector<const Operation*>& loads, const Blocks& all, uint32_t boxes) {
  size_t at = 0;
  const auto next = [&](char mark) {
    if (at + boxes > loads.size()) return;
    uint64_t landed = 0;
    for (uint32_t i = 0; i < boxes; ++i) landed = std::max(landed, loads[at + i]->end);
    lane.spans.push_back({loads[at]->issued, landed, mark});
    at += boxes;
  };
  for (const auto& n : all) {
    if (n[0]) next('q');
    for (uint32_t block = 0; block < std::max(n[0], n[1]); ++block) {
      next(digit(block));
      if (block == 0 && n[1]) next('q');
      next(digit(block));
    }
  }
}

Picture picture_of(const Inputs& in, const Step& step, const Watched& watched) {
  const uint32_t of_scores = in.dim / 16, of_both = of_scores + 128 / 16, boxes = in.dim / 64;
  const size_t ctas = watched.ctas.size();
  std::vector<std::vector<const Operation*>> loads(ctas), mmas(ctas);
  Lane correction{"correction", {}};
  for (const Operation& o : watched.operations) {
    if (o.kind == "cp.async.bulk.tensor load") loads.at(o.cta).push_back(&o);
    if (o.kind == "tcgen05.mma") mmas.at(o.cta).push_back(&o);
    const bool reads = o.kind == "tcgen05.ld", writes = o.kind == "tcgen05.st";
    if (step.tiles == 2 && o.warp == int(kCorrectionWarp) && (reads || writes))
      correction.spans.push_back({o.issued, o.end, '*'});
  }
  // Its reads and writes of one moment are one.
  std::vector<Span> merged;
  for (const Span& s : correction.spans) {
    if (!merged.empty() && s.begin <= merged.back().end + 60)
      merged.back().end = std::max(merged.back().end, s.end);
    else
      merged.push_back(s);
  }
  correction.spans = std::move(merged);

  Lane tma{"TMA", {}};
  std::array<TileLanes, 2> lanes;
  const char* const which[] = {step.tiles == 2 ? "tile 0, " : "", "tile 1, "};
  for (uint32_t t = 0; t < 2; ++t)
    lanes[t] = {{fmt::format("{}S = Q*K", which[t]), {}},
                {fmt::format("{}softmax", which[t]), {}},
                {fmt::format("{}O += P*V", which[t]), {}}};
  const uint32_t launched = std::min<uint32_t>(ceil_div(in.queries, 256) * in.heads, uint32_t(current_device().sms));
  for (size_t c = 0; c < ctas; ++c) {
    const Blocks all = tiles_of(in, step, uint32_t(mmas[c].size() / of_both), c == 0, launched);
    add_loads(tma, loads[c], all, boxes);
    add_products(lanes, mmas[c], products_of(step, all), of_scores);
  }
  Picture picture{fmt::format("Step {}, {}:", step.number, step.name), {tma}};
  for (uint32_t t = 0; t < step.tiles; ++t) {
    picture.lanes.push_back(std::move(lanes[t].scores));
    picture.lanes.push_back(std::move(lanes[t].softmax));
    picture.lanes.push_back(std::move(lanes[t].values));
  }
  if (step.tiles == 2) picture.lanes.push_back(std::move(correction));
  return picture;
}

}  // namespace

void show_timeline(Report& report, const Inputs& in, const Step& step, const Watched& watched, const Step* before,
                   const Watched* watched_before) {
  std::vector<Picture> pictures;
  if (before) pictures.push_back(picture_of(in, *before, *watched_before));
  pictures.push_back(picture_of(in, step, watched));
  const uint64_t length = pictures.back().end() - pictures.back().begin();
  report.picture(draw(pictures, {.window = std::min(length, kWindow)}));
  report.say(fmt::format("What to see in step {}: {}", step.number, step.look));
}

void show_legend(Report& report) {
  report.say(
      "How to read it: time runs to the right, in SM cycles, on one SM. A digit names a block of 128 keys by the last "
      "digit of its number. TMA: its keys or its values are on their way (q: a tile of queries); several at a time "
      "stand in several rows. S = Q*K and O += P*V: the tensor core is busy with it. softmax: from the moment when its "
      "scores are there until the product with V is issued. correction: the correction warps read or write O to "
      "rescale it or to store it.");
}

}  // namespace attention
