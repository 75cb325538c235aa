#include "common/tinygpu/machine/warp/group.h"

#include <algorithm>
#include <tuple>

namespace tinygpu {
namespace {

bool same_place(const Group& a, const Group& b) {
  if (a.pc != b.pc || a.function != b.function || a.register_base != b.register_base || a.local_base != b.local_base ||
      a.stack.size() != b.stack.size())
    return false;
  for (size_t i = 0; i < a.stack.size(); ++i)
    if (a.stack[i].function != b.stack[i].function || a.stack[i].return_pc != b.stack[i].return_pc) return false;
  return true;
}

}  // namespace

Groups::Groups(uint32_t live_mask) {
  all_.reserve(4);
  all_.push_back({});
  all_[0].mask = live_mask;
}

uint64_t Groups::next_time() const {
  uint64_t earliest = ~0ull;
  for (const Group& g : all_) earliest = std::min(earliest, g.next_time());
  return earliest;
}

bool Groups::pick(uint64_t time) {
  for (Group& g : all_)
    if (g.state == Group::State::blocked && g.timeout <= time) {
      g.timed_out = true;
      g.release(g.timeout);
    }
  if (all_.size() > 1) merge();
  size_t best = all_.size();
  for (size_t i = 0; i < all_.size(); ++i) {
    const Group& g = all_[i];
    if (g.state != Group::State::runnable || g.wake > time) continue;
    const auto key = [](const Group& x) { return std::make_tuple(x.penalty, ~x.stack.size(), x.pc); };
    if (best == all_.size() || key(g) < key(all_[best])) best = i;
  }
  if (best == all_.size()) return false;
  current_ = best;
  return true;
}

void Groups::merge() {
  for (size_t i = 0; i < all_.size(); ++i)
    for (size_t k = i + 1; k < all_.size();) {
      Group& a = all_[i];
      Group& b = all_[k];
      if (a.state == Group::State::runnable && b.state == Group::State::runnable && !a.timed_out && !b.timed_out &&
          same_place(a, b)) {
        a.mask |= b.mask;
        a.wake = std::max(a.wake, b.wake);
        a.spins = a.penalty = 0;
        all_.erase(all_.begin() + long(k));
      } else {
        ++k;
      }
    }
}

Group& Groups::split(uint32_t lanes, uint32_t pc) {
  Group other = all_[current_];
  all_[current_].mask &= ~lanes;
  other.mask = lanes;
  other.pc = pc;
  other.spins = 0;
  all_.push_back(std::move(other));
  return all_.back();
}

bool Groups::gather() {
  Group& g = all_[current_];
  for (size_t i = 0; i < all_.size(); ++i) {
    Group& o = all_[i];
    if (i == current_ || o.state != Group::State::blocked || o.reason.kind != BlockReason::Kind::converge ||
        !same_place(g, o))
      continue;
    o.state = Group::State::runnable;
    o.wake = 0;
  }
  const uint32_t before = g.mask;
  merge();
  for (size_t i = 0; i < all_.size(); ++i)
    if (all_[i].mask & before) current_ = i;
  return all_[current_].mask != before;
}

void Groups::drop_empty() {
  std::erase_if(all_, [](const Group& g) { return g.mask == 0; });
  current_ = 0;
}

}  // namespace tinygpu
