#include "chapters/16_megakernel/plan.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>

#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/layout/tile.h"

namespace megakernel {
namespace {

using gen5::layout::ceil_div;

/// Numbers [from, to).
struct Span {
  uint32_t from, to;
};

/// Counters of a tensor: one for each `part` columns of each tile of tokens. A task waits for counters that follow each
/// other: parts of one tile, or (keys and values) one part of several tiles.
struct Counters {
  uint32_t first = 0, parts = 1, tiles = 1;
  uint32_t part = 1;                          // columns
  bool tiles_follow = false;                  // each other in memory; or parts do
  std::vector<std::vector<uint32_t>> makers;  // tasks, of each counter
  std::vector<uint32_t> full;                 // to which they raise it

  uint32_t at(uint32_t column, uint32_t tile) const {
    return tiles_follow ? column / part * tiles + tile : tile * parts + column / part;
  }
  /// Those of columns and tiles of tokens.
  Span of(Span columns, Span of_tokens) const {
    return {at(columns.from, of_tokens.from), at(std::min(columns.to, parts * part) - 1, of_tokens.to - 1) + 1};
  }
};

class Compiler {
 public:
  Compiler(const Graph& graph, const Sizes& sizes, const Tiling& tiling, const Machine& machine)
      : g_(graph), s_(sizes), tiling_(tiling), m_(machine) {}

  Plan run() {
    for (const uint32_t i : order_of(g_)) {
      const Operation& o = g_.operations[i];
      check_older(o);
      const auto first = uint32_t(plan_.tasks.size());
      add_counters(o);
      if (o.op == Op::norm) add_norms(o);
      if (o.op == Op::attend && s_.prefill) add_tokens(o);
      if (o.op == Op::attend && !s_.prefill) add_chunks(o);
      if (is_projection(o.op)) add_tiles(o);
      plan_.grids.push_back({first, uint32_t(plan_.tasks.size()) - first});
      plan_.names.push_back(o.name);
      of_operation_[o.writes] = &o;
    }
    return std::move(plan_);
  }

 private:
  /// An operation waits for its first input alone. All others have to be among what that one was made from: a CTA that
  /// has seen a counter has seen everything that its raisers had seen.
  void check_older(const Operation& o) const {
    std::set<std::string> older(g_.given.begin(), g_.given.end());
    std::vector<std::string> open = {o.reads.at(0)};
    while (!open.empty()) {
      const std::string t = open.back();
      open.pop_back();
      older.insert(t);
      if (const auto maker = of_operation_.find(t); maker != of_operation_.end())
        for (const std::string& r : maker->second->reads)
          if (!older.count(r)) open.push_back(r);
    }
    for (const std::string& t : o.reads)
      if (!older.count(t))
        throw PlanError(fmt::format("{} reads {} and {}, which are made beside each other; it can wait for one alone.",
                                    o.name, o.reads[0], t));
  }

  uint32_t token_tiles() const { return ceil_div(s_.rows(), tiling_.tokens); }
  /// Rows of x of a tile of tokens.
  Span rows_of(uint32_t tile) const {
    return {tile * tiling_.tokens, std::min((tile + 1) * tiling_.tokens, s_.rows())};
  }

  void add_counters(const Operation& o) {
    Counters c;
    c.first = plan_.counters;
    c.tiles = token_tiles();
    c.tiles_follow = o.op == Op::qkv;
    c.part = o.op == Op::norm ? s_.hidden : o.part ? o.part : o.rows;
    c.parts = o.op == Op::norm ? 1 : o.op == Op::attend ? s_.kv_heads : o.rows / c.part;
    c.makers.resize(c.parts * c.tiles);
    c.full.resize(c.parts * c.tiles);
    plan_.counters += c.parts * c.tiles;
    made_[o.writes] = c;
  }

  /// What of its first input the task needs.
  void wait_for(const Operation& o, Task& t, std::vector<uint32_t>& before, Span columns, Span of_tokens) {
    const auto it = made_.find(o.reads[0]);
    if (it == made_.end()) return;  // given
    const Counters& c = it->second;
    const auto [from, to] = c.of(columns, of_tokens);
    t.wait_first = c.first + from;
    t.waits = to - from;
    t.wait_for = c.full[from];  // of all
    t.wait_columns = c.part;
    for (uint32_t i = from; i < to; ++i) before.insert(before.end(), c.makers[i].begin(), c.makers[i].end());
  }

  /// What a task needs and what it costs.
  struct Needs {
    Span columns, of_tokens;  // of its first input
    uint64_t bytes;           // of weights, keys and values
    double flops;
  };
  /// The task raises the counter of column `column` of what its operation makes.
  void add(const Operation& o, Task t, uint32_t column, const Needs& needs) {
    t.op = o.op;
    t.number = uint32_t(plan_.tasks.size());
    t.layer = o.layer;
    t.half = o.half;
    std::vector<uint32_t> before;
    wait_for(o, t, before, needs.columns, needs.of_tokens);
    Counters& c = made_[o.writes];
    const uint32_t counter = c.at(column, t.row / tiling_.tokens);
    t.raises = c.first + counter;
    c.makers[counter].push_back(t.number);
    c.full[counter] += t.part == 0;
    plan_.tasks.push_back(t);
    plan_.before.push_back(before);
    plan_.bytes.push_back(t.row == 0 || !s_.prefill ? needs.bytes : 0);
    if (is_projection(o.op)) plan_.flops += needs.flops;
    plan_.cost.push_back(m_.hop +
                         std::max(double(needs.bytes) * m_.sms / m_.bytes_per_cycle, needs.flops / m_.tensor_flops));
  }

  /// A sequence each; of a prefill a token for each warp.
  void add_norms(const Operation& o) {
    const uint32_t most = s_.prefill ? kNormTokens : 1;
    Task t;
    for (uint32_t tile = 0; tile < token_tiles(); ++tile)
      for (t.row = rows_of(tile).from; t.row < rows_of(tile).to; t.row += most, ++t.tile) {
        t.rows = std::min(most, rows_of(tile).to - t.row);
        add(o, t, 0, {{0, s_.hidden}, {tile, tile + 1}, 0, 0});
      }
  }

  /// A task has so few chunks of keys that all SMs have one, where there are as many; a lane joins a part. The last
  /// part may wait for the others (attention.cuh), so no schedule may put it before one of them: none has more chunks
  /// than those before it.
  void add_chunks(const Operation& o) {
    const uint32_t chunks = ceil_div(s_.cache, kTile), tiles = s_.batch * s_.kv_heads;
    Task t;
    t.parts = std::clamp(m_.sms / tiles, 1u, std::min(32u, chunks));
    const auto first_of = [&](uint32_t part) { return chunks / t.parts * part + std::min(part, chunks % t.parts); };
    for (t.tile = 0; t.tile < tiles; ++t.tile) {
      const uint32_t head = t.tile % s_.kv_heads;
      t.row = t.tile / s_.kv_heads;
      t.meet = plan_.meets++;
      t.scratch = uint32_t(plan_.scratch);
      plan_.scratch += uint64_t(t.parts) * s_.group() * (s_.dim + 2);
      for (t.part = 0; t.part < t.parts; ++t.part) {
        t.first = first_of(t.part);
        const uint32_t end = first_of(t.part + 1);
        const uint32_t keys = std::min(end * kTile, s_.cache) - t.first * kTile;
        t.pages = (end - t.first) * 2 * s_.dim / 64;
        // As if by threads: 128 operations a cycle.
        add(o, t, head * o.part,
            {columns_of_head(head),
             {0, 1},
             4ull * keys * s_.dim,
             4.0 * keys * s_.dim * s_.group() * m_.tensor_flops / 128});
      }
    }
  }
  /// Columns of q, k and v.
  Span columns_of_head(uint32_t head) const { return {head * s_.kv_rows(), (head + 1) * s_.kv_rows()}; }

  /// A prefill's: some tokens' queries of the heads that share a kv head, and the chunks of keys up to the last one's.
  void add_tokens(const Operation& o) {
    const uint32_t most = kAttendRows / s_.group();
    Task t;
    for (uint32_t tile = 0; tile < token_tiles(); ++tile)
      for (t.tile = 0; t.tile < s_.kv_heads; ++t.tile)
        for (t.row = rows_of(tile).from; t.row < rows_of(tile).to; t.row += most) {
          t.rows = std::min(most, rows_of(tile).to - t.row);
          const uint32_t chunks = ceil_div(s_.cache + t.row + t.rows, kTile);
          const uint32_t keys = std::min(chunks * kTile, s_.keys());
          t.pages = chunks * 2 * s_.dim / 64;
          // Keys of a chunk's end may be those of tokens of the next tile. By mma.sync: half of the tensor core's rate.
          add(o, t, t.tile * o.part,
              {columns_of_head(t.tile),
               {0, ceil_div(keys - s_.cache, tiling_.tokens)},
               4ull * std::min(s_.cache, keys) * s_.dim,
               4.0 * keys * s_.dim * s_.group() * t.rows * 2});
        }
  }

  /// Of `weights` of a tile of tokens. More parts have fewer products each, and the last one more sums to add up.
  uint32_t worthwhile_parts(uint64_t weights) const {
    const double products = 2.0 * double(weights) * tiling_.tokens / m_.tensor_flops;
    return std::max(1u, uint32_t(std::sqrt(products / m_.part)));
  }

  /// Where tasks share tiles, so many do that all SMs have one, as long as each has a page along K. Tiles of tokens
  /// that want the same weights follow each other: the first one brings them into L2.
  void add_tiles(const Operation& o) {
    const uint32_t halves = o.op == Op::gate_up ? 2 : 1, rows = halves == 2 ? tiling_.gated : tiling_.rows;
    const uint32_t columns = tiling_.columns, tiles = o.rows / rows, blocks = ceil_div(o.depth, columns);
    Task t;
    t.parts = tiling_.split ? std::clamp(m_.sms / (tiles * token_tiles()), 1u, blocks) : 1;
    if (s_.prefill) t.parts = std::min(t.parts, worthwhile_parts(halves * rows * o.depth));
    for (t.tile = 0; t.tile < tiles; ++t.tile)
      for (uint32_t tile = 0; tile < token_tiles(); ++tile) {
        t.row = rows_of(tile).from;
        t.rows = rows_of(tile).to - t.row;
        t.meet = plan_.meets++;
        t.scratch = uint32_t(plan_.scratch);
        // A prefill's parts leave a whole tile each; where there is one part, it leaves none.
        if (s_.prefill && t.parts > 1) plan_.scratch += uint64_t(t.parts) * halves * tiling_.tokens * rows;
        if (!s_.prefill && tiling_.split) plan_.scratch += uint64_t(t.parts) * halves * s_.batch * rows;
        for (t.part = 0; t.part < t.parts; ++t.part) {
          t.first = uint32_t(uint64_t(blocks) * t.part / t.parts);
          const uint32_t end = uint32_t(uint64_t(blocks) * (t.part + 1) / t.parts);
          t.pages = (end - t.first) * (tiling_.gate_apart ? halves : 1);
          const uint64_t weights = uint64_t(halves) * rows * (std::min(end * columns, o.depth) - t.first * columns);
          add(o, t, t.tile * rows,
              {{t.first * columns, end * columns}, {tile, tile + 1}, weights * 2, 2.0 * double(weights) * t.rows});
        }
      }
  }

  const Graph& g_;
  const Sizes& s_;
  const Tiling& tiling_;
  const Machine& m_;
  Plan plan_;
  std::map<std::string, Counters> made_;
  std::map<std::string, const Operation*> of_operation_;
};

/// Between qkv and out there is more time than memory needs for the pages that a CTA has room for. So a CTA's last task
/// of qkv raises its counter while nothing is on its way: a release waits for loads. So does attention's, where few of
/// the CTAs have one: the others keep memory busy.
bool is_quiet(const Plan& plan, const Task& task, size_t ctas) {
  if (task.op != Op::attend) return task.op == Op::qkv;
  for (const Grid& g : plan.grids)
    if (task.number - g.first < g.count) return 2 * g.count <= ctas;
  return false;
}

Schedule schedule_of(const Plan& plan, const std::vector<std::vector<uint32_t>>& lists, double cycles) {
  Schedule s;
  s.cycles = cycles;
  s.first.push_back(0);
  for (const auto& list : lists) {
    for (size_t i = 0; i < list.size(); ++i) {
      s.tasks.push_back(plan.tasks[list[i]]);
      Task& t = s.tasks.back();
      const bool last = i + 1 == list.size() || plan.tasks[list[i + 1]].op != t.op;
      t.quiet = last && is_quiet(plan, t, lists.size());
    }
    s.first.push_back(uint32_t(s.tasks.size()));
  }
  return s;
}

/// When the last of those it waits for ends.
double inputs_of(const Plan& plan, uint32_t task, const std::vector<double>& end) {
  double at = 0;
  for (const uint32_t b : plan.before[task]) at = std::max(at, end[b]);
  return at;
}

}  // namespace

Machine current_machine() {
  const gen5::harness::Device device = gen5::harness::current_device();
  int khz = 0, bits = 0;
  GEN5_CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, 0));
  GEN5_CUDA(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0));
  Machine m;
  m.sms = uint32_t(device.sms);
  m.bytes_per_cycle = 2e3 * khz * bits / 8 / (device.clock_ghz * 1e9);  // twice a clock
  int major = 0;
  GEN5_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 10) m.tensor_flops = 4096;  // Hopper's
  return m;
}

Plan compile(const Graph& graph, const Sizes& sizes, const Tiling& tiling, const Machine& machine) {
  return Compiler(graph, sizes, tiling, machine).run();
}

Schedule in_order(const Plan& plan, uint32_t ctas) {
  std::vector<std::vector<uint32_t>> lists(ctas);
  std::vector<double> end(plan.tasks.size()), free(ctas);
  double last = 0;
  for (uint32_t t = 0; t < plan.tasks.size(); ++t) {
    const uint32_t cta = t % ctas;
    lists[cta].push_back(t);
    last = std::max(last, free[cta] = end[t] = std::max(free[cta], inputs_of(plan, t, end)) + plan.cost[t]);
  }
  return schedule_of(plan, lists, last);
}

Schedule critical_path_first(const Plan& plan, uint32_t ctas, uint32_t beside) {
  const auto count = uint32_t(plan.tasks.size());
  std::vector<double> behind(count), end(count), ready(count);
  std::vector<std::vector<uint32_t>> after(count);
  std::vector<uint32_t> missing(count);
  for (uint32_t t = count; t-- > 0;) {
    behind[t] += plan.cost[t];
    missing[t] = uint32_t(plan.before[t].size());
    for (const uint32_t b : plan.before[t]) {
      behind[b] = std::max(behind[b], behind[t]);
      after[b].push_back(t);
    }
  }
  // Events in order of time: a task ends, or becomes ready. A CTA that is free takes of the ready ones the one with the
  // longest way behind it, of equal ones the first in program order.
  using At = std::pair<double, uint32_t>;
  using First = std::priority_queue<At, std::vector<At>, std::greater<>>;
  First open[2];  // by way, negative; of each kind of tasks
  First running, idle[2];
  const auto kind = [&](uint32_t t) { return size_t(beside && !is_projection(plan.tasks[t].op)); };
  for (uint32_t c = 0; c < ctas + beside; ++c) idle[c >= ctas].push({0, c});
  for (uint32_t t = 0; t < count; ++t)
    if (missing[t] == 0) open[kind(t)].push({-behind[t], t});
  std::vector<std::vector<uint32_t>> lists(ctas + beside);
  std::vector<uint32_t> cta_of(count);
  double now = 0;
  for (uint32_t done = 0; done < count; ++done) {
    for (const size_t k : {0, 1})
      while (!open[k].empty() && !idle[k].empty()) {
        const uint32_t t = open[k].top().second, cta = idle[k].top().second;
        open[k].pop();
        idle[k].pop();
        lists[cta].push_back(t);
        cta_of[t] = cta;
        running.push({end[t] = now + plan.cost[t], t});
      }
    const uint32_t t = running.top().second;
    now = running.top().first;
    running.pop();
    idle[cta_of[t] >= ctas].push({now, cta_of[t]});
    for (const uint32_t next : after[t])
      if (--missing[next] == 0) open[kind(next)].push({-behind[next], next});
  }
  return schedule_of(plan, lists, now);
}

}  // namespace megakernel
