#include "common/tinygpu/search/gemm_model.h"

#include <array>
#include <deque>
#include <optional>

#include "common/tinygpu/search/steady.h"
#include "common/tinygpu/search/stream_traffic.h"

namespace tinygpu::search {
namespace {

constexpr uint32_t kMostStages = 16, kMostGroups = 4, kSampledWaves = 8;

/// Registers of a thread of Hopper's template, as ptxas 13.0 has them. One consumer takes what it needs: its
/// accumulators and some 28 more (60, 92, 154 for 64 rows by 64, 128, 256 columns). More share all that an SM has.
uint32_t thread_registers(const MachineSpec& spec, const Point& p) {
  const uint32_t most = std::min(255u, spec.registers_per_sm / (128 * (1 + p.consumers)) / 8 * 8);
  return p.consumers > 1 ? most : std::min(most, ceil_div(p.m / 64 * p.n / 2 + 28, 8) * 8);
}

/// Rows of a box in a matrix whose rows lie `pitch` bytes apart, as L2 sees them.
struct Box {
  uint32_t span, pitch;
  /// Of a row, in the mean: pieces of `unit` bytes of memory that it touches.
  double touched(uint32_t unit) const {
    uint32_t count = 0;
    constexpr uint32_t kRows = 8;  // multiples of 16 bytes: the pattern comes again
    for (uint32_t r = 0; r < kRows; ++r) count += ceil_div(r * pitch % unit + span, unit);
    return double(count) / kRows;
  }
  double pieces() const { return touched(128); }
  double l2_bytes(double least) const { return touched(uint32_t(least)) * least; }
  /// What it takes of device memory: more than its bytes, where lines are asked for in parts.
  double dram_bytes(double least) const { return pieces() * std::max(span / pieces(), least); }
};

}  // namespace

/// What the roles of one SM know of the product.
struct GemmModel::Plan {
  Point p;
  const Numbers* n;
  uint32_t tiles, clusters, slots, waves;
  Load load;
  double mma_instructions;  // of a block, of one who multiplies
  Cycles mma_interval, mma_latency, mma_batch;
  Cycles release;      // what a stage's being read takes to the one who loads it, beside the arrive
  double store_bytes;  // of a box of all warps of the epilogue, or of a consumer
  uint32_t boxes;      // of a tile, or of a consumer's share
  double registers;    // of a thread, a box
  bool by_threads;
  double piece;               // bytes of a row that threads store at once; 0: TMA
  Cycles store_share, added;  // of L2, a box that is stored, and one that is added
  double left = 0;            // bytes that a consumer leaves to those of other parts, and takes from them
  Cycles left_share, taken_share;
  struct Wave {
    Shares shares;
    uint32_t blocks;  // of a tile, or of a part of one
    bool adds;        // to what other parts bring
  };
  std::vector<Wave> wave;  // each that is simulated
  uint32_t skipped = 0;    // waves that are not: each as long as those in the middle
  uint32_t first_block(uint32_t w) const {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < w; ++i) sum += wave[i].blocks;
    return sum;
  }
};

/// The blocks of each tile, or part of one, that a cluster walks; with stream-K one that has most parts.
std::vector<uint32_t> GemmModel::tiles_of_one(const Point& p, uint32_t tiles, uint32_t at_once) const {
  const uint32_t each = blocks_of_part(problem_, p);
  if (p.order() != Schedule::stream_k) return std::vector<uint32_t>(ceil_div(tiles, at_once), each);
  const uint64_t all = uint64_t(tiles) * each;
  const auto begin = [&](uint64_t cluster) { return all * cluster / at_once; };
  const auto count = [&](uint64_t cluster) {
    const uint64_t from = begin(cluster), end = begin(cluster + 1);
    return from == end ? 0 : (end - 1) / each - from / each + 1;
  };
  uint64_t most = 0;
  for (uint64_t cluster = 1; cluster < at_once; ++cluster)
    if (count(cluster) > count(most)) most = cluster;
  std::vector<uint32_t> parts;
  for (uint64_t from = begin(most), end = begin(most + 1); from < end;) {
    const uint64_t to = std::min(end, (from / each + 1) * each);
    parts.push_back(uint32_t(to - from));
    from = to;
  }
  return parts;
}

/// CTAs of an SM.
uint32_t GemmModel::slots(const Point& p) const {
  if (p.stays()) return 1;
  const bool blackwell = kind_ == Template::blackwell;
  const uint32_t shared = shared_bytes(kind_, problem_, p), threads = blackwell ? 192 : 128 * (1 + p.consumers);
  uint32_t most =
      std::min(spec_.shared_per_sm / (shared + spec_.reserved_shared_per_block), spec_.max_threads_per_sm / threads);
  if (blackwell) {
    uint32_t allocated = 32;
    while (allocated < tensor_columns(problem_, p)) allocated *= 2;
    most = std::min(most, 512 / allocated);
  } else {
    most = std::min(most, spec_.registers_per_sm / (threads * thread_registers(spec_, p)));
  }
  return std::max(most, 1u);
}

GemmModel::Outside GemmModel::outside(const Point& p) const {
  const auto beyond = [&](uint32_t extent, uint32_t rows) { return p.skips ? 0 : rows - std::min(rows, extent); };
  return {beyond(problem_.m, p.m * p.cluster_m), beyond(problem_.n, p.n * p.cluster_n)};
}

/// A block's load, of one CTA.
void GemmModel::plan_load(Plan& plan) const {
  const Numbers& n = numbers_;
  const Point& p = plan.p;
  const uint32_t spans = p.block / p.span;
  const Box box{p.span, problem_.row_bytes()};
  Load& load = plan.load;
  load = {0, 0, 0, 0, 2 * spans, p.ctas() > p.pair};
  // Of the CTA that has most of the rows outside, if all tiles have them.
  const auto loads = [&](uint32_t extent, uint32_t rows, uint32_t shares, uint32_t outside) {
    const uint32_t all = rows_loaded(p, extent, rows), own = std::min(rows / shares, all);
    const uint32_t empty = std::min(all, outside), own_rows = own - std::min(own, empty);
    load.bytes += double(all) * p.block;
    load.pieces += double(all - empty) * spans * box.pieces();
    if (own < all) load.filled += double(empty) * spans * ceil_div(p.span, 64);
    load.asked += own_rows * spans * std::max(box.pieces() / n.tma_rows, p.span / n.tma_bytes);
  };
  const Outside rows = outside(p);
  loads(problem_.m, p.rows(), p.cluster_n, rows.of_a);
  loads(problem_.n, p.rows_b(), p.cluster_m, rows.of_b);
  if (const uint32_t chunks = scale_chunks(problem_, p)) {
    // Chunks of scales come with the block, 128 bytes at a time.
    const double bytes = 512.0 * chunks;
    load.bytes += bytes;
    load.pieces += bytes / 128;
    load.asked += bytes / std::min(128 * n.tma_rows, n.tma_bytes);
    load.requests += p.rows() / 128 + p.n / 128;
    plan.mma_batch = bytes / n.copy_bytes;
  }
}

/// A block's multiplication, and a tile's boxes.
void GemmModel::plan_product(Plan& plan) const {
  const Numbers& n = numbers_;
  const Point& p = plan.p;
  const bool blackwell = kind_ == Template::blackwell;
  const double steps = p.block / 32.0;
  if (blackwell) {
    const bool pair = p.pair == 2;
    const double m = std::min<uint32_t>(p.rows(), 128);  // of a CTA
    plan.mma_instructions = steps * (p.rows() / m);
    plan.mma_interval = std::max(p.n / n.columns, (32.0 * m + 32.0 * p.n / p.pair) / n.operand_bytes);
    if (pair) plan.mma_interval = std::max(plan.mma_interval, n.pair_interval + p.n / 8.0);
    plan.mma_latency = pair ? n.mma_pair : m == 64 ? n.mma_m64 : n.mma_m128;
    const uint32_t store_columns = p.store / problem_.out_bytes(), bands = p.rows() / uint32_t(m);
    plan.boxes = bands * p.n / store_columns;
    plan.store_bytes = m * p.store;
    plan.registers = store_columns;
  } else {
    const uint32_t bands = p.m / (p.ping_pong ? 1u : p.consumers) / 64;
    plan.mma_instructions = steps * bands;
    plan.mma_interval = std::max(p.n / n.columns, (32.0 * 64 + 32.0 * p.n) / n.operand_bytes);
    plan.mma_latency = n.wgmma_wait;
    plan.mma_batch = n.wgmma_batch;
    const bool whole = p.how() == Epilogue::tma_whole || p.by_threads();
    const uint32_t store_columns = whole ? p.n : 128 / problem_.out_bytes();
    plan.boxes = bands * p.n / store_columns;
    plan.store_bytes = 64.0 * store_columns * problem_.out_bytes();
    if (p.meets) {
      // Each part stores its columns, and leaves the others' sums to them.
      plan.left = 64.0 * bands * p.n * 4 * (1 - 1.0 / p.split);
      if (whole)
        plan.store_bytes /= p.split;
      else
        plan.boxes /= p.split;
    }
    plan.registers = store_columns / 2.0;
  }
  plan.release = p.ctas() > p.pair ? n.remote : 0;
  plan.by_threads = p.by_threads();
  plan.piece = !plan.by_threads ? 0 : p.how() == Epilogue::wide ? 64 : blackwell ? 16 : 8 * problem_.out_bytes();
}

/// What all SMs take of L2 and of device memory for a block.
class GemmModel::Traffic {
 public:
  Traffic(const GemmModel& model, const Plan& plan)
      : problem_(model.problem_), n_(model.numbers_), plan_(plan), box_{plan.p.span, problem_.row_bytes()} {
    const Point& p = plan.p;
    const Outside rows = model.outside(p);
    outside_ = rows.of_a + rows.of_b;
    const uint32_t of_a = std::min<uint32_t>(p.m * p.cluster_m, problem_.m),
                   of_b = std::min<uint32_t>(p.n * p.cluster_n, problem_.n);
    loaded_ = (of_a + of_b) * double(p.block);
    if (p.order() == Schedule::stream_k) stream_ = stream_traffic(problem_, p, plan.clusters, n_.l2_keeps);
  }
  Shares of_wave(uint32_t index) const { return stream_ ? of_stream() : of_tiles(index); }

 private:
  Shares of_stream() const {
    const Point& p = plan_.p;
    const double total = plan_.clusters * loaded_, l2 = total * box_.l2_bytes(n_.l2_read_least) / p.span;
    const double shared = p.span >= 128 && p.ctas() == p.pair ? stream_->shared : 0;
    Shares s;
    s.l2 = l2 * (shared / n_.l2_tile_bytes + (1 - shared) / n_.l2_bytes);
    s.outside = plan_.clusters * outside_ * double(p.block) / n_.l2_outside_bytes;
    s.dram = total * stream_->fresh * box_.dram_bytes(n_.dram_least) / box_.span / n_.dram_bytes;
    s.from_dram = stream_->fresh > 0;
    return s;
  }
  /// Tiles come in bands.
  Shares of_tiles(uint32_t index) const {
    const Point& p = plan_.p;
    const uint32_t rows = tile_rows(problem_, p), columns = tile_columns(problem_, p);
    const uint32_t at_once = plan_.clusters * plan_.slots, band = std::min<uint32_t>(p.band, rows);
    const uint32_t first = index * at_once, last = std::min(plan_.tiles, first + at_once);
    const double active = last - first;
    const uint32_t from = first / p.split, to = ceil_div(last, p.split), per_band = band * columns;
    const uint32_t bands = (to - 1) / per_band - from / per_band + 1;
    const double distinct_rows = std::min<double>({double(bands) * band, double(to - from), double(rows)});
    const double distinct_columns = std::min<double>(columns, ceil_div(to - from, band) + (bands == 1 ? 0 : 1));
    const double a_bytes = double(p.m) * p.cluster_m * p.block, b_bytes = double(p.n) * p.cluster_n * p.block;
    const double parts = p.split;
    const double unique = parts * (distinct_rows * a_bytes + distinct_columns * b_bytes);
    const double total = active * loaded_;
    Shares s;
    // A slice of L2 gives so many bytes a request at least. SMs that ask for the same whole lines at about the same
    // time share some of the answers; the CTAs of a cluster have shared them before.
    const bool shares_lines = p.span >= 128 && p.ctas() == p.pair && unique < total;
    s.l2 = total * box_.l2_bytes(n_.l2_read_least) / p.span / (shares_lines ? n_.l2_tile_bytes : n_.l2_bytes) /
           plan_.slots;
    s.outside = active * outside_ * p.block / n_.l2_outside_bytes / plan_.slots;
    // Rows and columns that no earlier wave has brought, or that L2 has lost since. What L2 keeps is there from the
    // launch before.
    const bool kept = (double(problem_.m) + problem_.n) * problem_.row_bytes() <= n_.l2_keeps;
    const bool new_band = from % per_band < at_once / p.split || index == 0;
    const double fresh = kept ? 0 : parts * ((new_band ? distinct_rows * a_bytes : 0) + distinct_columns * b_bytes);
    s.dram = fresh * box_.dram_bytes(n_.dram_least) / box_.span / n_.dram_bytes / plan_.slots;
    s.from_dram = fresh > 0;
    return s;
  }

  const Problem& problem_;
  const Numbers& n_;
  const Plan& plan_;
  const Box box_;
  uint32_t outside_;  // rows that all clusters load and the matrices do not have
  double loaded_;     // by a cluster
  std::optional<StreamTraffic> stream_;
};

/// The waves that are simulated, and what stores take.
void GemmModel::plan_waves(Plan& plan) const {
  const Numbers& n = numbers_;
  const Point& p = plan.p;
  const uint32_t at_once = plan.clusters * plan.slots, whole = blocks(problem_, p);
  const std::vector<uint32_t> parts_of_k = tiles_of_one(p, plan.tiles, at_once);
  plan.waves = uint32_t(parts_of_k.size());
  const Traffic traffic(*this, plan);
  const auto add_wave = [&](uint32_t w) {
    const uint32_t of_tiles = std::min(w, ceil_div(plan.tiles, at_once) - 1);
    plan.wave.push_back({traffic.of_wave(of_tiles), parts_of_k[w], p.adds() && parts_of_k[w] < whole});
  };
  if (plan.waves <= kSampledWaves) {
    for (uint32_t w = 0; w < plan.waves; ++w) add_wave(w);
  } else {
    for (uint32_t w = 0; w < kSampledWaves / 2; ++w) add_wave(w);
    for (uint32_t w = 1; w < kSampledWaves / 2; ++w) add_wave(plan.waves / 2 + w);
    add_wave(plan.waves - 1);
    plan.skipped = plan.waves - kSampledWaves;
  }
  const double writers = std::min<double>(p.order() == Schedule::stream_k ? at_once : plan.tiles, at_once) * p.ctas();
  const double written =
      plan.piece > 0 ? plan.store_bytes / plan.piece * std::max(plan.piece, n.l2_write_least) : plan.store_bytes;
  plan.store_share = written * writers / n.l2_write_bytes / plan.slots;
  // L2 adds sector by sector. Threads bring half of a sector's words, and then the others.
  const double sectors = plan.store_bytes / 32 * (plan.by_threads ? 2 : 1);
  plan.left_share = plan.left * writers / n.l2_write_bytes / plan.slots;
  plan.taken_share = plan.left * writers / n.l2_bytes / plan.slots;
  plan.added = std::max(plan.store_share, sectors * writers * n.l2_atomic_sector / plan.slots);
}

GemmModel::Plan GemmModel::plan(const Point& p) const {
  Plan plan{};
  plan.p = p;
  plan.n = &numbers_;
  plan.tiles = tile_rows(problem_, p) * tile_columns(problem_, p) * p.split;
  plan.slots = slots(p);
  plan.clusters = clusters_at_once(spec_, p);
  plan_load(plan);
  plan_product(plan);
  plan_waves(plan);
  return plan;
}

namespace {

/// The barriers of a CTA that stays, or of one CTA after the other in the same place.
struct Cta {
  std::array<Barrier, kMostStages> full, empty;
  std::array<Barrier, 2> accumulated, drained, turn;
  Barrier born;  // a CTA in this place
  Cycles for_loads = 0, for_epilogue = 0, other = 0;
  uint32_t boxes = 0;          // that have been stored
  std::vector<Cycles> stored;  // when each wave's tile was
  struct {
    uint32_t wave, block, at;
  } loads{};                                       // what is asked for, or waits to be
  std::array<uint32_t, kMostGroups> multiplied{};  // the block of each who multiplies; of two that take turns, in [0]
  std::array<Cycles, kMostGroups> before{};        // when the tensor core is done with the one before
};

/// Leaves out what of the walk over K repeats itself. A tile of up to `walked` bytes of K is walked whole.
template <class Plan>
class Shortcut {
 public:
  /// `groups` multiply at the same time.
  Shortcut(TinyMachine& m, Plan& plan, std::deque<Cta>& ctas, uint32_t groups, uint32_t walked)
      : plan_(plan), ctas_(ctas), walked_(walked), steady_(m, plan.p.stages) {
    for (Cta& cta : ctas) {
      for (uint32_t s = 0; s < plan.p.stages; ++s) {
        steady_.watch_ring(cta.full[s]);
        steady_.watch_ring(cta.empty[s]);
      }
      for (const auto* pair : {&cta.accumulated, &cta.drained, &cta.turn})
        for (const Barrier& b : *pair) steady_.watch(b);
      steady_.watch(cta.born);
      steady_.watch_block(cta.loads.at);
      for (uint32_t g = 0; g < groups; ++g) steady_.watch_block(cta.multiplied[g]);
      for (const Cycles& end : cta.before) steady_.watch_done(end);
      steady_.watch(cta.boxes);
      steady_.watch(cta.for_loads);
    }
  }
  /// Before the first CTA multiplies its `at`-th block, which is of this wave.
  void take(const Cta& cta, uint32_t wave, uint32_t at) {
    if (&cta != &ctas_.front() || at % plan_.p.stages || plan_.wave[wave].blocks * plan_.p.block <= walked_) return;
    uint32_t left = UINT32_MAX;
    for (const Cta& c : ctas_)
      left = std::min(left, c.loads.wave == wave ? plan_.wave[wave].blocks - c.loads.block : 0);
    plan_.wave[wave].blocks -= steady_.skip(wave, at / plan_.p.stages, left);
  }

 private:
  Plan& plan_;
  std::deque<Cta>& ctas_;
  const uint32_t walked_;
  Steady steady_;
};

template <class Plan>
Role produce(TinyMachine& m, const Plan& plan, Cta& cta) {
  uint32_t at = 0;
  Cycles waited = 0;
  for (uint32_t w = 0; w < plan.wave.size(); ++w) {
    if (w == 0 || plan.p.order() == Schedule::serial) {
      co_await m.wait(cta.born, w + 1, waited);
      co_await m.begin_cta(m.now() + (w == 0 ? plan.n->first_access + plan.n->map_fetch : 0), plan.p.ctas() > 1);
    } else if (plan.p.order() == Schedule::launch_control) {
      co_await m.claim();
    }
    for (uint32_t block = 0; block < plan.wave[w].blocks; ++block, ++at) {
      const uint32_t stage = at % plan.p.stages;
      cta.loads = {w, block, at};
      co_await m.wait(cta.empty[stage], at / plan.p.stages, waited);
      co_await m.load_tile(plan.load, plan.wave[w].shares, cta.full[stage]);
    }
  }
}

template <class Plan>
Role multiply(TinyMachine& m, const Plan& plan, Cta& cta, Shortcut<Plan>& shortcut) {
  uint32_t at = 0;
  for (uint32_t w = 0; w < plan.wave.size(); ++w) {
    const uint32_t into = w % plan.p.accumulators;
    co_await m.wait(cta.drained[into], w / plan.p.accumulators, cta.for_epilogue);
    for (uint32_t block = 0; block < plan.wave[w].blocks; ++block, ++at) {
      const uint32_t stage = at % plan.p.stages;
      cta.multiplied[0] = at;
      shortcut.take(cta, w, at);
      co_await m.wait(cta.full[stage], at / plan.p.stages + 1, cta.for_loads);
      co_await m.mma_tile(plan.mma_instructions, plan.mma_interval, plan.mma_batch);
      m.commit(cta.empty[stage], plan.mma_latency + plan.release);
    }
    m.commit(cta.accumulated[into], plan.mma_latency);
  }
}

template <class Plan>
Role drain(TinyMachine& m, const Plan& plan, Cta& cta) {
  for (uint32_t w = 0; w < plan.wave.size(); ++w) {
    const uint32_t from = w % plan.p.accumulators;
    co_await m.wait(cta.accumulated[from], w / plan.p.accumulators + 1, cta.other);
    for (uint32_t box = 0; box < plan.boxes; ++box, ++cta.boxes) {
      co_await m.load_accumulator(plan.registers);
      if (!plan.by_threads) {
        co_await m.wait_stored(plan.store_bytes);
        co_await m.stage_tile(plan.store_bytes, 2 * plan.registers);
      }
      co_await m.store_tile(plan.store_bytes, plan.piece, plan.wave[w].adds,
                            plan.wave[w].adds ? plan.added : plan.store_share);
    }
    m.arrive(cta.drained[from]);
    cta.stored.push_back(m.passed());
    if (plan.p.order() == Schedule::serial) {
      co_await m.wait_stored(0);
      co_await m.end_cta();
      m.arrive(cta.born, plan.n->launch_refill);
    }
  }
  co_await m.wait_stored(0);
  co_await m.end_cta();
}

/// A consumer warpgroup of Hopper multiplies and stores.
template <class Plan>
Role consume(TinyMachine& m, const Plan& plan, Cta& cta, uint32_t group, Shortcut<Plan>& shortcut) {
  const bool turns = plan.p.ping_pong;
  for (uint32_t w = turns ? group : 0, mine = 0; w < plan.wave.size(); w += turns ? 2 : 1, ++mine) {
    if (turns) co_await m.wait(cta.turn[group], mine + 1, cta.other);
    uint32_t at = plan.first_block(w), previous = 0;
    Cycles& before = cta.before[group];
    for (uint32_t block = 0; block < plan.wave[w].blocks; ++block, ++at) {
      const uint32_t stage = at % plan.p.stages;
      cta.multiplied[turns ? 0 : group] = at;
      if (group == 0 || turns) shortcut.take(cta, w, at);
      Cycles waited = 0;
      co_await m.wait(cta.full[stage], at / plan.p.stages + 1, waited);
      if (group == 0 || turns) cta.for_loads += waited;
      co_await m.mma_tile(plan.mma_instructions, plan.mma_interval, plan.mma_batch);
      const Cycles end = m.tensor_free();
      if (block > 0) {
        co_await m.done(before);
        m.arrive(cta.empty[previous], plan.release);
      }
      before = end;
      previous = stage;
    }
    if (turns) m.arrive(cta.turn[group ^ 1]);
    co_await m.done(before);
    m.arrive(cta.empty[previous], plan.release);
    if (plan.left > 0) {
      // In whole lines, as a thread has 16 bytes. The others have their parts at the same time.
      co_await m.store_tile(plan.left, 128, false, plan.left_share);
      co_await m.pause(plan.n->handover);
      co_await m.gather(plan.left, plan.taken_share);
    }
    for (uint32_t box = 0; box < plan.boxes; ++box, ++cta.boxes) {
      if (!plan.by_threads) {
        co_await m.wait_stored(plan.p.how() == Epilogue::tma_whole ? 0 : plan.store_bytes);
        co_await m.stage_tile(plan.store_bytes, 2 * plan.registers);
      }
      co_await m.store_tile(plan.store_bytes, plan.piece, plan.wave[w].adds,
                            plan.wave[w].adds ? plan.added : plan.store_share);
    }
    if (group == 0 || turns) cta.stored.push_back(m.passed());
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

Estimate GemmModel::estimate(const Point& p) const {
  Plan plan = this->plan(p);
  std::deque<Cta> ctas(plan.slots);
  TinyMachine m(numbers_);
  const uint32_t readers = kind_ == Template::hopper && !p.ping_pong ? p.consumers : 1;
  Shortcut<Plan> shortcut(m, plan, ctas, readers, walked_);
  for (Cta& cta : ctas) {
    for (Barrier& b : cta.empty) b.count = b.pending = readers;
    cta.born.count = cta.born.pending = 1;
    if (kind_ == Template::hopper && p.order() == Schedule::serial) cta.born.count = p.consumers;
    m.arrive(cta.born, numbers_.launch + numbers_.launch_cta);
    m.add(produce(m, plan, cta));
    if (kind_ == Template::blackwell) {
      m.add(multiply(m, plan, cta, shortcut));
      m.add(drain(m, plan, cta));
    } else {
      if (p.ping_pong) m.arrive(cta.turn[0]);
      for (uint32_t g = 0; g < p.consumers; ++g) m.add(consume(m, plan, cta, g, shortcut));
    }
  }
  Cycles cycles = m.run() + numbers_.launch_end;
  // Parts are added to zeros, which a fill has written before: a grid of its own.
  if (p.adds())
    cycles += double(problem_.m) * problem_.n * problem_.out_bytes() / numbers_.fill_bytes + numbers_.launch +
              numbers_.launch_cta + numbers_.launch_end;
  double scale = 1;
  if (plan.skipped) {
    // The waves between are as long as those in the middle.
    const std::vector<Cycles>& stored = ctas.front().stored;
    const size_t last = stored.size() - 2, half = last / 2;
    const Cycles each = (stored[last] - stored[half]) / double(last - half);
    scale = 1 + plan.skipped * each / cycles;
    cycles *= scale;
  }
  Estimate e;
  e.cycles = cycles;
  e.waves = plan.waves;
  e.clusters = plan.clusters;
  e.slots = plan.slots;
  const TinyMachine::Busy busy = m.busy();
  e.tensor = busy.tensor * scale / cycles;
  for (const Cta& cta : ctas) {
    e.loads += cta.for_loads * scale / cycles / double(ctas.size());
    e.epilogue += cta.for_epilogue * scale / cycles / double(ctas.size());
  }
  if (kind_ == Template::hopper) e.epilogue = std::max(0.0, 1 - e.tensor - e.loads);
  const struct {
    Cycles busy;
    const char* name;
  } ways[] = {{busy.l2, "loads (L2)"},
              {busy.outside, "loads (outside rows)"},
              {busy.dram, "loads (device memory)"},
              {busy.tma, "loads (TMA)"},
              {busy.issue, "loads (issue)"}};
  const auto way =
      std::max_element(std::begin(ways), std::end(ways), [](const auto& a, const auto& b) { return a.busy < b.busy; });
  const double rest = 1 - e.tensor - e.loads - e.epilogue;
  e.limit = e.tensor > 0.5 ? "tensor core"
            : e.loads >= e.epilogue && e.loads >= rest
                ? (way->busy * scale > 0.6 * cycles ? way->name : "loads (latency)")
            : e.epilogue >= rest ? "epilogue"
                                 : "starts and ends";
  return e;
}

Cycles GemmModel::tensor_time(const Point& p) const {
  const Plan plan = this->plan(p);
  return plan.mma_instructions * plan.mma_interval + plan.mma_batch;
}

double GemmModel::read_bytes() const { return (double(problem_.m) + problem_.n) * problem_.row_bytes(); }

double GemmModel::all_bytes() const { return read_bytes() + double(problem_.m) * problem_.n * problem_.out_bytes(); }

Cycles GemmModel::least(const Point& p) const {
  const Numbers& n = numbers_;
  const uint32_t tiles = tile_rows(problem_, p) * tile_columns(problem_, p) * p.split,
                 at_once = std::max(1u, uint32_t(spec_.sms) / p.ctas()), part = blocks_of_part(problem_, p);
  const double all = p.order() == Schedule::stream_k ? double(tiles) * part / clusters_at_once(spec_, p)
                                                     : double(ceil_div(tiles, at_once)) * part;
  const bool blackwell = kind_ == Template::blackwell;
  const double m = blackwell ? std::min<uint32_t>(p.rows(), 128) : 64;
  const double instructions = p.block / 32.0 * p.rows() / m;
  const Cycles multiply = instructions * p.n / n.columns;
  const uint32_t rows = rows_loaded(p, problem_.m, p.rows()) + rows_loaded(p, problem_.n, p.rows_b());
  Cycles load = double(rows) * p.block / std::min(n.sm_bytes, n.tma_bytes);
  // The producers of several CTAs of an SM ask side by side.
  if (p.stays()) load = std::max(load, 2.0 * (p.block / p.span) * n.tma_issue_load);
  return n.launch + n.launch_cta + n.launch_end + all * std::max(multiply, load);
}

}  // namespace tinygpu::search
