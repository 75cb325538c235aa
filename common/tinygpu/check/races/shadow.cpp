#include "common/tinygpu/check/races/shadow.h"

#include <algorithm>

namespace tinygpu::races {
namespace {

constexpr uint16_t kWhole = 0xffff;

/// A later access that knows `now` to be over knows `old` to be over too: both of one actor, and complete in order.
bool follows(const Record& old, const Record& now) {
  if (old.component != now.component || old.cluster != now.cluster || old.epoch > now.epoch || !now.component)
    return false;
  return !now.lane_components || old.map.same(now.map);
}

bool same_conflicts(const Record& a, const Record& b) {
  return a.kind == b.kind && a.proxy == b.proxy && a.order == b.order && a.ends == b.ends;
}

}  // namespace

uint32_t Histories::keep(const Record& r) {
  if (free_records_.empty()) {
    records_.push_back(r);
    return uint32_t(records_.size() - 1);
  }
  const uint32_t i = free_records_.back();
  free_records_.pop_back();
  records_[i] = r;
  return i;
}

uint32_t Histories::make(const History& h) {
  if (free_histories_.empty()) {
    histories_.push_back(h);
    return uint32_t(histories_.size() - 1);
  }
  const uint32_t i = free_histories_.back();
  free_histories_.pop_back();
  histories_[i] = h;
  return i;
}

uint32_t Histories::touched(uint32_t handle, const Record& now, uint32_t& record, uint64_t address, uint16_t bytes,
                            Judge judge, bool& placed, Unwritten unwritten) {
  History next;
  bool covered = false;  // an access of the same actor that is equal to this one is there already
  const History& old = histories_[handle];
  next.written = uint16_t(old.written | (now.writes() ? bytes : 0));
  if (now.kind != AccessKind::write)
    if (const uint16_t fresh = uint16_t(bytes & ~old.written)) unwritten(address, fresh);
  // Who writes behind a read that came behind an earlier write need know nothing of that write: the three are in order.
  uint16_t read_over = 0;
  std::array<Verdict, History::kMost> of_read;
  if (now.writes())
    for (uint32_t i = 0; i < old.size; ++i) {
      const History::Entry& e = old.entry[i];
      const Record& r = records_[e.record];
      if (r.writes() || !(e.bytes & bytes) || (record && e.record == record - 1)) continue;
      of_read[i] = judge(r, address, uint16_t(e.bytes & bytes));
      placed |= of_read[i].placed;
      if (of_read[i].over) read_over |= e.bytes;
    }
  for (uint32_t i = 0; i < old.size; ++i) {
    History::Entry e = old.entry[i];
    if (record && e.record == record - 1) {  // other lanes of the instruction
      e.bytes |= bytes;
      covered = true;
      next.entry[next.size++] = e;
      continue;
    }
    const Record& r = records_[e.record];
    const uint16_t both = e.bytes & bytes;
    if (both) {
      if (same_conflicts(r, now) && r.component == now.component && r.epoch == now.epoch && r.cluster == now.cluster &&
          !r.operation && !(bytes & ~e.bytes) && r.map.same(now.map)) {
        covered = true;
      } else if (r.writes() || now.writes()) {
        const bool was_read = now.writes() && !r.writes();
        const uint16_t open = was_read ? both : uint16_t(now.writes() ? both & ~read_over : both);
        const Verdict verdict = was_read ? of_read[i] : open ? judge(r, address, open) : Verdict{true, false};
        placed |= verdict.placed;
        if (now.writes() && verdict.over) e.bytes = uint16_t(e.bytes & ~bytes);
      } else if (follows(r, now) && same_conflicts(r, now)) {
        e.bytes = uint16_t(e.bytes & ~bytes);
      }
    }
    if (e.bytes) next.entry[next.size++] = e;
  }
  if (covered && next.size == old.size && record == 0) return handle;
  if (!covered) {
    if (next.size == History::kMost) {  // the oldest read goes, or the oldest of all
      uint32_t out = 0;
      while (out + 1 < next.size && records_[next.entry[out].record].writes()) ++out;
      if (records_[next.entry[out].record].writes()) out = 0;
      std::copy(next.entry.begin() + out + 1, next.entry.begin() + next.size, next.entry.begin() + out);
      --next.size;
    }
    if (!record) record = keep(now) + 1;
    next.entry[next.size++] = {record - 1, bytes};
  }
  return make(next);
}

void Histories::collect(FunctionRef<void(FunctionRef<void(uint32_t)>)> each) {
  for (History& h : histories_) h.marked = false;
  const auto mark = [&](uint32_t handle) { histories_[handle].marked = true; };
  each(mark);
  std::vector<bool> named(records_.size());
  free_histories_.clear();
  for (uint32_t i = 1; i < histories_.size(); ++i) {
    const History& h = histories_[i];
    if (!h.marked) {
      free_histories_.push_back(i);
      continue;
    }
    for (uint32_t k = 0; k < h.size; ++k) named[h.entry[k].record] = true;
  }
  free_records_.clear();
  for (uint32_t i = 0; i < records_.size(); ++i)
    if (!named[i]) {
      records_[i] = {};
      free_records_.push_back(i);
    }
  // The pools grow when less than half of them could be freed.
  if (free_histories_.size() < histories_.size() / 2 || free_records_.size() < records_.size() / 2) limit_ *= 2;
}

uint32_t Touch::after(uint32_t handle, uint64_t address, uint16_t bytes) {
  bool placed = false;
  if (bytes != kWhole) return histories_.touched(handle, now_, record_, address, bytes, judge_, placed, unwritten_);
  Memo& m = memo_[handle % memo_.size()];
  if (m.before != handle) {
    const uint32_t next = histories_.touched(handle, now_, record_, address, bytes, judge_, placed, unwritten_);
    if (placed) return next;
    m = {handle, next};
  }
  return m.after;
}

void Touch::range(std::vector<uint32_t>& cells, uint64_t base, uint64_t address, uint64_t bytes) {
  uint64_t at = address - base;
  const uint64_t end = at + bytes;
  while (at < end) {
    const uint64_t cell = at / kCell, from = at % kCell, to = std::min(kCell, from + (end - at));
    if (cell >= cells.size()) return;
    const uint16_t mask = uint16_t((to == 16 ? 0xffffu : (1u << to) - 1) & ~((1u << from) - 1));
    uint32_t& handle = cells[cell];
    handle = after(handle, base + cell * kCell, mask);
    at += to - from;
  }
}

}  // namespace tinygpu::races
