#include "common/tinygpu/search/attention_model.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tinygpu::search {
namespace {

constexpr uint32_t kMostStages = 16, kMostTiles = 4, kMostParts = 4;
/// Blocks and pieces that are simulated; the others take what those in the middle take.
constexpr uint32_t kSampledBlocks = 24, kSampledPieces = 3;
/// In which warpgroups of Hopper share the issue port while they weigh a block.
constexpr uint32_t kTurns = 8;

}  // namespace

/// What the roles of one SM know of the problem.
struct AttentionModel::Plan {
  Point p;
  const Numbers* n;
  std::vector<uint32_t> blocks;  // of each piece that is simulated
  uint32_t tiles = 1;            // of a CTA: softmax warpgroups
  Load query, block;
  Shares shares;
  double score_steps, value_steps;  // MMAs
  Cycles score_interval, value_interval, score_latency, value_latency;
  double scores;        // of a thread, in a block
  double instructions;  // of a thread for a score, beside its exponential
  double output;        // registers of a thread that O takes
  double output_bytes;  // of a tile or a band
  Cycles write_share;   // of L2, of all SMs
};

uint32_t pieces(const Problem& problem, const Point& p) { return ceil_div(problem.m, p.m) * problem.heads; }

uint32_t blocks_of_piece(const Problem& problem, const Point& p, uint32_t index) {
  const uint32_t all = ceil_div(problem.n, p.n);
  if (!problem.causal) return all;
  const uint32_t of_a_head = ceil_div(problem.m, p.m), of_a_section = of_a_head * p.section;
  const uint32_t first = index / of_a_section * p.section, inside = index % of_a_section;
  const uint32_t heads = std::min<uint32_t>(p.section, problem.heads - first);
  const uint32_t place = of_a_head - 1 - inside / heads;
  return std::min(all, ceil_div(std::min(problem.m, (place + 1) * p.m), p.n));
}

std::vector<uint32_t> busiest(const Problem& problem, const Point& p, uint32_t sms, uint32_t count) {
  std::vector<std::vector<uint32_t>> of(std::min(sms, count));
  std::vector<uint64_t> sum(of.size());
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t blocks = blocks_of_piece(problem, p, i);
    // CTAs that stay take every so many pieces; those that do not come where one has ended.
    const size_t sm = p.order() == Schedule::persistent
                          ? i % of.size()
                          : size_t(std::min_element(sum.begin(), sum.end()) - sum.begin());
    of[sm].push_back(blocks);
    sum[sm] += blocks + 2;  // a piece's beginning and end take about as long as two blocks
  }
  return of[size_t(std::max_element(sum.begin(), sum.end()) - sum.begin())];
}

AttentionModel::Plan AttentionModel::plan(const Point& p) const {
  const Numbers& n = numbers_;
  const bool blackwell = is_blackwell(kind_);
  const double dim = problem_.k;
  const uint32_t sms = uint32_t(spec_.sms), all = pieces(problem_, p), boxes = problem_.k / 64;
  Plan plan{};
  plan.p = p;
  plan.n = &n;
  plan.tiles = p.m / (blackwell ? 128 : 64);
  plan.blocks = busiest(problem_, p, sms, all);

  const auto load = [&](double rows, uint32_t requests) {
    return Load{rows * dim * 2, rows * boxes, 0, rows * boxes * std::max(1 / n.tma_rows, 128 / n.tma_bytes),
                requests,       false};
  };
  plan.query = load(blackwell ? 128 : p.m, boxes);
  plan.block = load(p.n, boxes);

  // What all SMs take of L2 and of device memory for a block. Those of a head ask for the same keys.
  const uint32_t active = std::min(sms, all), of_a_head = ceil_div(problem_.m, p.m);
  const uint32_t in_section = std::min<uint32_t>(p.section, problem_.heads);
  const uint32_t heads = std::min(problem_.heads, ceil_div(active, of_a_head * in_section) * in_section);
  const double bytes = plan.block.bytes, head_bytes = 4.0 * problem_.n * dim;
  plan.shares.l2 = active * bytes / (heads < active ? n.l2_tile_bytes : n.l2_bytes);
  const double everything = (head_bytes + 4.0 * problem_.m * dim) * problem_.heads;
  if (everything > n.l2_keeps) {
    // A head's keys come once for all its pieces, as long as L2 keeps them.
    const double once = heads * head_bytes <= n.l2_keeps ? std::min(1.0, double(active) / heads / of_a_head) : 1;
    plan.shares.dram = heads * bytes * once / n.dram_bytes;
    plan.shares.from_dram = once > 0.5;
  }

  plan.score_steps = dim / 16;
  plan.value_steps = p.n / 16.0;
  const double m = blackwell ? 128 : 64;
  plan.score_interval = std::max(p.n / n.columns, 32.0 * (m + p.n) / n.operand_bytes);
  plan.value_interval = std::max(dim / n.columns, 32.0 * dim / n.operand_bytes);  // A is no operand in shared memory
  plan.score_latency = blackwell ? n.mma_m128 : n.wgmma_wait;
  plan.value_latency = blackwell ? n.mma_tmem : n.wgmma_wait;
  // A score's share of the largest of its row, its scaling, the sum, and half a conversion.
  plan.scores = blackwell ? p.n : p.n / 2.0;
  plan.instructions = blackwell ? 0.5 * n.alu + 2 + 0.5 * n.convert : n.alu + 2 + 0.5 * n.convert;
  plan.output = blackwell ? dim : dim / 2;
  plan.output_bytes = m * dim * 2;
  plan.write_share = plan.output_bytes * active / n.l2_write_bytes;
  return plan;
}

namespace {

/// The barriers of a CTA, and what its roles waited for.
struct Cta {
  std::array<Barrier, kMostStages> full, empty;
  std::array<Barrier, kMostTiles> q_full, q_empty, scored, factored, taken, added;
  std::array<std::array<Barrier, kMostParts>, kMostTiles> weighted;
  Barrier born;
  Cycles for_loads = 0, for_softmax = 0, other = 0;
  std::vector<std::vector<Cycles>> done;  // of each piece, when each block of its first tile was multiplied
};

/// Where the next block goes, or comes from, in the ring.
struct Place {
  uint32_t at = 0;
  uint32_t stage(uint32_t stages) const { return at % stages; }
  uint32_t round(uint32_t stages) const { return at / stages; }
};

template <class Plan>
Role load(TinyMachine& m, const Plan& plan, Cta& cta, bool blackwell) {
  const uint32_t stages = plan.p.stages, queries = blackwell ? plan.tiles : 1;
  Place to;
  Cycles waited = 0;
  for (uint32_t piece = 0; piece < plan.blocks.size(); ++piece) {
    if (piece == 0 || plan.p.order() == Schedule::serial) {
      co_await m.wait(cta.born, piece + 1, waited);
      co_await m.begin_cta(m.now() + (piece == 0 ? plan.n->first_access + plan.n->map_fetch : 0), false);
    }
    for (uint32_t i = 0; i < 2 * plan.blocks[piece]; ++i, ++to.at) {
      // The first tile's queries come before the keys, the others' behind them.
      for (uint32_t t = i; i < 2 && t < (i == 0 ? 1 : queries); ++t) {
        co_await m.wait(cta.q_empty[t], piece, waited);
        co_await m.load_tile(plan.query, plan.shares, cta.q_full[t]);
      }
      const uint32_t stage = to.stage(stages);
      co_await m.wait(cta.empty[stage], to.round(stages), waited);
      co_await m.load_tile(plan.block, plan.shares, cta.full[stage]);
    }
  }
}

/// Blackwell: one thread multiplies.
template <class Plan>
Role multiply(TinyMachine& m, const Plan& plan, Cta& cta) {
  const uint32_t stages = plan.p.stages, parts = plan.p.parts;
  Place at;
  uint32_t blocks = 0;  // of the pieces before
  for (uint32_t piece = 0; piece < plan.blocks.size(); ++piece) {
    const uint32_t last = plan.blocks[piece];
    for (uint32_t t = 0; t < plan.tiles; ++t) {
      co_await m.wait(cta.q_full[t], piece + 1, cta.for_loads);
      co_await m.wait(cta.full[at.stage(stages)], at.round(stages) + 1, cta.for_loads);
      co_await m.wait(cta.added[t], blocks, cta.for_softmax);
      co_await m.mma_tile(plan.score_steps, plan.score_interval);
      m.commit(cta.scored[t], plan.score_latency);
      if (last == 1) m.commit(cta.q_empty[t], plan.score_latency);
    }
    m.commit(cta.empty[at.stage(stages)], plan.score_latency);
    ++at.at;
    std::vector<Cycles>& done = cta.done.emplace_back();
    for (uint32_t block = 0; block < last; ++block) {
      const Place v = at, k{at.at + 1};
      at.at += block + 1 < last ? 2 : 1;
      for (uint32_t t = 0; t < plan.tiles; ++t) {
        for (uint32_t part = 0; part < parts; ++part) {
          co_await m.wait(cta.weighted[t][part], blocks + block + 1, cta.for_softmax);
          if (part == 0) co_await m.wait(cta.full[v.stage(stages)], v.round(stages) + 1, cta.for_loads);
          co_await m.mma_tile(plan.value_steps / parts, plan.value_interval);
        }
        m.commit(cta.added[t], plan.value_latency);
        if (block + 1 == last) continue;
        co_await m.wait(cta.full[k.stage(stages)], k.round(stages) + 1, cta.for_loads);
        co_await m.wait(cta.added[t], blocks + block + 1, cta.other);
        co_await m.mma_tile(plan.score_steps, plan.score_interval);
        m.commit(cta.scored[t], plan.score_latency);
        if (block + 2 == last) m.commit(cta.q_empty[t], plan.score_latency);
      }
      m.commit(cta.empty[v.stage(stages)], plan.value_latency);
      if (block + 1 < last) m.commit(cta.empty[k.stage(stages)], plan.score_latency);
      done.push_back(m.tensor_free());
    }
    blocks += last;
  }
}

/// Blackwell: a softmax warpgroup, a row a thread.
template <class Plan>
Role weigh(TinyMachine& m, const Plan& plan, Cta& cta, uint32_t t) {
  uint32_t blocks = 0, told = 0;
  for (uint32_t piece = 0; piece < plan.blocks.size(); ++piece) {
    for (uint32_t block = 0; block < plan.blocks[piece]; ++block, ++blocks) {
      co_await m.wait(cta.scored[t], blocks + 1, cta.other);
      co_await m.load_accumulator(plan.scores);
      co_await m.work(0.5 * plan.scores * plan.n->alu, 0);  // the largest of the row
      if (block > 0) {
        co_await m.wait(cta.taken[t], told++, cta.other);
        m.arrive(cta.factored[t]);
      }
      for (uint32_t part = 0; part < plan.p.parts; ++part) {
        const double count = plan.scores / plan.p.parts;
        co_await m.work(count * (plan.instructions - 0.5 * plan.n->alu), count);
        co_await m.store_accumulator(count / 2);
        m.arrive(cta.weighted[t][part]);
      }
    }
    co_await m.wait(cta.taken[t], told++, cta.other);
    m.arrive(cta.factored[t]);
  }
}

/// Blackwell: rescales and stores O.
template <class Plan>
Role correct(TinyMachine& m, const Plan& plan, Cta& cta) {
  uint32_t blocks = 0;
  std::array<uint32_t, kMostTiles> heard{};
  for (uint32_t piece = 0; piece < plan.blocks.size(); ++piece) {
    for (uint32_t block = 0; block < plan.blocks[piece]; ++block, ++blocks)
      for (uint32_t t = 0; t < plan.tiles; ++t) {
        if (block > 0) {
          co_await m.wait(cta.factored[t], ++heard[t], cta.other);
          m.arrive(cta.taken[t]);
          co_await m.wait(cta.added[t], blocks, cta.other);
          if (!plan.p.lazy) {
            co_await m.load_accumulator(plan.output);
            co_await m.work(plan.output, 0);
            co_await m.store_accumulator(plan.output);
          }
        }
        m.arrive(cta.weighted[t][0]);
      }
    for (uint32_t t = 0; t < plan.tiles; ++t) {
      co_await m.wait(cta.factored[t], ++heard[t], cta.other);
      m.arrive(cta.taken[t]);
      co_await m.wait(cta.added[t], blocks, cta.other);
      co_await m.wait_stored(0);
      co_await m.load_accumulator(plan.output);
      co_await m.stage_tile(plan.output_bytes, 2 * plan.output);
      co_await m.store_tile(plan.output_bytes, 0, false, plan.write_share);
    }
    if (plan.p.order() == Schedule::serial) {
      co_await m.wait_stored(0);
      co_await m.end_cta();
      m.arrive(cta.born, plan.n->launch_refill);
    }
  }
  co_await m.wait_stored(0);
  co_await m.end_cta();
}

/// Hopper: a warpgroup multiplies, weighs and stores its 64 queries.
template <class Plan>
Role consume(TinyMachine& m, const Plan& plan, Cta& cta, uint32_t group) {
  const uint32_t stages = plan.p.stages;
  const Cycles batch = plan.n->wgmma_batch;
  const double other = plan.scores * plan.instructions, rescaled = plan.p.lazy ? 0 : plan.output;
  Place at;
  Cycles ignored = 0;
  Cycles& loads = group == 0 ? cta.for_loads : ignored;
  for (uint32_t piece = 0; piece < plan.blocks.size(); ++piece) {
    std::vector<Cycles> done;
    const uint32_t last = plan.blocks[piece];
    co_await m.wait(cta.q_full[0], piece + 1, loads);
    co_await m.wait(cta.full[at.stage(stages)], at.round(stages) + 1, loads);
    co_await m.mma_tile(plan.score_steps, plan.score_interval, batch);
    co_await m.done(m.tensor_free());
    m.arrive(cta.empty[at.stage(stages)]);
    ++at.at;
    if (last == 1) m.arrive(cta.q_empty[0]);
    co_await m.pause(plan.n->row);
    for (uint32_t i = 0; i < kTurns; ++i) co_await m.work(other / kTurns, plan.scores / kTurns);
    for (uint32_t block = 1; block < last; ++block) {
      Cycles end[2];
      uint32_t stage[2];  // of scores and values, in the order in which they are asked for
      for (uint32_t i = 0; i < 2; ++i, ++at.at) {
        const bool is_score = (i == 0) == (plan.p.ahead != 0);
        stage[i] = at.stage(stages);
        co_await m.wait(cta.full[stage[i]], at.round(stages) + 1, loads);
        if (is_score)
          co_await m.mma_tile(plan.score_steps, plan.score_interval, batch);
        else
          co_await m.mma_tile(plan.value_steps, plan.value_interval, batch);
        end[i] = m.tensor_free();
        if (plan.p.ahead) continue;
        co_await m.done(end[i]);
        m.arrive(cta.empty[stage[i]]);
      }
      if (plan.p.ahead) {
        co_await m.done(end[0]);
        m.arrive(cta.empty[stage[0]]);
      }
      if (block + 1 == last) m.arrive(cta.q_empty[0]);
      co_await m.pause(plan.n->row);
      for (uint32_t i = 0; i < kTurns; ++i) co_await m.work(other / kTurns, plan.scores / kTurns);
      if (plan.p.ahead) {
        co_await m.done(end[1]);
        m.arrive(cta.empty[stage[1]]);
      }
      if (rescaled > 0) co_await m.work(rescaled, 0);
      done.push_back(m.now());
    }
    co_await m.wait(cta.full[at.stage(stages)], at.round(stages) + 1, loads);
    co_await m.mma_tile(plan.value_steps, plan.value_interval, batch);
    co_await m.done(m.tensor_free());
    m.arrive(cta.empty[at.stage(stages)]);
    ++at.at;
    done.push_back(m.now());
    co_await m.wait_stored(0);
    co_await m.stage_tile(plan.output_bytes, 2 * plan.output);
    co_await m.store_tile(plan.output_bytes, 0, false, plan.write_share);
    if (group == 0) cta.done.push_back(std::move(done));
    if (plan.p.order() == Schedule::serial) {
      co_await m.wait_stored(0);
      co_await m.end_cta();
      m.arrive(cta.born, plan.n->launch_refill);
    }
  }
  co_await m.wait_stored(0);
  co_await m.end_cta();
}

}  // namespace

Estimate AttentionModel::estimate(const Point& p) const {
  Plan plan = this->plan(p);
  const bool blackwell = is_blackwell(kind_);
  const uint32_t waves = uint32_t(plan.blocks.size());
  const double blocks = std::accumulate(plan.blocks.begin(), plan.blocks.end(), 0.0);
  // The longest pieces come first, or all are equally long.
  plan.blocks.resize(std::min(waves, kSampledPieces));
  for (uint32_t& b : plan.blocks) b = std::min(b, kSampledBlocks);
  const double left_blocks = blocks - std::accumulate(plan.blocks.begin(), plan.blocks.end(), 0.0),
               left_pieces = waves - double(plan.blocks.size());

  TinyMachine m(numbers_);
  Cta cta;
  const auto expects = [](Barrier& b, uint32_t count) { b.count = b.pending = count; };
  if (blackwell) {
    for (auto& parts : cta.weighted) expects(parts[0], 2);
  } else {
    for (Barrier& b : cta.empty) expects(b, plan.tiles);
    expects(cta.q_empty[0], plan.tiles);
  }
  expects(cta.born, 1);
  m.arrive(cta.born, numbers_.launch + numbers_.launch_cta);
  m.add(load(m, plan, cta, blackwell));
  if (blackwell) {
    m.add(multiply(m, plan, cta));
    for (uint32_t t = 0; t < plan.tiles; ++t) m.add(weigh(m, plan, cta, t));
    m.add(correct(m, plan, cta));
  } else {
    if (p.order() == Schedule::serial) cta.born.count = plan.tiles;
    for (uint32_t g = 0; g < plan.tiles; ++g) m.add(consume(m, plan, cta, g));
  }
  const Cycles simulated = m.run() + numbers_.launch_end;

  // A block in the middle of the first piece, and what a piece takes beside its blocks.
  Cycles cycles = simulated;
  const std::vector<Cycles>& first = cta.done.front();
  if (left_blocks > 0) {
    const size_t last = first.size() - 1, half = last / 2;
    const Cycles each = last > half ? (first[last] - first[half]) / double(last - half) : 0;
    cycles += std::max(0.0, left_blocks) * each;
    if (left_pieces > 0 && cta.done.size() > 1) {
      const Cycles piece = cta.done.back().back() - cta.done[cta.done.size() - 2].back();
      cycles += left_pieces * std::max(0.0, piece - each * double(cta.done.back().size()));
    }
  }
  Estimate e;
  e.cycles = cycles;
  e.waves = waves;
  e.clusters = uint32_t(spec_.sms);
  e.slots = 1;
  const TinyMachine::Busy busy = m.busy();
  e.tensor = busy.tensor / simulated;
  e.loads = std::min(1 - e.tensor, cta.for_loads / simulated);
  e.epilogue =
      blackwell ? std::min(1 - e.tensor - e.loads, cta.for_softmax / simulated) : std::max(0.0, 1 - e.tensor - e.loads);
  const struct {
    Cycles busy;
    const char* name;
  } units[] = {
      {busy.tensor, "tensor core"}, {busy.special, "softmax (exponentials)"}, {busy.threads, "softmax (instructions)"},
      {busy.l2, "loads (L2)"},      {busy.dram, "loads (device memory)"},     {busy.tma, "loads (TMA)"}};
  const auto unit = std::max_element(std::begin(units), std::end(units),
                                     [](const auto& a, const auto& b) { return a.busy < b.busy; });
  const double rest = 1 - e.tensor - e.loads - e.epilogue;
  e.limit = unit->busy > 0.6 * simulated               ? unit->name
            : e.loads >= e.epilogue && e.loads >= rest ? "loads (latency)"
            : e.epilogue >= rest                       ? "softmax (latency)"
                                                       : "starts and ends";
  return e;
}

Cycles AttentionModel::least(const Point& p) const {
  const Numbers& n = numbers_;
  const Plan plan = this->plan(p);
  const double blocks = std::accumulate(plan.blocks.begin(), plan.blocks.end(), 0.0);
  const Cycles multiply = plan.score_steps * plan.score_interval + plan.value_steps * plan.value_interval;
  const Cycles weigh = plan.scores * n.special;
  // Blocks that are not simulated take what those in the middle take, which may lie a little below the mean.
  return n.launch + n.launch_cta + n.launch_end + 0.95 * blocks * plan.tiles * std::max(multiply, weigh);
}

}  // namespace tinygpu::search
