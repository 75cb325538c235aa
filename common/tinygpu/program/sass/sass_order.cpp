#include "common/tinygpu/program/sass/sass_order.h"

#include <algorithm>
#include <unordered_map>

#include "common/tinygpu/program/sass/ptx_features.h"

namespace tinygpu {
namespace {

constexpr uint32_t kMost = 8192;  // instructions of a block
constexpr uint32_t kWindow = 64;  // products among which the next is chosen

/// The instructions that must stand before each instruction, by their places in the block.
std::vector<std::vector<uint32_t>> predecessors(const std::vector<PtxFeatures>& features,
                                                const std::vector<Touch>& touches, uint32_t begin, uint32_t end) {
  std::vector<std::vector<uint32_t>> out(end - begin);
  struct Register {
    int64_t writer = -1;
    std::vector<uint32_t> readers;
  };
  std::unordered_map<uint32_t, Register> registers;
  std::vector<uint32_t> reads, writes;  // of memory, since the last that nothing passes
  int64_t sync = -1, copies = -1;
  for (uint32_t i = 0; i < end - begin; ++i) {
    const auto after = [&](uint32_t other) {
      if (other != i) out[i].push_back(other);
    };
    const Touch& t = touches[begin + i];
    for (uint32_t r : t.uses) {
      Register& known = registers[r];
      if (known.writer >= 0) after(uint32_t(known.writer));
      known.readers.push_back(i);
    }
    for (uint32_t r : t.defs) {
      Register& known = registers[r];
      for (uint32_t reader : known.readers) after(reader);
      if (known.writer >= 0) after(uint32_t(known.writer));
      known = {i, {}};
    }
    // Copies, their groups and the waits for those keep their order.
    const InstructionKind kind = features[begin + i].kind;
    if (kind == InstructionKind::copy || kind == InstructionKind::copy_group || kind == InstructionKind::copy_wait) {
      if (copies >= 0) after(uint32_t(copies));
      copies = i;
    }
    switch (features[begin + i].order) {
      case PtxFeatures::Order::free: break;
      case PtxFeatures::Order::reads:
        for (uint32_t k : writes) after(k);
        if (sync >= 0) after(uint32_t(sync));
        reads.push_back(i);
        break;
      case PtxFeatures::Order::writes:
        for (uint32_t k : reads) after(k);
        for (uint32_t k : writes) after(k);
        if (sync >= 0) after(uint32_t(sync));
        writes.push_back(i);
        break;
      case PtxFeatures::Order::sync:
      case PtxFeatures::Order::fixed:
        for (uint32_t k : reads) after(k);
        for (uint32_t k : writes) after(k);
        if (sync >= 0) after(uint32_t(sync));
        reads.clear();
        writes.clear();
        sync = i;
        break;
    }
  }
  return out;
}

bool is_load(InstructionKind l) { return l == InstructionKind::shared_load || l == InstructionKind::global_load; }

/// Walks the machine code twice. First each machine instruction of a kind gets an instruction of PTX; a load's place
/// gets its load when a product needs one. Then all instructions are placed, those of no kind before the first that
/// needs them.
class Order {
 public:
  Order(const std::vector<PtxFeatures>& features, const std::vector<Touch>& touches, uint32_t begin, uint32_t end)
      : features_(features),
        begin_(begin),
        count_(end - begin),
        before_(predecessors(features, touches, begin, end)),
        done_(count_),
        seen_(count_) {}

  std::optional<SassBlock> run(std::span<const SassInstruction> code) {
    if (!choose_all(code)) return {};
    done_.assign(count_, false);
    out_.begin = begin_;
    std::vector<SassStep> before;
    auto chosen = chosen_.begin();
    for (const SassInstruction& c : code) {
      // The branch at the end is the block's last instruction, whatever stands in between.
      if (c.branches) {
        finish();
        SassBlock::Place& last = out_.places.back();
        last.before.insert(last.before.end(), before.begin(), before.end());
        last.stall = c.stall;
        last.waits = c.waits;
        before.clear();
        break;
      }
      if (c.kind == InstructionKind::other) {
        add_step(before, c);
        continue;
      }
      const uint32_t i = *chosen++;
      if (!put_all_before(i)) return {};
      put(i);
      SassBlock::Place& place = out_.places.back();
      place.before = std::move(before);
      before.clear();
      place.stall = c.stall;
      place.waits = c.waits;
      place.sets = c.sets;
      place.reads = c.reads;
    }
    finish();
    // The last instruction takes the time of machine instructions behind it.
    for (const SassStep& s : before) out_.places.back().stall = uint16_t(out_.places.back().stall + s.stall);
    if (out_.order.size() != count_) return {};
    if (features_[begin_ + count_ - 1].branches && out_.order.back() != begin_ + count_ - 1) return {};
    share_scoreboards();
    return std::move(out_);
  }

 private:
  InstructionKind kind_of(uint32_t i) const { return features_[begin_ + i].kind; }

  // ---- Which instruction stands where

  bool choose_all(std::span<const SassInstruction> code) {
    for (const SassInstruction& c : code) {
      if (c.branches) {
        if (!features_[begin_ + count_ - 1].branches) return false;
        break;
      }
      if (c.kind == InstructionKind::other) continue;
      if (is_load(c.kind)) {
        open_.push_back(uint32_t(chosen_.size()));
        kinds_.push_back(c.kind);
        chosen_.push_back(count_);
        continue;
      }
      const bool passed = c.kind == InstructionKind::matrix || c.kind == InstructionKind::copy_group;
      if (!passed && !settle_loads()) return false;
      const uint32_t i = c.kind == InstructionKind::matrix ? cheapest() : first(c.kind);
      if (i == count_) return false;
      for (uint32_t load : missing(i))
        if (!take_place(load)) return false;
      done_[i] = true;
      kinds_.push_back(c.kind);
      chosen_.push_back(i);
    }
    if (!settle_loads()) return false;
    for (uint32_t i = 0; i < count_; ++i)
      if (kind_of(i) != InstructionKind::other && !done_[i]) return false;
    return true;
  }

  /// Instructions of a kind that `i` needs and that have no place yet.
  std::vector<uint32_t> missing(uint32_t i) {
    std::vector<uint32_t> work{i}, out;
    for (++asked_; !work.empty();) {
      const uint32_t k = work.back();
      work.pop_back();
      for (uint32_t b : before_[k]) {
        if (done_[b] || seen_[b] == asked_) continue;
        seen_[b] = asked_;
        work.push_back(b);
        if (kind_of(b) != InstructionKind::other) out.push_back(b);
      }
    }
    std::ranges::sort(out);
    return out;
  }
  uint32_t first(InstructionKind kind) {
    for (uint32_t i = 0; i < count_; ++i)
      if (!done_[i] && kind_of(i) == kind) return missing(i).empty() ? i : count_;
    return count_;
  }
  /// Among the next products the one that needs the fewest loads without a place.
  uint32_t cheapest() {
    uint32_t best = count_, seen = 0;
    size_t least = open_.size() + 1;
    for (uint32_t i = 0; i < count_ && seen < kWindow && least; ++i) {
      if (done_[i] || kind_of(i) != InstructionKind::matrix) continue;
      ++seen;
      const std::vector<uint32_t> needs = missing(i);
      if (needs.size() >= least || !std::ranges::all_of(needs, [&](uint32_t n) { return is_load(kind_of(n)); }))
        continue;
      least = needs.size();
      best = i;
    }
    return best;
  }
  /// The first place of its kind that no load has yet.
  bool take_place(uint32_t load) {
    const auto place = std::ranges::find(open_, kind_of(load), [&](uint32_t p) { return kinds_[p]; });
    if (place == open_.end()) return false;
    chosen_[*place] = load;
    open_.erase(place);
    done_[load] = true;
    return true;
  }
  /// Gives loads to the places that are left, before an instruction that loads do not move across.
  bool settle_loads() {
    while (!open_.empty()) {
      const uint32_t i = first(kinds_[open_.front()]);
      if (i == count_ || !take_place(i)) return false;
    }
    return true;
  }

  // ---- Putting them down

  static void add_step(std::vector<SassStep>& steps, const SassInstruction& c) {
    if (steps.empty() || c.waits || steps.back().sets != SassInstruction::kNone) steps.emplace_back();
    SassStep& s = steps.back();
    s.waits |= c.waits;
    s.stall = uint16_t(s.stall + c.stall);
    s.issue = uint8_t(std::min(255, s.issue + 1));
    if (c.pipe != Pipe::none && (s.pipe == Pipe::none || s.pipe == c.pipe)) {
      s.pipe = c.pipe;
      s.occupies = uint8_t(std::min(255, s.occupies + c.occupies));
    }
    if (c.sets == SassInstruction::kNone) return;
    s.sets = c.sets;
    s.latency = c.latency;
  }
  /// False: an instruction that has a place would have to stand before its place.
  bool put_all_before(uint32_t i) {
    std::vector<uint32_t> all{i};
    ++asked_;
    for (size_t k = 0; k < all.size(); ++k)
      for (uint32_t b : before_[all[k]]) {
        if (done_[b] || seen_[b] == asked_) continue;
        if (kind_of(b) != InstructionKind::other) return false;
        seen_[b] = asked_;
        all.push_back(b);
      }
    std::sort(all.begin() + 1, all.end());
    for (size_t k = 1; k < all.size(); ++k) put(all[k]);
    return true;
  }
  void put(uint32_t i) {
    if (done_[i]) return;
    done_[i] = true;
    out_.order.push_back(begin_ + i);
    out_.places.emplace_back();
  }
  /// Instructions of no kind that no other instruction needs.
  void finish() {
    for (uint32_t i = 0; i < count_; ++i)
      if (kind_of(i) == InstructionKind::other && put_all_before(i)) put(i);
  }
  /// Loads return in order: a wait for the next load's scoreboard covers a load without one.
  void share_scoreboards() {
    uint8_t sets = SassInstruction::kNone;
    for (uint32_t i = count_; i-- > 0;) {
      if (!is_load(features_[out_.order[i]].kind)) continue;
      uint8_t& own = out_.places[i].sets;
      if (own == SassInstruction::kNone)
        own = sets;
      else
        sets = own;
    }
  }

  const std::vector<PtxFeatures>& features_;
  const uint32_t begin_, count_;
  const std::vector<std::vector<uint32_t>> before_;
  std::vector<bool> done_;
  std::vector<uint32_t> seen_;  // in which search last
  uint32_t asked_ = 0;
  std::vector<uint32_t> chosen_;  // instructions, by those of the machine code that have a kind; count_: none yet
  std::vector<InstructionKind> kinds_;
  std::vector<uint32_t> open_;  // of those, the places of loads that have none yet
  SassBlock out_;
};

}  // namespace

std::optional<SassBlock> order_block(const std::vector<PtxFeatures>& features, const std::vector<Touch>& touches,
                                     uint32_t begin, uint32_t end, std::span<const SassInstruction> code) {
  if (begin == end || end - begin > kMost) return {};
  for (uint32_t i = begin; i < end; ++i)
    if (features[i].order == PtxFeatures::Order::fixed) return {};
  return Order(features, touches, begin, end).run(code);
}

void reorder(LoweredFunction& code, const std::vector<SassBlock>& blocks, ExecFn step) {
  for (const SassBlock& block : blocks) {
    std::vector<LoweredInstruction> instructions;
    std::vector<Touch> touches;
    for (size_t k = 0; k < block.order.size(); ++k) {
      instructions.push_back(std::move(code.code[block.order[k]]));
      touches.push_back(std::move(code.touches[block.order[k]]));
      Op op;
      op.fn = step;
      op.flags = Op::injected;
      op.inst = instructions.back().op.inst;
      auto& before = instructions.back().before;
      before.insert(before.begin(), block.places[k].before.size(), op);
    }
    std::ranges::move(instructions, code.code.begin() + block.begin);
    std::ranges::move(touches, code.touches.begin() + block.begin);
  }
}

}  // namespace tinygpu
