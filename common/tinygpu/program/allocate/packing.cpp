#include "common/tinygpu/program/allocate/packing.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/tinygpu/base/align_up.h"

namespace tinygpu {
namespace {

constexpr uint64_t kMostLiveness = uint64_t(1) << 33;  // bits of one set for every block

/// A set of register ids as words, for the dataflow.
struct Bits {
  std::vector<uint64_t> w;
  explicit Bits(size_t n) : w((n + 63) / 64) {}
  bool test(uint32_t i) const { return w[i >> 6] >> (i & 63) & 1; }
  void set(uint32_t i) { w[i >> 6] |= 1ull << (i & 63); }
  bool merge(const Bits& o) {
    uint64_t changed = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      changed |= o.w[i] & ~w[i];
      w[i] |= o.w[i];
    }
    return changed != 0;
  }
  template <class F>
  void each(F&& f) const {
    for (size_t i = 0; i < w.size(); ++i)
      for (uint64_t m = w[i]; m; m &= m - 1) f(uint32_t(i * 64 + __builtin_ctzll(m)));
  }
};

uint32_t slot_bytes(ptx::Type t) { return t == ptx::Type::pred ? 4 : 32 * std::max(1, ptx::size_of(t)); }

/// Registers that some block may read before it writes them; all others live inside one block. A guarded definition
/// does not end a live range.
class Crossing {
 public:
  Crossing(size_t registers, const Flow& flow, const std::vector<Touch>& touches) : index_(registers, kNoSlot) {
    std::vector<size_t> written(registers, flow.blocks.size());  // the last block that has written it
    for (size_t b = 0; b < flow.blocks.size(); ++b)
      for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
        for (uint32_t r : touches[i].uses)
          if (written[r] != b && index_[r] == kNoSlot) {
            index_[r] = uint32_t(registers_.size());
            registers_.push_back(r);
          }
        if (!touches[i].guarded)
          for (uint32_t r : touches[i].defs) written[r] = b;
      }
  }
  size_t size() const { return registers_.size(); }
  uint32_t index(uint32_t r) const { return index_[r]; }
  uint32_t operator[](uint32_t index) const { return registers_[index]; }

 private:
  std::vector<uint32_t> index_, registers_;
};

/// Crossing registers that are live where a block begins and where it ends.
struct Liveness {
  std::vector<Bits> in, out;
};

Liveness solve_backward(const Flow& flow, const std::vector<Touch>& touches, const Crossing& crossing) {
  const size_t n = flow.blocks.size();
  const Bits none(crossing.size());
  std::vector<Bits> use(n, none), def(n, none);
  for (size_t b = 0; b < n; ++b)
    for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      for (uint32_t r : touches[i].uses)
        if (const uint32_t k = crossing.index(r); k != kNoSlot && !def[b].test(k)) use[b].set(k);
      if (touches[i].guarded) continue;
      for (uint32_t r : touches[i].defs)
        if (const uint32_t k = crossing.index(r); k != kNoSlot) def[b].set(k);
    }
  Liveness out{std::vector<Bits>(n, none), std::vector<Bits>(n, none)};
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = n; b-- > 0;) {
      for (uint32_t s : flow.blocks[b].next) out.out[b].merge(out.in[s]);
      Bits next = out.out[b];
      for (size_t i = 0; i < next.w.size(); ++i) next.w[i] = (next.w[i] & ~def[b].w[i]) | use[b].w[i];
      changed |= out.in[b].merge(next);
    }
  }
  return out;
}

/// From the first place to the last where a register is live, by place in the code.
struct Range {
  uint32_t begin = ~0u, end = 0, reg = 0;
};

/// Of all registers that are touched, by their begin.
std::vector<Range> live_ranges(size_t registers, const Flow& flow, const std::vector<Touch>& touches,
                               const AsyncRegisters& async, const Crossing& crossing) {
  const Liveness live = solve_backward(flow, touches, crossing);
  std::vector<Range> ranges(registers);
  const auto touch = [&](uint32_t r, uint32_t at) {
    ranges[r].begin = std::min(ranges[r].begin, at);
    ranges[r].end = std::max(ranges[r].end, at);
    ranges[r].reg = r;
  };
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    const uint32_t first = flow.blocks[b].begin, last = flow.blocks[b].end;
    live.in[b].each([&](uint32_t k) { touch(crossing[k], first); });
    live.out[b].each([&](uint32_t k) { touch(crossing[k], last); });
    AsyncRegisters::Ages ages = async.at_begin(b);
    const auto touch_pending = [&](uint32_t at) {
      for (size_t k = 0; k < ages.size(); ++k)
        if (ages[k] != AsyncRegisters::kIdle) touch(async.registers()[k].id, at);
    };
    touch_pending(first);
    for (uint32_t i = first; i < last; ++i) {
      for (uint32_t r : touches[i].uses) touch(r, i);
      for (uint32_t r : touches[i].defs) touch(r, i);
      if (touches[i].waits >= 0) touch_pending(i);
      async.step(ages, i);
    }
    touch_pending(last);
  }
  std::erase_if(ranges, [](const Range& r) { return r.begin == ~0u; });
  std::ranges::sort(
      ranges, [](const Range& a, const Range& b) { return a.begin != b.begin ? a.begin < b.begin : a.reg < b.reg; });
  return ranges;
}

/// Linear scan: a register gets the least slot of its width that is free when its life begins.
class Slots {
 public:
  Slots(const ptx::Function& f, const std::vector<Range>& ranges) : f_(f), index_(f.registers.size()) {
    for (const Range& r : ranges) take(r);
  }
  uint32_t live_words() const { return most_words_; }
  /// Predicates come first so that the wide slots stay aligned.
  void lay_out(const std::vector<Range>& ranges, uint32_t first_slot, RegisterPacking& out) const {
    std::map<uint32_t, uint32_t> base;
    uint64_t at = first_slot;
    for (const auto& [size, count] : made_) {
      at = align_up(at, std::min(size, 64u));
      base[size] = uint32_t(at);
      at += uint64_t(size) * count;
      if (at > kMostRegisterBytes) throw LinkError("function " + f_.name + " has too many registers");
    }
    for (const Range& r : ranges) out.slot[r.reg] = base[size_of(r)] + size_of(r) * index_[r.reg];
    out.bytes = uint32_t(at - first_slot);
  }

 private:
  uint32_t size_of(const Range& r) const { return slot_bytes(f_.registers[r.reg].type); }
  void take(const Range& r) {
    while (!active_.empty() && active_.begin()->first < r.begin) {
      const auto [size, index] = active_.begin()->second;
      free_[size].insert(index);
      words_ -= size / 128;
      active_.erase(active_.begin());
    }
    const uint32_t size = size_of(r);
    auto& free = free_[size];
    uint32_t& index = index_[r.reg];
    if (free.empty()) {
      index = made_[size]++;
    } else {
      index = *free.begin();
      free.erase(free.begin());
    }
    active_.emplace(r.end, std::make_pair(size, index));
    words_ += size / 128;
    most_words_ = std::max(most_words_, words_);
  }

  const ptx::Function& f_;
  std::vector<uint32_t> index_;                                    // by register: which slot of its size
  std::map<uint32_t, std::set<uint32_t>> free_;                    // by size
  std::map<uint32_t, uint32_t> made_;                              // by size: how many
  std::multimap<uint32_t, std::pair<uint32_t, uint32_t>> active_;  // end → size, index
  uint32_t words_ = 0, most_words_ = 0;
};

}  // namespace

RegisterPacking pack_registers(const ptx::Function& f, const Flow& flow, const std::vector<Touch>& touches,
                               const AsyncRegisters& async, uint32_t first_slot) {
  const Crossing crossing(f.registers.size(), flow, touches);
  if (flow.blocks.size() * crossing.size() > kMostLiveness)
    throw LinkError("function " + f.name + " is too large: " + std::to_string(flow.blocks.size()) + " blocks, " +
                    std::to_string(crossing.size()) + " registers that live across them");
  const std::vector<Range> ranges = live_ranges(f.registers.size(), flow, touches, async, crossing);
  const Slots slots(f, ranges);
  RegisterPacking out;
  out.slot.assign(f.registers.size(), kNoSlot);
  out.live_words = slots.live_words();
  slots.lay_out(ranges, first_slot, out);
  out.lives.reserve(ranges.size());
  for (const Range& r : ranges) out.lives.push_back({r.reg, r.begin, r.end});
  return out;
}

}  // namespace tinygpu
