#include <algorithm>
#include <map>
#include <set>

#include "common/tinygpu/program/lower/function_builder.h"

namespace tinygpu {
namespace {

constexpr size_t kMostLiveness = size_t(1) << 33;  // bits of one set for every block

/// A set of register ids as words, for the dataflow.
struct Bits {
  std::vector<uint64_t> w;
  explicit Bits(size_t n) : w((n + 63) / 64) {}
  bool test(uint32_t i) const { return w[i >> 6] >> (i & 63) & 1; }
  void set(uint32_t i) { w[i >> 6] |= 1ull << (i & 63); }
  void clear(uint32_t i) { w[i >> 6] &= ~(1ull << (i & 63)); }
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

}  // namespace

Packing pack_registers(const ptx::Function& f, const Flow& flow, const std::vector<Touch>& touches,
                       const AsyncRegisters& async, uint32_t first_slot) {
  const size_t regs = f.registers.size(), n = flow.blocks.size();
  Packing out;
  out.slot.assign(regs, kNoSlot);

  // Registers that a block may read before it writes them: what else a block reads lives in that block alone. A guarded
  // definition does not end a live range.
  std::vector<uint32_t> index(regs, kNoSlot), crossing;
  std::vector<size_t> written(regs, n);  // the last block that has written it
  for (size_t b = 0; b < n; ++b)
    for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      for (uint32_t r : touches[i].uses)
        if (written[r] != b && index[r] == kNoSlot) {
          index[r] = uint32_t(crossing.size());
          crossing.push_back(r);
        }
      if (f.body[i].guard < 0)
        for (uint32_t r : touches[i].defs) written[r] = b;
    }
  if (n * crossing.size() > kMostLiveness)
    throw LinkError("function " + f.name + " is too large: " + std::to_string(n) + " blocks, " +
                    std::to_string(crossing.size()) + " registers that live across them");

  // Liveness: backward.
  const Bits none(crossing.size());
  std::vector<Bits> use(n, none), def(n, none), in(n, none), live_out(n, none);
  for (size_t b = 0; b < n; ++b)
    for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      for (uint32_t r : touches[i].uses)
        if (index[r] != kNoSlot && !def[b].test(index[r])) use[b].set(index[r]);
      if (f.body[i].guard < 0)
        for (uint32_t r : touches[i].defs)
          if (index[r] != kNoSlot) def[b].set(index[r]);
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = n; k-- > 0;) {
      for (uint32_t s : flow.blocks[k].next) live_out[k].merge(in[s]);
      Bits next = live_out[k];
      for (size_t i = 0; i < next.w.size(); ++i) next.w[i] = (next.w[i] & ~def[k].w[i]) | use[k].w[i];
      changed |= in[k].merge(next);
    }
  }

  struct Range {
    uint32_t begin = ~0u, end = 0, reg = 0;
  };
  std::vector<Range> ranges(regs);
  auto touch = [&](uint32_t r, uint32_t at) {
    ranges[r].begin = std::min(ranges[r].begin, at);
    ranges[r].end = std::max(ranges[r].end, at);
  };
  for (size_t b = 0; b < n; ++b) {
    const uint32_t first = flow.blocks[b].begin, last = flow.blocks[b].end;
    in[b].each([&](uint32_t k) { touch(crossing[k], first); });
    live_out[b].each([&](uint32_t k) { touch(crossing[k], last); });
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

  // Linear scan. Slots of a width are reused; predicates come first so that the wide slots stay aligned.
  std::vector<Range> order;
  for (uint32_t r = 0; r < regs; ++r)
    if (ranges[r].begin != ~0u) {
      ranges[r].reg = r;
      order.push_back(ranges[r]);
    }
  std::sort(order.begin(), order.end(),
            [](const Range& a, const Range& b) { return a.begin != b.begin ? a.begin < b.begin : a.reg < b.reg; });
  std::map<uint32_t, std::set<uint32_t>> free_slots;              // by size → indices in the class
  std::map<uint32_t, uint32_t> used;                              // by size → slots made
  std::multimap<uint32_t, std::pair<uint32_t, uint32_t>> active;  // end → (size, index)
  std::vector<uint32_t> index_of(regs);
  uint32_t words = 0;
  for (const Range& r : order) {
    while (!active.empty() && active.begin()->first < r.begin) {
      const auto [size, index] = active.begin()->second;
      free_slots[size].insert(index);
      words -= size / 128;
      active.erase(active.begin());
    }
    const uint32_t size = slot_bytes(f.registers[r.reg].type);
    uint32_t index;
    if (auto& free = free_slots[size]; !free.empty()) {
      index = *free.begin();
      free.erase(free.begin());
    } else {
      index = used[size]++;
    }
    index_of[r.reg] = index;
    active.emplace(r.end, std::make_pair(size, index));
    words += size / 128;
    out.live_words = std::max(out.live_words, words);
  }
  std::map<uint32_t, uint32_t> base;
  uint64_t at = first_slot;
  for (auto [size, count] : used) {
    at = (at + std::min(size, 64u) - 1) / std::min(size, 64u) * std::min(size, 64u);
    base[size] = uint32_t(at);
    at += uint64_t(size) * count;
    if (at > kMostRegisterBytes) throw LinkError("function " + f.name + " has too many registers");
  }
  for (const Range& r : order) {
    const uint32_t size = slot_bytes(f.registers[r.reg].type);
    out.slot[r.reg] = base[size] + size * index_of[r.reg];
  }
  out.bytes = uint32_t(at - first_slot);
  return out;
}

}  // namespace tinygpu
