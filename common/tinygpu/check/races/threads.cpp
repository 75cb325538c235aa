#include "common/tinygpu/check/races/threads.h"

#include <algorithm>

namespace tinygpu::races {
namespace {

/// What a release hands to an acquire.
constexpr std::array kOrdered{happened, async_shared, async_global, nearly,    by_operation,
                              caused,   relied_on,    by_cluster,   by_meeting};

}  // namespace

bool Row::same(const Row& o) const {
  return sees == o.sees && tensor_out == o.tensor_out && tensor_received == o.tensor_received && fenced == o.fenced &&
         unfenced == o.unfenced && fence_scope == o.fence_scope && copies == o.copies;
}

Threads::Threads(Components& components, const Cta& c, uint32_t warp)
    : program(std::make_shared<LaneComponents>()),
      copies(std::make_shared<LaneComponents>()),
      index(warp),
      cta(c),
      components_(components),
      warp_(*c.warps[warp]) {
  program->whole = components.make();
  rows_.push_back({});
  rows_[0].lanes = ~0u;
}

template <class F>
void Threads::each_row(uint32_t lanes, F&& f) {
  const size_t n = rows_.size();
  for (size_t i = 0; i < n; ++i) {
    const uint32_t both = rows_[i].lanes & lanes;
    if (!both) continue;
    // Lanes that have exited need no row of their own.
    if (both != rows_[i].lanes && (rows_[i].lanes & ~lanes & (live() | lanes))) {
      Row rest = rows_[i];
      rest.lanes &= ~lanes;
      rows_[i].lanes = both;
      rows_.push_back(std::move(rest));
    }
    f(rows_[i]);
  }
}

void Threads::merge() {
  for (size_t i = 0; i + 1 < rows_.size(); ++i)
    for (size_t k = i + 1; k < rows_.size();)
      if (rows_[i].same(rows_[k])) {
        rows_[i].lanes |= rows_[k].lanes;
        rows_.erase(rows_.begin() + long(k));
      } else {
        ++k;
      }
}

const Row& Threads::row_of(int lane) const {
  for (const Row& r : rows_)
    if (lane < 0 || r.lanes >> lane & 1) return r;
  return rows_[0];
}

Component Threads::lane_component(LaneComponents& c, int lane) {
  Component& i = c.lane[size_t(lane)];
  if (!i) i = components_.make();
  return i;
}

/// What lanes of a row have done themselves. All live lanes together go on in one component.
std::vector<Step> Threads::own_steps(const Row& row, uint32_t lanes) {
  std::vector<Step> steps;
  lanes &= row.lanes;
  if ((lanes & live()) == live()) {
    steps.emplace_back(program->whole, now_);
    if (row.copies) steps.emplace_back(copies->whole, row.copies);
    return steps;
  }
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    steps.emplace_back(lane_component(*program, lane), now_);
    if (row.copies) steps.emplace_back(lane_component(*copies, lane), row.copies);
  }
  return steps;
}

Views Threads::release(uint32_t lanes, bool relaxed) {
  Views out;
  const bool all = (lanes & live()) == live();
  Epoch least_copies = ~0u;
  for (const Row& r : rows_) {
    if (!(r.lanes & lanes)) continue;
    Views mine;
    mine.of[tensor] = r.tensor_out;
    mine.of[tensor].join(r.tensor_received);
    mine.of[tensor].join(r.sees.of[tensor]);
    mine.of[initialised] = r.sees.of[initialised];
    Sight known = r.sees.of[happened];
    if (!all || rows_.size() == 1) known.here = advanced(known.here, own_steps(r, lanes));
    if (r.lanes & live()) least_copies = std::min(least_copies, r.copies);
    if (relaxed) {
      if (r.fenced)
        for (const View v : {happened, async_shared, async_global}) mine.of[v] = r.fenced->of[v];
      mine.of[nearly] = std::move(known);
    } else {
      mine.of[happened] = std::move(known);
      for (const View v : kOrdered)
        if (v != happened) mine.of[v] = r.sees.of[v];
    }
    out.join(mine);
  }
  if (all && rows_.size() > 1) {
    std::vector<Step> steps{{program->whole, now_}};
    if (copies->whole && least_copies != ~0u) steps.emplace_back(copies->whole, least_copies);
    ClockRef& c = out.of[relaxed ? nearly : happened].here;
    c = advanced(c, steps);
  }
  ++now_;
  return out;
}

void Threads::acquire(uint32_t lanes, const Views& from, Strength strength) {
  each_row(lanes, [&](Row& r) {
    r.tensor_received.join(from.of[tensor]);
    // What has come back from others need not be sent again as one's own.
    Sight both = r.tensor_received;
    both.join(r.tensor_out);
    if (both == r.tensor_received) r.tensor_out = {};
    r.sees.of[initialised].join(from.of[initialised]);
    if (strength == Strength::full) {
      for (const View v : kOrdered) r.sees.of[v].join(from.of[v]);
      return;
    }
    if (strength == Strength::unnamed) {
      for (const View v : {relied_on, by_meeting}) r.sees.of[v].join(from.of[happened]);
      for (const View v : kOrdered)
        if (v != happened) r.sees.of[v].join(from.of[v]);
      return;
    }
    for (const View v : {happened, nearly, by_operation, relied_on, by_meeting}) r.sees.of[nearly].join(from.of[v]);
    if (strength != Strength::relaxed) return;
    auto more = r.unfenced ? std::make_shared<Views>(*r.unfenced) : std::make_shared<Views>();
    more->join(from);
    if (!r.unfenced || !(*more == *r.unfenced)) r.unfenced = std::move(more);
  });
  merge();
}

void Threads::learn(uint32_t lanes, const std::vector<Step>& steps) {
  each_row(lanes, [&](Row& r) { r.sees.of[happened].here = advanced(r.sees.of[happened].here, steps); });
  merge();
}

void Threads::met(uint32_t lanes) {
  if ((lanes & live() & (lanes - 1)) == 0 && rows_.size() == 1 && (live() & (live() - 1)) == 0) return;
  const Views all = release(lanes);
  acquire(lanes, all);
}

Views Threads::met_at_instruction() {
  Views done;
  if ((live() & (live() - 1)) == 0) return done;
  for (const Row& r : rows_) {
    if (!(r.lanes & live())) continue;
    Sight now = r.sees.of[happened];
    now.here = advanced(now.here, own_steps(r, r.lanes & live()));
    done.of[by_meeting].join(now);
    for (const View v : {async_shared, async_global}) done.of[v].join(r.sees.of[v]);
  }
  for (Row& r : rows_) r.sees.of[by_meeting].join(done.of[by_meeting]);
  ++now_;
  return done;
}

void Threads::met_others(const Views& done) {
  for (Row& r : rows_)
    for (const View v : {by_meeting, async_shared, async_global}) r.sees.of[v].join(done.of[v]);
}

void Threads::async_fence(uint32_t lanes, bool shared, bool global) {
  each_row(lanes, [&](Row& r) {
    Sight now = r.sees.of[happened];
    now.here = advanced(now.here, own_steps(r, lanes));
    if (shared) r.sees.of[async_shared].join(now);
    if (global) r.sees.of[async_global].join(now);
  });
  merge();
  ++now_;
}

void Threads::fence(uint32_t lanes, const ptx::MemoryOrder& order, Sight* sequential) {
  each_row(lanes, [&](Row& r) {
    if (order.acquires() && r.unfenced) {
      for (const View v : kOrdered) r.sees.of[v].join(r.unfenced->of[v]);
      r.unfenced = nullptr;
    }
    if (sequential) r.sees.of[happened].join(*sequential);
    if (!order.releases() && !sequential) return;
    Views now = r.sees;
    now.of[happened].here = advanced(now.of[happened].here, own_steps(r, lanes));
    if (sequential) sequential->join(now.of[happened]);
    r.fenced = std::make_shared<const Views>(std::move(now));
    r.fence_scope = order.scope;
  });
  merge();
  ++now_;
}

void Threads::init_fence(uint32_t lanes) {
  each_row(lanes, [&](Row& r) {
    Sight now = r.sees.of[happened];
    now.here = advanced(now.here, own_steps(r, lanes));
    r.sees.of[initialised].join(now);
  });
  merge();
  ++now_;
}

void Threads::tensor_before(uint32_t lanes) {
  each_row(lanes, [&](Row& r) {
    Sight now = r.sees.of[happened];
    std::vector<Step> steps = own_steps(r, lanes);
    for (const Counter& c : counters_) {
      const int lane = int(c.key & 63) - 1;
      if (Channel(c.key >> 8) == Channel::tensor_issued && lane >= 0 && (r.lanes & lanes) >> lane & 1)
        steps.emplace_back(c.component, c.count);
    }
    now.here = advanced(now.here, steps);
    r.tensor_out.join(now);
    r.tensor_out.join(r.sees.of[tensor]);
  });
  merge();
  ++now_;
}

void Threads::tensor_after(uint32_t lanes) {
  each_row(lanes, [&](Row& r) { r.sees.of[tensor].join(r.tensor_received); });
  merge();
}

Views Threads::fork(uint32_t lanes, Epoch& now) {
  now = now_++;
  return row_of(__builtin_ctz(lanes)).sees;
}

Threads::Counter& Threads::counter(Channel kind, int lane, uint32_t group) {
  const uint32_t key = uint32_t(kind) << 8 | group << 6 | uint32_t(lane + 1);
  for (Counter& c : counters_)
    if (c.key == key) return c;
  return counters_.emplace_back(Counter{key, components_.make(), 0});
}

Component Threads::channel(Channel kind, int lane, uint32_t group) { return counter(kind, lane, group).component; }
Epoch& Threads::count(Channel kind, int lane, uint32_t group) { return counter(kind, lane, group).count; }

void Threads::copies_waited(uint32_t lanes, uint64_t pending, bool all) {
  if (!copies->whole) copies->whole = components_.make();
  // Lanes with the same groups at once: mostly all of them.
  for (uint32_t left = lanes; left;) {
    const uint32_t lane = left & -left;
    uint32_t same = left;
    uint64_t behind = 0;
    Epoch through = all ? copies_issued : 0;
    bool any = false;
    for (auto g = copy_groups.rbegin(); g != copy_groups.rend(); ++g) {
      if (!(g->lanes & lane)) {
        same &= ~g->lanes;
        continue;
      }
      any = true;
      same &= g->lanes;
      if (!all && behind++ == pending) {
        through = g->through;
        break;
      }
    }
    same |= lane;
    left &= ~same;
    if (!any) through = copies_issued;  // they have none
    each_row(same, [&](Row& r) { r.copies = std::max(r.copies, through); });
  }
  merge();
}

void Threads::bulk_commit(uint32_t lanes) {
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    auto& groups = bulk_groups[size_t(lane)];
    groups.push_back({count(Channel::bulk_read, lane), count(Channel::bulk_write, lane)});
    if (groups.size() > 256) groups.pop_front();
  }
}

void Threads::bulk_waited(uint32_t lanes, uint64_t pending, bool only_read) {
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    const auto& groups = bulk_groups[size_t(lane)];
    if (groups.size() <= pending) continue;
    const BulkGroup& g = groups[groups.size() - 1 - size_t(pending)];
    if (!g.reads && !g.writes) continue;
    std::vector<Step> steps{{channel(Channel::bulk_read, lane), g.reads}};
    if (!only_read) steps.emplace_back(channel(Channel::bulk_write, lane), g.writes);
    learn(1u << lane, steps);
  }
}

}  // namespace tinygpu::races
