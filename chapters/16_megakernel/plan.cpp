#include "chapters/16_megakernel/plan.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/layout/tile.h"

namespace megakernel {
namespace {

using gen5::layout::ceil_div;

/// Counters of a tensor: one for each `part` columns, raised to `full` by the tasks that make them.
struct Counters {
  uint32_t first = 0, count = 1, full = 1;
  uint32_t part = 1;                          // columns
  std::vector<std::vector<uint32_t>> makers;  // tasks, of each counter

  /// Those of columns [from, to).
  std::pair<uint32_t, uint32_t> of(uint32_t from, uint32_t to) const {
    const uint32_t begin = from / part, end = std::min(count, ceil_div(to, part));
    return {begin, end - begin};
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
      if (o.op == Op::attend) add_chunks(o);
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

  void add_counters(const Operation& o) {
    Counters c;
    c.first = plan_.counters;
    const uint32_t tiles = o.rows / tiling_.rows;
    switch (o.op) {
      case Op::norm:
        c.full = s_.batch;
        c.part = s_.hidden;
        break;
      case Op::attend:
        c.count = s_.kv_heads;
        c.full = s_.batch;
        c.part = o.part;
        break;
      default:
        c.part = o.part ? o.part : o.rows;
        c.count = o.rows / c.part;
        c.full = tiles / c.count;
    }
    c.makers.resize(c.count);
    plan_.counters += c.count;
    made_[o.writes] = c;
  }

  /// Columns [from, to) of its first input are what the task needs.
  void wait_for(const Operation& o, Task& t, std::vector<uint32_t>& before, uint32_t from, uint32_t to) {
    const auto it = made_.find(o.reads[0]);
    if (it == made_.end()) return;  // given
    const auto [first, count] = it->second.of(from, to);
    t.wait_first = it->second.first + first;
    t.waits = count;
    t.wait_for = it->second.full;
    t.wait_columns = it->second.part;
    for (uint32_t i = first; i < first + count; ++i)
      before.insert(before.end(), it->second.makers[i].begin(), it->second.makers[i].end());
  }

  /// The task raises the counter of column `column` of what its operation makes.
  void add(const Operation& o, Task t, uint32_t column, uint32_t from, uint32_t to, uint64_t bytes, double flops) {
    t.op = o.op;
    t.number = uint32_t(plan_.tasks.size());
    t.layer = o.layer;
    t.half = o.half;
    std::vector<uint32_t> before;
    wait_for(o, t, before, from, to);
    Counters& c = made_[o.writes];
    t.raises = c.first + column / c.part;
    c.makers[column / c.part].push_back(t.number);
    plan_.tasks.push_back(t);
    plan_.before.push_back(before);
    plan_.bytes.push_back(bytes);
    plan_.cost.push_back(m_.hop + std::max(double(bytes) * m_.sms / m_.bytes_per_cycle, flops / m_.tensor_flops));
  }

  void add_norms(const Operation& o) {
    Task t;
    for (t.tile = 0; t.tile < s_.batch; ++t.tile) add(o, t, 0, 0, s_.hidden, 0, 0);
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
      t.meet = plan_.meets++;
      t.scratch = uint32_t(plan_.scratch);
      plan_.scratch += uint64_t(t.parts) * s_.group() * (s_.dim + 2);
      for (t.part = 0; t.part < t.parts; ++t.part) {
        t.first = first_of(t.part);
        const uint32_t end = first_of(t.part + 1);
        const uint32_t keys = std::min(end * kTile, s_.cache) - t.first * kTile;
        t.pages = (end - t.first) * 2 * s_.dim / 64;
        add(o, t, head * o.part, head * s_.kv_rows(), (head + 1) * s_.kv_rows(), 4ull * keys * s_.dim,
            4.0 * keys * s_.dim * s_.group() * 64);  // by threads, a sixty-fourth of the tensor core's rate
      }
    }
  }

  /// Where tasks share tiles, so many do that all SMs have one, as long as each has a page along K.
  void add_tiles(const Operation& o) {
    const uint32_t rows = tiling_.rows, columns = tiling_.columns, tiles = o.rows / rows;
    const uint32_t blocks = ceil_div(o.depth, columns), halves = o.op == Op::gate_up ? 2 : 1;
    Task t;
    t.parts = tiling_.split ? std::clamp(m_.sms / tiles, 1u, blocks) : 1;
    for (t.tile = 0; t.tile < tiles; ++t.tile) {
      t.meet = plan_.meets++;
      t.scratch = uint32_t(plan_.scratch);
      if (tiling_.split) plan_.scratch += uint64_t(t.parts) * halves * s_.batch * rows;
      for (t.part = 0; t.part < t.parts; ++t.part) {
        t.first = uint32_t(uint64_t(blocks) * t.part / t.parts);
        const uint32_t end = uint32_t(uint64_t(blocks) * (t.part + 1) / t.parts);
        t.pages = (end - t.first) * halves;
        const uint64_t weights = uint64_t(halves) * rows * (std::min(end * columns, o.depth) - t.first * columns);
        add(o, t, t.tile * rows, t.first * columns, end * columns, weights * 2, 2.0 * double(weights) * s_.batch);
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
