#include "common/tinygpu/program/chip_match.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "common/tinygpu/program/loops.h"

namespace tinygpu {
namespace {

/// Landmarks that ptxas neither makes nor splits.
constexpr Landmark kFirm[] = {Landmark::global_load,  Landmark::shared_load,   Landmark::global_store,
                              Landmark::shared_store, Landmark::global_atomic, Landmark::shared_atomic,
                              Landmark::local,        Landmark::shuffle,       Landmark::barrier};

/// What a part of either code has.
struct Inventory {
  Landmarks landmarks{};
  uint32_t floating = 0, special = 0, rest = 0, sequences = 0;
  uint32_t operator[](Landmark l) const { return landmarks[size_t(l)]; }
  uint32_t& operator[](Landmark l) { return landmarks[size_t(l)]; }
  uint32_t loads() const {
    return (*this)[Landmark::load] + (*this)[Landmark::global_load] + (*this)[Landmark::shared_load];
  }
  bool engines() const { return (*this)[Landmark::engine] || (*this)[Landmark::matrix] || (*this)[Landmark::copy]; }
  void forget_loads() {
    for (Landmark l : {Landmark::load, Landmark::global_load, Landmark::shared_load}) (*this)[l] = 0;
  }
};

/// How many turns of `ptx` a turn of `chip` is; empty if it is another loop.
std::optional<uint32_t> turns_of(Inventory ptx, Inventory chip) {
  if (ptx.engines() != chip.engines()) return {};
  // A load through the generic window may be either.
  if (ptx[Landmark::load] || chip[Landmark::load])
    for (Inventory* i : {&ptx, &chip}) {
      const uint32_t all = i->loads();
      i->forget_loads();
      (*i)[Landmark::global_load] = all;
    }
  uint32_t turns = 0;
  for (Landmark l : kFirm) {
    if (!ptx[l] && !chip[l]) continue;
    if (!ptx[l] || chip[l] % ptx[l]) return {};
    const uint32_t here = chip[l] / ptx[l];
    if (!here || (turns && here != turns)) return {};
    turns = here;
  }
  if (turns) return turns;
  // Nothing firm: by arithmetic, of which a division's steps are no part.
  if (ptx.sequences) return chip.floating || chip.special || chip.rest > ptx.rest ? std::optional(1u) : std::nullopt;
  const auto about = [](uint32_t many, uint32_t few) { return uint32_t(std::lround(double(many) / few)); };
  if (!ptx.floating != !chip.floating) return {};
  if (ptx.floating) {
    const uint32_t n = about(chip.floating, ptx.floating);
    return n && chip.floating * 5 >= n * ptx.floating * 4 && chip.floating * 4 <= n * ptx.floating * 5
               ? std::optional(n)
               : std::nullopt;
  }
  if (ptx.special && chip.special && chip.special % ptx.special == 0) return chip.special / ptx.special;
  if (!ptx.rest || !chip.rest) return {};
  // Instructions that come and go may make twice as many of one turn, not more.
  const uint32_t n = about(chip.rest, ptx.rest);
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
      for (size_t l = 0; l < all.landmarks.size(); ++l) all.landmarks[l] += i.landmarks[l];
      all.floating += i.floating;
      all.special += i.special;
      all.rest += i.rest;
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

Code code_of(const std::vector<PtxWork>& work, const Flow& flow) {
  Code out;
  for (const Flow::Block& b : flow.blocks) {
    out.blocks.emplace_back(b.begin, b.end);
    out.next.push_back(b.next);
    Inventory i;
    for (uint32_t k = b.begin; k < b.end; ++k) {
      ++i.landmarks[size_t(work[k].landmark)];
      i.floating += work[k].floating;
      i.special += work[k].special;
      i.rest += work[k].shared_out ? work[k].weight : 0;
      i.sequences += work[k].sequence;
    }
    out.inventories.push_back(i);
  }
  out.loops = find_loops(out.next);
  return out;
}

Code code_of(const std::vector<ChipInstruction>& code) {
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
    const ChipInstruction& last = code[end - 1];
    if (last.target >= 0) out.next[b].push_back(block_of[size_t(last.target)]);
    const bool goes_on = (!last.branches && !last.leaves) || last.guarded;
    if (goes_on && end < code.size()) out.next[b].push_back(block_of[end]);
    Inventory i;
    for (uint32_t k = begin; k < end; ++k) {
      ++i.landmarks[size_t(code[k].landmark)];
      i.floating += code[k].floating;
      i.special += code[k].pipe == Pipe::xu;
      i.rest += code[k].landmark == Landmark::none && !code[k].floating && code[k].pipe != Pipe::xu;
    }
    out.inventories.push_back(i);
  }
  out.loops = find_loops(out.next);
  return out;
}

class Match {
 public:
  Match(const std::vector<PtxWork>& work, const std::vector<Touch>& touches, const Flow& flow, const ChipCode& chip)
      : work_(work), touches_(touches), code_(chip.code), ptx_(code_of(work, flow)), chip_(code_of(chip.code)) {
    out_.shares.resize(work.size());
  }
  ChipShares run() {
    inside(-1, -1, 1);
    return std::move(out_);
  }

 private:
  /// Loop `p` of PTX is loop `c` of the chip's (-1: what is in no loop), `turns` of it a turn.
  void inside(int32_t p, int32_t c, uint32_t turns) {
    const std::vector<int32_t> inner = ptx_.children(p), chip_inner = chip_.children(c);
    const std::vector<std::pair<int32_t, uint32_t>> found = pair_up(inner, chip_inner);
    bool all = true;
    for (size_t i = 0; i < inner.size(); ++i) {
      all &= found[i].first >= 0;
      if (found[i].first >= 0) inside(inner[i], found[i].first, found[i].second);
    }
    const std::vector<uint32_t> blocks = ptx_.own(p), chip_blocks = chip_.own(c);
    const Inventory mine = ptx_.inside(blocks), theirs = chip_.inside(chip_blocks);
    if (p >= 0 && turns == 1 && mine[Landmark::matrix]) return order_blocks(p, blocks, chip_blocks);
    // Copies, barriers in memory and tensor cores have costs of their own.
    if (mine.engines() || theirs.engines()) return;
    // A loop that ptxas has unrolled altogether stands here.
    if (!all) return;
    share(blocks, chip_blocks, mine, theirs, turns);
    if (p >= 0) note_loop(p, c, blocks, chip_blocks, mine, theirs, turns);
  }

  /// For each of `inner`, its loop among `chip_inner` (-1: none) and how many turns of it that takes. Both keep their
  /// order.
  std::vector<std::pair<int32_t, uint32_t>> pair_up(const std::vector<int32_t>& inner,
                                                    const std::vector<int32_t>& chip_inner) const {
    const size_t n = inner.size(), m = chip_inner.size();
    std::vector<std::vector<uint32_t>> turns(n, std::vector<uint32_t>(m));
    std::vector<Inventory> mine, theirs;
    for (int32_t l : inner) mine.push_back(ptx_.inside(ptx_.loops.all[size_t(l)].blocks));
    for (int32_t l : chip_inner) theirs.push_back(chip_.inside(chip_.loops.all[size_t(l)].blocks));
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < m; ++j) {
        turns[i][j] = turns_of(mine[i], theirs[j]).value_or(0);
        if (turns[i][j] || !mine[i].loads() || theirs[j].loads()) continue;
        Inventory without = mine[i];
        without.forget_loads();
        turns[i][j] = turns_of(without, theirs[j]).value_or(0);
      }
    // The most pairs; of a loop and its rest, the loop.
    std::vector<std::vector<double>> best(n + 1, std::vector<double>(m + 1));
    const auto worth = [&](size_t i, size_t j) { return turns[i][j] ? 1 + std::min(turns[i][j], 64u) / 128.0 : -1e9; };
    for (size_t i = n; i-- > 0;)
      for (size_t j = m; j-- > 0;)
        best[i][j] = std::max({best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + worth(i, j)});
    std::vector<std::pair<int32_t, uint32_t>> out(n, {-1, 1});
    for (size_t i = 0, j = 0; i < n && j < m;) {
      if (turns[i][j] && best[i][j] == best[i + 1][j + 1] + worth(i, j)) {
        out[i] = {chip_inner[j], turns[i][j]};
        ++i, ++j;
      } else if (best[i][j] == best[i][j + 1]) {
        ++j;
      } else {
        ++i;
      }
    }
    return out;
  }

  /// Machine instructions without a counterpart of their own go to PTX instructions of that sort, in order.
  void share(const std::vector<uint32_t>& blocks, const std::vector<uint32_t>& chip_blocks, const Inventory& mine,
             const Inventory& theirs, uint32_t turns) {
    const bool floats_stay = theirs.floating == turns * mine.floating;
    const bool specials_stay = theirs.special == turns * mine.special;
    std::vector<uint32_t> to;
    for (uint32_t b : blocks)
      for (uint32_t k = ptx_.blocks[b].first; k < ptx_.blocks[b].second; ++k)
        if (work_[k].shared_out || (work_[k].floating && !floats_stay) || (work_[k].special && !specials_stay))
          to.push_back(k);
    std::vector<const ChipInstruction*> from;
    for (uint32_t b : chip_blocks) {
      // A division's rare cases are a subroutine.
      const auto [first, end] = chip_.blocks[b];
      const std::span block(code_.data() + first, end - first);
      if (mine.sequences && std::ranges::any_of(block, &ChipInstruction::calls)) continue;
      for (const ChipInstruction& i : block) {
        const bool counts = i.landmark == Landmark::none || i.landmark == Landmark::copy_wait;
        if (!counts || (i.floating && floats_stay) || (i.pipe == Pipe::xu && specials_stay)) continue;
        from.push_back(&i);
      }
    }
    if (to.empty()) return;
    const size_t slots = size_t(std::lround(double(from.size()) / turns));
    for (size_t j = 0; j < to.size(); ++j) {
      ChipShares::Share& s = out_.shares[to[j]];
      s.known = true;
      s.chain = std::min(1.0f, float(slots) / float(to.size()));
      uint32_t cycles[kPipes + 1] = {};
      for (size_t i = j * slots / to.size(); i < (j + 1) * slots / to.size(); ++i) {
        const ChipInstruction& sample = *from[(2 * i + 1) * from.size() / (2 * slots)];
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

  /// A loop of products that warps feed: its blocks in the chip's order, if both codes have the same ones.
  void order_blocks(int32_t p, const std::vector<uint32_t>& blocks, const std::vector<uint32_t>& chip_blocks) {
    const auto that_stand = [](const Code& code, const std::vector<uint32_t>& all) {
      std::vector<uint32_t> out;
      std::ranges::copy_if(all, std::back_inserter(out), [&](uint32_t b) {
        const Landmarks& l = code.inventories[b].landmarks;
        return std::any_of(l.begin() + 1, l.end(), [](uint32_t n) { return n; });
      });
      return out;
    };
    const std::vector<uint32_t> mine = that_stand(ptx_, blocks), theirs = that_stand(chip_, chip_blocks);
    if (mine.size() != theirs.size()) return;
    std::vector<ChipBlock> found;
    for (size_t i = 0; i < mine.size(); ++i) {
      const auto [begin, end] = ptx_.blocks[mine[i]];
      const auto [first, behind] = chip_.blocks[theirs[i]];
      auto block = order_block(work_, touches_, begin, end, std::span(code_).subspan(first, behind - first));
      if (!block) return;
      const uint32_t header = ptx_.loops.all[size_t(p)].header;
      block->of_loop = std::ranges::count(ptx_.next[mine[i]], header);
      found.push_back(*std::move(block));
    }
    std::ranges::move(found, std::back_inserter(out_.blocks));
  }

  void note_loop(int32_t p, int32_t c, const std::vector<uint32_t>& blocks, const std::vector<uint32_t>& chip_blocks,
                 const Inventory& mine, const Inventory& theirs, uint32_t turns) {
    ChipShares::LoopShare l;
    l.blocks = ptx_.loops.all[size_t(p)].blocks;
    l.own = blocks;
    l.header = ptx_.loops.all[size_t(p)].header;
    l.unrolled = turns;
    l.no_loads = mine.loads() && !theirs.loads();
    for (uint32_t b : chip_.loops.all[size_t(c)].blocks)
      l.instructions += chip_.blocks[b].second - chip_.blocks[b].first;
    // Loads that are on their way when the first of them is waited for.
    uint8_t pending = 0;
    uint32_t before = 0;
    bool waited = false;
    uint32_t cycles = 0;
    for (uint32_t b : chip_blocks)
      for (uint32_t k = chip_.blocks[b].first; k < chip_.blocks[b].second; ++k) {
        const ChipInstruction& i = code_[k];
        cycles += i.stall;
        waited |= (i.waits & pending) != 0;
        if (waited) continue;
        if (i.landmark != Landmark::load && i.landmark != Landmark::global_load && i.landmark != Landmark::shared_load)
          continue;
        ++before;
        if (i.sets < 6) pending |= uint8_t(1u << i.sets);
      }
    if (mine.loads()) l.turns = std::clamp(before / mine.loads(), 1u, std::min(turns, 255u));
    // Where a warp waits for results, it matters which stalls lie beside the wait.
    const bool waits = theirs.loads() || theirs.special || theirs[Landmark::shuffle] || theirs[Landmark::vote] ||
                       theirs[Landmark::global_atomic] || theirs[Landmark::shared_atomic] || theirs[Landmark::local];
    if (blocks.size() == 1 && chip_blocks.size() == 1 && !waits)
      l.cycles = uint32_t(std::lround(double(cycles) / turns));
    out_.loops.push_back(std::move(l));
  }

  const std::vector<PtxWork>& work_;
  const std::vector<Touch>& touches_;
  const std::vector<ChipInstruction>& code_;
  const Code ptx_, chip_;
  ChipShares out_;
};

}  // namespace

ChipShares share_out(const std::vector<PtxWork>& work, const std::vector<Touch>& touches, const Flow& flow,
                     const ChipCode& chip) {
  return Match(work, touches, flow, chip).run();
}

}  // namespace tinygpu
