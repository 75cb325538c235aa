// The rules of attention's templates.
#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/search/legality.h"

namespace tinygpu::search {
namespace {

constexpr uint32_t kMemoryColumns = 512;

bool several_blocks(const Legal& l, const Point& p) { return l.problem.n > p.n; }

const Rule kAttentionBlackwell[] = {
    {"tensor-memory", "alloc-granularity", nullptr,
     [](const Legal& l, const Point& p) { return attention_columns(l.problem, p) > kMemoryColumns; },
     [](const Legal& l, const Point& p) {
       return fmt::format("{} tile{} of {} scores and {} columns of O take {} columns of Tensor Memory, which has {}",
                          p.m / 128, p.m == 128 ? "" : "s", p.n, l.problem.k, attention_columns(l.problem, p),
                          kMemoryColumns);
     },
     "alloc-granularity"},
    {"part-steps", nullptr, "A part of P is whole MMAs, each of 16 keys.",
     [](const Legal&, const Point& p) { return p.n / 16 % p.parts != 0; },
     [](const Legal&, const Point& p) {
       return fmt::format("{} keys are {} MMAs, in {} parts", p.n, p.n / 16, p.parts);
     },
     "a part of P is whole MMAs"},
    {"score-registers", nullptr, "A thread keeps its row of scores in registers.",
     [](const Legal& l, const Point& p) { return p.n + 16u > softmax_registers(l.kind, p); },
     [](const Legal& l, const Point& p) {
       return fmt::format("{} scores, and {} warpgroup{} of softmax leave{} a thread {} registers", p.n, p.m / 128,
                          p.m == 128 ? "" : "s", p.m == 128 ? "s" : "", softmax_registers(l.kind, p));
     },
     "[1-9][0-9]{2,} bytes spill"},
    {"one-stage", "deadlock",
     "Values stay in the ring while the next block's scores are computed: there are two stages.",
     [](const Legal& l, const Point& p) { return p.stages < 2 && several_blocks(l, p); },
     [](const Legal&, const Point&) {
       return std::string(
           "a block's values are given back behind the next block's scores, and with stages=1 its keys have no room");
     },
     "deadlock"},
};

const Rule kAttentionHopper[] = {
    {"accumulator-registers", nullptr, "A thread keeps its scores, its exponentials and its part of O in registers.",
     [](const Legal& l, const Point& p) {
       return p.n / 2u + (p.ahead ? p.n / 4u : 0) + l.problem.k / 2 + 25 > softmax_registers(l.kind, p);
     },
     [](const Legal& l, const Point& p) {
       return fmt::format("{} of scores{} and {} of O, and {} warpgroup{} leave{} a thread {} registers", p.n / 2,
                          p.ahead ? fmt::format(", {} of exponentials", p.n / 4) : "", l.problem.k / 2, p.m / 64,
                          p.m == 64 ? "" : "s", p.m == 64 ? "s" : "", softmax_registers(l.kind, p));
     },
     "[1-9][0-9]{2,} bytes spill|serialized due to insufficient register|Insufficient registers"},
    {"one-stage", "deadlock",
     "A consumer holds a block's keys while it asks for the values of another: there are two stages.",
     [](const Legal& l, const Point& p) { return p.ahead && p.stages < 2 && several_blocks(l, p); },
     [](const Legal&, const Point&) {
       return std::string(
           "the next block's keys are given back when the values behind them have been asked for, and "
           "with stages=1 those have no room");
     },
     "deadlock"},
};

const Rule kAttentionCommon[] = {
    {"staging-turns", nullptr, "O takes the queries' place only where no other queries come.",
     [](const Legal&, const Point& p) { return p.over_queries && p.order() != Schedule::serial; },
     [](const Legal&, const Point&) { return std::string("staging=queries with schedule=persistent"); },
     "the next piece's queries go where O would be"},
    {"shared-memory", "attribute-refused", nullptr,
     [](const Legal& l, const Point& p) {
       return attention_shared_bytes(l.kind, l.problem, p) > l.spec.shared_per_block_optin;
     },
     [](const Legal& l, const Point& p) {
       return fmt::format(
           "{} stages of {} bytes, queries of {} and what stands beside them are {} bytes, and a CTA has {}", p.stages,
           p.n * l.problem.k * 2, p.m * l.problem.k * 2, attention_shared_bytes(l.kind, l.problem, p),
           l.spec.shared_per_block_optin);
     },
     "failed with code 1|attribute-refused"},
    {"same-kernel: walk", nullptr, "Without masks all pieces are equally long, and those of a head follow each other.",
     [](const Legal& l, const Point& p) { return p.section > 1 && !l.problem.causal; },
     [](const Legal&, const Point& p) { return fmt::format("section={} without masks", p.section); }, nullptr},
    {"same-kernel: section", nullptr, "A section of all heads is as good as any larger one.",
     [](const Legal& l, const Point& p) { return p.section > 1 && p.section / 4 >= l.problem.heads; },
     [](const Legal& l, const Point& p) {
       return fmt::format("section={} with {} head{}", p.section, l.problem.heads, l.problem.heads == 1 ? "" : "s");
     },
     nullptr},
};

template <size_t A, size_t B>
std::vector<Rule> joined(const Rule (&a)[A], const Rule (&b)[B]) {
  std::vector<Rule> out(a, a + A);
  out.insert(out.end(), b, b + B);
  return out;
}

}  // namespace

std::span<const Rule> attention_rules(Template t) {
  static const std::vector<Rule> blackwell = joined(kAttentionBlackwell, kAttentionCommon),
                                 hopper = joined(kAttentionHopper, kAttentionCommon);
  return is_blackwell(t) ? blackwell : hopper;
}

uint32_t attention_columns(const Problem& problem, const Point& p) { return p.m / 128 * (p.n + problem.k); }

uint32_t softmax_registers(Template t, const Point& p) {
  if (!is_blackwell(t)) return p.m == 64 ? 255 : p.m == 128 ? 240 : 160;
  // What the CTA's warpgroups share, less what the correction and the others keep.
  const uint32_t tiles = p.m / 128u, launched = std::min(248u, 65536 / (128 * (tiles + 2)) / 8 * 8);
  return std::min(240u, (launched * (tiles + 2) - 96 - 48) / tiles / 8 * 8);
}

uint32_t attention_shared_bytes(Template t, const Problem& problem, const Point& p) {
  const uint32_t row = problem.k * 2;
  uint32_t bytes = p.m * row + p.stages * p.n * row;
  if (is_blackwell(t)) {
    const uint32_t tiles = p.m / 128u;
    bytes += p.over_queries ? 1024 : 128 * row;
    bytes += tiles * 128 * 4 + 8 * (2 * p.stages + tiles * (6 + p.parts)) + 4;
  } else {
    const uint32_t groups = p.m / 64u;
    bytes += groups * (p.over_queries ? 1024 : 64 * row) + 8 * (2 + 2 * p.stages);
  }
  return ceil_div(bytes, 1024) * 1024;
}

}  // namespace tinygpu::search
