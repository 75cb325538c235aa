#include "common/tinygpu/search/sampling.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "common/tinygpu/search/attention_model.h"
#include "common/tinygpu/search/gemm_model.h"

namespace tinygpu::search {
namespace {

using Row = std::array<double, 3>;

/// Weights with which the rows add up to `whole`, by Cramer's rule; nothing where the rows tell the same twice.
std::optional<Row> weights(const std::array<Row, 3>& rows, const Row& whole) {
  const auto determinant = [](const std::array<Row, 3>& m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  };
  const double all = determinant(rows);
  if (std::abs(all) < 1e-9) return std::nullopt;
  Row out;
  for (size_t i = 0; i < 3; ++i) {
    std::array<Row, 3> replaced = rows;
    replaced[i] = whole;
    out[i] = determinant(replaced) / all;
  }
  return out;
}

/// What the time of an attention kernel depends on: pieces of the SM that has most to do, and their blocks.
Row of_attention(const Problem& problem, const Point& p, uint32_t sms, uint32_t most) {
  const uint32_t all = pieces(problem, p);
  const std::vector<uint32_t> blocks = busiest(problem, p, sms, most ? std::min(most, all) : all);
  return {1, double(blocks.size()), std::accumulate(blocks.begin(), blocks.end(), 0.0)};
}

/// Work of which it is not worth to leave anything out: tiles of 128 queries times blocks of 128 keys.
constexpr double kLittleAttention = 3000;
constexpr uint32_t kShallow = 5, kDeep = 10;  // blocks of keys

Sampling sample_attention(const MachineSpec& spec, const Problem& problem, const Point& p) {
  const uint32_t sms = uint32_t(spec.sms), all = pieces(problem, p);
  Sampling out;
  double work = 0;
  for (uint32_t i = 0; i < all; ++i) work += blocks_of_piece(problem, p, i);
  if (work * p.m * p.n / 128 / 128 <= kLittleAttention) {
    out.why = "the whole is little work";
    return out;
  }
  std::array<Sample, 3> runs;
  for (Sample& s : runs) s.problem = problem;
  if (problem.causal) {
    // Whole triangles of two and of four pieces a head.
    const auto triangle = [&](Sample& s, uint32_t of_a_head, uint32_t waves) {
      s.problem.m = s.problem.n = of_a_head * p.m;
      s.problem.heads = ceil_div(waves * sms, of_a_head);
      s.most = waves * sms;
    };
    triangle(runs[0], 2, 1);
    triangle(runs[1], 4, 1);
    triangle(runs[2], 2, 2);
    if (problem.m < 4 * p.m || problem.n < problem.m || problem.heads < 2)
      out.why = "with a mask it takes four pieces a head, keys for all queries and several heads";
  } else {
    runs[0].problem.n = runs[2].problem.n = kShallow * p.n;
    runs[1].problem.n = kDeep * p.n;
    runs[0].most = runs[1].most = sms;
    runs[2].most = 2 * sms;
    if (problem.n < kDeep * p.n) out.why = fmt::format("there are fewer than {} blocks of keys", kDeep);
    if (all < 2 * sms) out.why = "there are no two waves";
  }
  if (!out.why.empty()) return out;
  std::array<Row, 3> rows;
  for (size_t i = 0; i < 3; ++i) rows[i] = of_attention(runs[i].problem, p, sms, runs[i].most);
  const std::optional<Row> w = weights(rows, of_attention(problem, p, sms, 0));
  if (!w) {
    out.why = "its parts tell the same twice";
    return out;
  }
  for (size_t i = 0; i < 3; ++i) {
    runs[i].weight = (*w)[i];
    out.runs.push_back(runs[i]);
  }
  return out;
}

/// Tiles times blocks of which it is not worth to leave anything out.
constexpr double kLittleProduct = 6000;
/// Of a row of A, in a run. In the last third of them a tile's blocks take the same: its loads no longer run ahead, as
/// they do beside the stores of the tile before.
constexpr uint32_t kRunBytes = 3072;
/// Of so many times what L2 keeps, lines that come again are in it. What it keeps is counted with two copies of each
/// line, and not every line has two.
constexpr double kSpills = 1.05;
/// Of more than so many waves a few are run: the last one, and two behind it.
constexpr uint32_t kManyWaves = 8, kBehind = 2;

Sampling sample_gemm(const MachineSpec& spec, const Problem& problem, const Point& p) {
  const uint32_t at_once = clusters_at_once(spec, p), all = blocks_of_part(problem, p);
  const uint32_t tiles = tile_rows(problem, p) * tile_columns(problem, p) * p.split, waves = ceil_div(tiles, at_once);
  // The ring is filled more than once before the blocks whose pace is taken.
  const uint32_t blocks = std::max<uint32_t>(ceil_div(kRunBytes, p.block), 3 * ceil_div(p.stages + 2, 2)),
                 from = blocks - blocks / 3, least = blocks + blocks / 2;
  const GemmModel model(spec, problem);
  Sampling out;
  if (!is_blackwell(template_of(spec)))
    out.why = "wgmma's products came out up to 2.6 % off, and it is not known why";
  else if (p.order() == Schedule::stream_k)
    out.why = "equal shares of all blocks are no waves";
  else if (double(tiles) * p.ctas() * all < kLittleProduct)
    out.why = "the whole is little work";
  else if (all < least)
    out.why = fmt::format("a tile has {} blocks, and it takes {}", all, least);
  else if (model.all_bytes() > model.l2_bytes())
    out.why = fmt::format("A, B and D are {:.0f} MB, and L2 has {:.0f}; with a shallower K they fit",
                          model.all_bytes() / 1e6, model.l2_bytes() / 1e6);
  else if (model.estimate(p).slots > 1)
    out.why = "several CTAs share an SM";
  if (!out.why.empty()) return out;
  const uint32_t issuers = p.ctas() / p.pair;
  // Where A and B are more, only a kernel's time says little that waits for the tensor core alone.
  const double pace = model.read_bytes() > kSpills * model.kept_bytes() ? model.tensor_time(p) : 0;
  const auto add = [&](uint32_t most, double weight) {
    Sample s{problem, most, weight, {(most ? most : tiles) * issuers, blocks, from, all - blocks, pace}};
    s.problem.k = blocks * p.split * problem.elements(p.block);
    out.runs.push_back(s);
  };
  if (waves <= kManyWaves) {
    add(0, 1);
    return out;
  }
  // The last wave, which need not fill the chip, comes first; then all are full, and as long as the next ones.
  const uint32_t rest = tiles - (waves - 1) * at_once;
  const double times = double(waves - 1) / kBehind;
  add(rest, 1 - times);
  add(rest + kBehind * at_once, times);
  return out;
}

}  // namespace

double Sampling::whole(const std::vector<double>& cycles) const {
  double sum = 0;
  for (size_t i = 0; i < runs.size(); ++i) sum += runs[i].weight * cycles[i];
  return sum;
}

Sampling sampling(const MachineSpec& spec, Template t, const Problem& problem, const Point& p) {
  if (is_attention(t)) return sample_attention(spec, problem, p);
  return sample_gemm(spec, problem, p);
}

}  // namespace tinygpu::search
