#include "chapters/16_megakernel/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace megakernel {
namespace {

void refuse(bool wrong, const std::string& sentence) {
  if (wrong) throw PlanError(sentence);
}

void check_prefill(const Sizes& s) {
  if (!s.prefill) return;
  refuse(s.prefill > kLargestPrefill,
         fmt::format("A prefill of {} tokens does not fit: it may have {}.", s.prefill, kLargestPrefill));
  refuse(s.batch > 1, fmt::format("A prefill is of one sequence, and the batch has {}: a kv head's keys are those of "
                                  "one sequence for all tokens of a task.",
                                  s.batch));
}

void check_sizes(const Sizes& s) {
  check_prefill(s);
  refuse(s.batch > kLargestBatch,
         fmt::format("A batch of {} does not fit: a task multiplies all rows of the batch at once, and beside its "
                     "pages of weights an SM has room for {}.",
                     s.batch, kLargestBatch));
  refuse(
      s.hidden % kTile || s.intermediate % kTile || s.head_columns() % kTile,
      fmt::format("Tiles have {0} rows of weights: hidden ({1}), intermediate ({2}) and heads times dim ({3}) have to "
                  "be multiples of {0}.",
                  kTile, s.hidden, s.intermediate, s.head_columns()));
  refuse(
      s.hidden > kLargestHidden,
      fmt::format("A hidden of {} does not fit: a norm's threads keep {} numbers at most.", s.hidden, kLargestHidden));
  refuse(s.heads % s.kv_heads || s.group() > kLargestGroup,
         fmt::format("{} heads cannot share {} kv heads: each kv head serves the same number, at most {}.", s.heads,
                     s.kv_heads, kLargestGroup));
  refuse(s.kv_rows() % kTile,
         fmt::format("The q, k and v of a kv head are {} rows of weights, which is no multiple of a tile's {}.",
                     s.kv_rows(), kTile));
}

}  // namespace

Graph decoder(const Sizes& s, bool norms_apart) {
  check_sizes(s);
  Graph g;
  g.given = {"x0"};
  const uint32_t h = s.hidden;
  for (uint32_t l = 0; l < s.layers; ++l) {
    const auto name = [&](const char* tensor) { return fmt::format("{}{}", tensor, l); };
    const std::string x = name("x"), next = fmt::format("x{}", l + 1);
    const auto add = [&](const char* op_name, Op op, uint32_t half, std::vector<std::string> reads, std::string writes,
                         uint32_t rows = 0, uint32_t depth = 0, uint32_t part = 0) {
      g.operations.push_back(
          {name(op_name), op, l, 2 * l + half, std::move(reads), std::move(writes), rows, depth, part});
    };
    if (norms_apart) add("norm1.", Op::norm, 0, {x}, name("n"));
    add("qkv.", Op::qkv, 0, {norms_apart ? name("n") : x}, name("qkv"), s.qkv_rows(), h, s.kv_rows());
    add("attend.", Op::attend, 0, {name("qkv")}, name("a"), 0, 0, s.group() * s.dim);
    // A projection that normalises takes x as it comes; a norm wants all of it.
    const uint32_t of_x = norms_apart ? 0 : kTile;
    add("out.", Op::out, 0, {name("a"), x}, name("y"), h, s.head_columns(), of_x);
    if (norms_apart) add("norm2.", Op::norm, 1, {name("y")}, name("m"));
    add("gate_up.", Op::gate_up, 1, {name(norms_apart ? "m" : "y")}, name("h"), s.intermediate, h, kTile);
    add("down.", Op::down, 1, {name("h"), name("y")}, next, h, s.intermediate, of_x);
  }
  return g;
}

std::vector<uint32_t> order_of(const Graph& g) {
  std::map<std::string, std::string> maker;
  for (const std::string& t : g.given) maker[t] = "";
  for (const Operation& o : g.operations) {
    const auto [at, fresh] = maker.emplace(o.writes, o.name);
    refuse(!fresh, fmt::format("{} makes {}, which {} makes too: a tensor is made once.", o.name, o.writes,
                               at->second.empty() ? "somebody before the graph" : at->second));
  }
  for (const Operation& o : g.operations)
    for (const std::string& t : o.reads)
      refuse(!maker.count(t), fmt::format("{} reads {}, which no operation makes and which is not given.", o.name, t));

  std::vector<uint32_t> order;
  std::vector<bool> done(g.operations.size());
  std::map<std::string, bool> there;
  for (const std::string& t : g.given) there[t] = true;
  while (order.size() < g.operations.size()) {
    const size_t before = order.size();
    for (uint32_t i = 0; i < g.operations.size(); ++i) {
      const Operation& o = g.operations[i];
      if (done[i] || !std::all_of(o.reads.begin(), o.reads.end(), [&](const std::string& t) { return there[t]; }))
        continue;
      done[i] = true;
      there[o.writes] = true;
      order.push_back(i);
    }
    if (order.size() > before) continue;
    // Following the makers of what is missing, from any operation that is left, ends in a circle.
    std::vector<std::string> way;
    const Operation* at = &*std::find_if(g.operations.begin(), g.operations.end(),
                                         [&](const Operation& o) { return !done[size_t(&o - g.operations.data())]; });
    while (std::find(way.begin(), way.end(), at->name) == way.end()) {
      way.push_back(at->name);
      const std::string& missing =
          *std::find_if(at->reads.begin(), at->reads.end(), [&](const std::string& t) { return !there[t]; });
      at = &*std::find_if(g.operations.begin(), g.operations.end(),
                          [&](const Operation& o) { return o.writes == missing; });
    }
    way.erase(way.begin(), std::find(way.begin(), way.end(), at->name));
    way.push_back(at->name);
    throw PlanError(
        fmt::format("The graph has a cycle: {}. Each waits for what the one behind it makes, and none can be "
                    "the first.",
                    fmt::join(way, ", ")));
  }
  return order;
}

}  // namespace megakernel
