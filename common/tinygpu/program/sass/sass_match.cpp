#include "common/tinygpu/program/sass/sass_match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "common/tinygpu/program/lower/loops.h"

namespace tinygpu {
namespace {

/// Kinds of instructions that ptxas neither adds nor splits.
constexpr InstructionKind kFirm[] = {
    InstructionKind::global_load,  InstructionKind::shared_load,   InstructionKind::global_store,
    InstructionKind::shared_store, InstructionKind::global_atomic, InstructionKind::shared_atomic,
    InstructionKind::local,        InstructionKind::shuffle,       InstructionKind::barrier};

/// How many instructions of each kind a part of PTX or of machine code has.
struct Inventory {
  KindCounts kinds{};
  uint32_t floating = 0, special = 0, rest = 0, products = 0, long_products = 0, sequences = 0;
  uint32_t operator[](InstructionKind l) const { return kinds[size_t(l)]; }
  uint32_t& operator[](InstructionKind l) { return kinds[size_t(l)]; }
  uint32_t loads() const {
    return (*this)[InstructionKind::load] + (*this)[InstructionKind::global_load] +
           (*this)[InstructionKind::shared_load];
  }
  bool engines() const {
    return (*this)[InstructionKind::engine] || (*this)[InstructionKind::matrix] || (*this)[InstructionKind::copy];
  }
  void forget_loads() {
    for (InstructionKind l : {InstructionKind::load, InstructionKind::global_load, InstructionKind::shared_load})
      (*this)[l] = 0;
  }
};

/// How many turns of the PTX loop one turn of the machine loop is; empty if the two are different loops.
std::optional<uint32_t> turns_of(Inventory ptx, Inventory sass) {
  if (ptx.engines() != sass.engines()) return {};
  // A load through the generic window may be of global or of shared memory.
  if (ptx[InstructionKind::load] || sass[InstructionKind::load])
    for (Inventory* i : {&ptx, &sass}) {
      const uint32_t all = i->loads();
      i->forget_loads();
      (*i)[InstructionKind::global_load] = all;
    }
  uint32_t turns = 0;
  for (InstructionKind l : kFirm) {
    if (!ptx[l] && !sass[l]) continue;
    if (!ptx[l] || sass[l] % ptx[l]) return {};
    const uint32_t here = sass[l] / ptx[l];
    if (!here || (turns && here != turns)) return {};
    turns = here;
  }
  if (turns) return turns;
  // Without such kinds the arithmetic decides; a division's steps do not count.
  if (ptx.sequences) return sass.floating || sass.special || sass.rest > ptx.rest ? std::optional(1u) : std::nullopt;
  const auto about = [](uint32_t many, uint32_t few) { return uint32_t(std::lround(double(many) / few)); };
  if (!ptx.floating != !sass.floating) return {};
  uint32_t by_special = 0;
  if (ptx.special && sass.special % ptx.special == 0) by_special = sass.special / ptx.special;
  if (ptx.floating) {
    const uint32_t n = about(sass.floating, ptx.floating);
    if (!n || sass.floating * 5 < n * ptx.floating * 4 || sass.floating * 4 > n * ptx.floating * 5) return {};
    // ptxas adds products to some special functions, and conversions use the same unit: the smaller number of turns.
    return by_special ? std::min(n, by_special) : n;
  }
  if (by_special) return by_special;
  if (!ptx.rest || !sass.rest) return {};
  // One of 64 bits takes several.
  if (ptx.products && !ptx.long_products && sass.products && sass.products % ptx.products == 0)
    return sass.products / ptx.products;
  // Moves and address arithmetic may double the instructions of one turn, not more.
  const uint32_t n = about(sass.rest, ptx.rest);
  return n < 3 ? 1 : n;
}

/// One of the two codes as loops.
struct Code {
  std::vector<std::pair<uint32_t, uint32_t>> blocks;  // [begin, end) of instructions
  std::vector<std::vector<uint32_t>> next;            // by block
  Loops loops;
  std::vector<Inventory> inventories;  // by block

  Inventory inside(const std::vector<uint32_t>& of) const {
    Inventory all;
    for (uint32_t b : of) {
      const Inventory& i = inventories[b];
      for (size_t l = 0; l < all.kinds.size(); ++l) all.kinds[l] += i.kinds[l];
      all.floating += i.floating;
      all.special += i.special;
      all.rest += i.rest;
      all.products += i.products;
      all.long_products += i.long_products;
      all.sequences += i.sequences;
    }
    return all;
  }
  /// Blocks of loop `l` (-1: of none) and of no loop in it.
  std::vector<uint32_t> own(int32_t l) const {
    std::vector<uint32_t> out;
    for (uint32_t b = 0; b < blocks.size(); ++b)
      if (loops.reached[b] && loops.loop_of[b] == l) out.push_back(b);
    return out;
  }
  /// Loops right inside loop `l`, as they stand in the code.
  std::vector<int32_t> children(int32_t l) const {
    std::vector<int32_t> out;
    for (size_t i = 0; i < loops.all.size(); ++i)
      if (loops.all[i].parent == l) out.push_back(int32_t(i));
    std::ranges::sort(out, {}, [&](int32_t i) { return loops.all[size_t(i)].header; });
    return out;
  }
};

Code code_of(const std::vector<PtxFeatures>& features, const Flow& flow) {
  Code out;
  for (const Flow::Block& b : flow.blocks) {
    out.blocks.emplace_back(b.begin, b.end);
    out.next.push_back(b.next);
    Inventory i;
    for (uint32_t k = b.begin; k < b.end; ++k) {
      ++i.kinds[size_t(features[k].kind)];
      i.floating += features[k].floating;
      i.special += features[k].special;
      i.rest += features[k].shared_out ? features[k].weight : 0;
      i.products += features[k].product;
      i.long_products += features[k].product && features[k].weight > 1;
      i.sequences += features[k].sequence;
    }
    out.inventories.push_back(i);
  }
  out.loops = find_loops(out.next);
  return out;
}

Code code_of(const std::vector<SassInstruction>& code) {
  Code out;
  std::vector<bool> leader(code.size() + 1);
  if (!code.empty()) leader[0] = true;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].target >= 0) leader[size_t(code[i].target)] = true;
    if (code[i].branches || code[i].leaves) leader[i + 1] = true;
  }
  std::vector<uint32_t> block_of(code.size());
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (leader[i]) out.blocks.emplace_back(i, i);
    out.blocks.back().second = i + 1;
    block_of[i] = uint32_t(out.blocks.size() - 1);
  }
  out.next.resize(out.blocks.size());
  for (uint32_t b = 0; b < out.blocks.size(); ++b) {
    const auto [begin, end] = out.blocks[b];
    const SassInstruction& last = code[end - 1];
    if (last.target >= 0) out.next[b].push_back(block_of[size_t(last.target)]);
    const bool goes_on = (!last.branches && !last.leaves) || last.guarded;
    if (goes_on && end < code.size()) out.next[b].push_back(block_of[end]);
    Inventory i;
    for (uint32_t k = begin; k < end; ++k) {
      ++i.kinds[size_t(code[k].kind)];
      i.floating += code[k].floating;
      i.special += code[k].pipe == Pipe::xu;
      i.rest += code[k].kind == InstructionKind::other && !code[k].floating && code[k].pipe != Pipe::xu;
      i.products += code[k].product;
    }
    out.inventories.push_back(i);
  }
  out.loops = find_loops(out.next);
  return out;
}

class Match {
 public:
  Match(const std::vector<PtxFeatures>& features, const std::vector<Touch>& touches, const Flow& flow,
        const SassCode& sass)
      : features_(features),
        touches_(touches),
        code_(sass.code),
        ptx_(code_of(features, flow)),
        sass_(code_of(sass.code)),
        spins_(find_spins(flow, touches)) {
    out_.shares.resize(features.size());
  }
  SassMatch run() {
    inside(-1, -1, 1);
    return std::move(out_);
  }

 private:
  /// Loop `p` of PTX is loop `c` of the machine code, whose turn is `turns` turns of it; -1: the code outside of loops.
  void inside(int32_t p, int32_t c, uint32_t turns) {
    const std::vector<int32_t> inner = ptx_.children(p), sass_inner = sass_.children(c);
    const std::vector<std::pair<int32_t, uint32_t>> found = pair_up(inner, sass_inner);
    bool all = true;
    for (size_t i = 0; i < inner.size(); ++i) {
      all &= found[i].first >= 0;
      if (found[i].first >= 0) inside(inner[i], found[i].first, found[i].second);
    }
    const std::vector<uint32_t> blocks = ptx_.own(p), sass_blocks = sass_.own(c);
    const Inventory mine = ptx_.inside(blocks), theirs = sass_.inside(sass_blocks);
    if (p >= 0 && turns == 1 && mine[InstructionKind::matrix]) return order_blocks(p, blocks, sass_blocks);
    // Copies, barriers in memory and tensor cores have costs of their own.
    if (mine.engines() || theirs.engines()) {
      if (turns == 1) note_waits(p, blocks, sass_blocks);
      return;
    }
    // The machine code here contains a loop that ptxas has unrolled completely.
    if (!all) return;
    share(blocks, sass_blocks, mine, theirs, turns);
    if (p >= 0) note_loop(p, c, blocks, sass_blocks, mine, theirs, turns);
  }

  /// For each of `inner`, its loop among `sass_inner` (-1: none) and how many turns of it that takes. Both keep their
  /// order.
  std::vector<std::pair<int32_t, uint32_t>> pair_up(const std::vector<int32_t>& inner,
                                                    const std::vector<int32_t>& sass_inner) const {
    const size_t n = inner.size(), m = sass_inner.size();
    std::vector<std::vector<uint32_t>> turns(n, std::vector<uint32_t>(m));
    std::vector<Inventory> mine, theirs;
    for (int32_t l : inner) mine.push_back(ptx_.inside(ptx_.loops.all[size_t(l)].blocks));
    for (int32_t l : sass_inner) theirs.push_back(sass_.inside(sass_.loops.all[size_t(l)].blocks));
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < m; ++j) {
        turns[i][j] = turns_of(mine[i], theirs[j]).value_or(0);
        if (turns[i][j] || !mine[i].loads() || theirs[j].loads()) continue;
        Inventory without = mine[i];
        without.forget_loads();
        turns[i][j] = turns_of(without, theirs[j]).value_or(0);
      }
    // As many pairs as possible; of an unrolled loop and its remainder loop, the unrolled one.
    std::vector<std::vector<double>> best(n + 1, std::vector<double>(m + 1));
    const auto worth = [&](size_t i, size_t j) { return turns[i][j] ? 1 + std::min(turns[i][j], 64u) / 128.0 : -1e9; };
    for (size_t i = n; i-- > 0;)
      for (size_t j = m; j-- > 0;)
        best[i][j] = std::max({best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + worth(i, j)});
    std::vector<std::pair<int32_t, uint32_t>> out(n, {-1, 1});
    for (size_t i = 0, j = 0; i < n && j < m;) {
      if (turns[i][j] && best[i][j] == best[i + 1][j + 1] + worth(i, j)) {
        out[i] = {sass_inner[j], turns[i][j]};
        ++i, ++j;
      } else if (best[i][j] == best[i][j + 1]) {
        ++j;
      } else {
        ++i;
      }
    }
    return out;
  }

  /// Distributes machine instructions without a counterpart in PTX over PTX instructions without one, in order.
  void share(const std::vector<uint32_t>& blocks, const std::vector<uint32_t>& sass_blocks, const Inventory& mine,
             const Inventory& theirs, uint32_t turns) {
    const bool floats_stay = theirs.floating == turns * mine.floating;
    const bool specials_stay = theirs.special == turns * mine.special;
    std::vector<uint32_t> to;
    for (uint32_t b : blocks)
      for (uint32_t k = ptx_.blocks[b].first; k < ptx_.blocks[b].second; ++k)
        if (features_[k].shared_out || (features_[k].floating && !floats_stay) ||
            (features_[k].special && !specials_stay))
          to.push_back(k);
    std::vector<const SassInstruction*> from;
    for (uint32_t b : sass_blocks) {
      // A division calls a subroutine for rare cases.
      const auto [first, end] = sass_.blocks[b];
      const std::span block(code_.data() + first, end - first);
      if (mine.sequences && std::ranges::any_of(block, &SassInstruction::calls)) continue;
      for (const SassInstruction& i : block) {
        const bool counts = i.kind == InstructionKind::other || i.kind == InstructionKind::copy_wait;
        if (!counts || (i.floating && floats_stay) || (i.pipe == Pipe::xu && specials_stay)) continue;
        from.push_back(&i);
      }
    }
    if (to.empty()) return;
    const size_t slots = size_t(std::lround(double(from.size()) / turns));
    for (size_t j = 0; j < to.size(); ++j) {
      SassMatch::Share& s = out_.shares[to[j]];
      s.known = true;
      s.chain = std::min(1.0f, float(slots) / float(to.size()));
      uint32_t cycles[kPipes + 1] = {};
      for (size_t i = j * slots / to.size(); i < (j + 1) * slots / to.size(); ++i) {
        const SassInstruction& sample = *from[(2 * i + 1) * from.size() / (2 * slots)];
        s.issue = uint8_t(std::min(255, s.issue + (sample.pipe == Pipe::xu ? special_issue(sample.occupies) : 1)));
        cycles[size_t(sample.pipe)] += sample.occupies;
      }
      cycles[0] = 0;
      const auto most = std::max_element(std::begin(cycles), std::end(cycles));
      if (!*most) continue;
      s.pipe = Pipe(most - std::begin(cycles));
      s.occupies = uint8_t(std::min(*most, 255u));
    }
  }

  /// A loop of products that warps feed: its blocks in ptxas's order, if both codes have the same ones.
  void order_blocks(int32_t p, const std::vector<uint32_t>& blocks, const std::vector<uint32_t>& sass_blocks) {
    const auto that_stand = [](const Code& code, const std::vector<uint32_t>& all) {
      std::vector<uint32_t> out;
      std::ranges::copy_if(all, std::back_inserter(out), [&](uint32_t b) {
        const KindCounts& l = code.inventories[b].kinds;
        return std::any_of(l.begin() + 1, l.end(), [](uint32_t n) { return n; });
      });
      return out;
    };
    const std::vector<uint32_t> mine = that_stand(ptx_, blocks), theirs = that_stand(sass_, sass_blocks);
    if (mine.size() != theirs.size()) return;
    std::vector<SassBlock> found;
    for (size_t i = 0; i < mine.size(); ++i) {
      const auto [begin, end] = ptx_.blocks[mine[i]];
      const auto [first, behind] = sass_.blocks[theirs[i]];
      auto block = order_block(features_, touches_, begin, end, std::span(code_).subspan(first, behind - first));
      if (!block) return;
      const uint32_t header = ptx_.loops.all[size_t(p)].header;
      block->of_loop = std::ranges::count(ptx_.next[mine[i]], header);
      found.push_back(*std::move(block));
    }
    std::ranges::move(found, std::back_inserter(out_.blocks));
  }

  /// Where a part's instructions keep the costs of their PTX, it waits for special registers and constants all the
  /// same: before the instruction that the machine code has behind the wait, found by its kind and its place among
  /// those.
  void note_waits(int32_t p, std::vector<uint32_t> blocks, const std::vector<uint32_t>& sass_blocks) {
    // ptxas asks for the first time before the loop in which a warp waits for an mbarrier.
    for (int32_t l : ptx_.children(p))
      if (const std::vector<uint32_t>& inner = ptx_.loops.all[size_t(l)].blocks; inner.size() == 1 && spins_[inner[0]])
        blocks.push_back(inner[0]);
    std::ranges::sort(blocks);
    std::array<std::vector<uint32_t>, size_t(InstructionKind::count_)> places, cycles;
    for (uint32_t b : blocks)
      for (uint32_t k = ptx_.blocks[b].first; k < ptx_.blocks[b].second; ++k)
        places[size_t(features_[k].kind)].push_back(k);
    std::array<uint32_t, SassInstruction::kNone> there{};  // by scoreboard: when what it stands for is there
    uint32_t now = 0, waited = 0, end = 0;
    for (uint32_t b : sass_blocks) {
      // Behind a jump away stands another path's code.
      if (!b || sass_.blocks[b].first != end || !std::ranges::count(sass_.next[b - 1], b)) there = {};
      end = sass_.blocks[b].second;
      for (uint32_t k = sass_.blocks[b].first; k < end; ++k) {
        const SassInstruction& i = code_[k];
        const uint32_t before = now;
        for (size_t s = 0; s < there.size(); ++s)
          if (i.waits >> s & 1) now = std::max(now, there[s]);
        waited += now - before;
        if (i.kind != InstructionKind::other && !places[size_t(i.kind)].empty())
          cycles[size_t(i.kind)].push_back(std::exchange(waited, 0));
        if (i.latency && i.sets < there.size()) there[i.sets] = now + i.latency;
        now += i.stall;
      }
    }
    for (size_t kind = 0; kind < places.size(); ++kind)
      for (size_t i = 0; i < cycles[kind].size(); ++i)
        if (cycles[kind][i])
          out_.waits.push_back({places[kind][i * places[kind].size() / cycles[kind].size()], cycles[kind][i]});
  }

  void note_loop(int32_t p, int32_t c, const std::vector<uint32_t>& blocks, const std::vector<uint32_t>& sass_blocks,
                 const Inventory& mine, const Inventory& theirs, uint32_t turns) {
    SassMatch::LoopShare l;
    l.blocks = ptx_.loops.all[size_t(p)].blocks;
    l.own = blocks;
    l.header = ptx_.loops.all[size_t(p)].header;
    l.unrolled = turns;
    l.no_loads = mine.loads() && !theirs.loads();
    for (uint32_t b : sass_.loops.all[size_t(c)].blocks)
      l.instructions += sass_.blocks[b].second - sass_.blocks[b].first;
    // Loads that have been issued when the first of them is waited for.
    uint8_t pending = 0;
    uint32_t before = 0;
    bool waited = false;
    uint32_t cycles = 0, beside_loads = 0;
    for (uint32_t b : sass_blocks)
      for (uint32_t k = sass_.blocks[b].first; k < sass_.blocks[b].second; ++k) {
        const SassInstruction& i = code_[k];
        cycles += i.stall;
        waited |= (i.waits & pending) != 0;
        if (pending && !waited) beside_loads += i.stall;
        if (waited) continue;
        if (i.kind != InstructionKind::load && i.kind != InstructionKind::global_load &&
            i.kind != InstructionKind::shared_load)
          continue;
        ++before;
        if (i.sets < 6) pending |= uint8_t(1u << i.sets);
        beside_loads += pending && i.stall ? i.stall - 1 : 0;
      }
    if (mine.loads()) l.turns = std::clamp(before / mine.loads(), 1u, std::min(turns, 255u));
    // Where a warp waits for results, stalls and waits overlap, so the sum of stalls is not the turn's time.
    const bool waits = theirs.loads() || theirs.special || theirs[InstructionKind::shuffle] ||
                       theirs[InstructionKind::vote] || theirs[InstructionKind::global_atomic] ||
                       theirs[InstructionKind::shared_atomic] || theirs[InstructionKind::local];
    if (blocks.size() == 1 && sass_blocks.size() == 1 && !waits)
      l.cycles = uint32_t(std::lround(double(cycles) / turns));
    else if (sass_blocks.size() == 1)
      l.least = uint32_t(std::lround(double(cycles - beside_loads) / turns));
    out_.loops.push_back(std::move(l));
  }

  const std::vector<PtxFeatures>& features_;
  const std::vector<Touch>& touches_;
  const std::vector<SassInstruction>& code_;
  const Code ptx_, sass_;
  const std::vector<bool> spins_;  // by block of PTX
  SassMatch out_;
};

}  // namespace

SassMatch match_sass(const std::vector<PtxFeatures>& features, const std::vector<Touch>& touches, const Flow& flow,
                     const SassCode& sass) {
  return Match(features, touches, flow, sass).run();
}

}  // namespace tinygpu
