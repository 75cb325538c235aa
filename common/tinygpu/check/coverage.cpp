#include "common/tinygpu/check/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu::checks {
namespace {

using Kind = AsyncOperation::Kind;

/// Remembers a place once.
template <class Brought, class Place>
void bring(Brought& b, const Origin& who, uint64_t time, const Place& place) {
  if (b.used) return;
  if (b.places.empty()) {
    b.who = who;
    b.time = time;
  }
  if (std::ranges::find(b.places, place) == b.places.end()) b.places.push_back(place);
}

template <class All, class Meets>
void use(All& all, Meets&& meets) {
  for (auto& [op, b] : all)
    if (!b.used && std::ranges::any_of(b.places, meets)) {
      b.used = true;
      b.places.clear();
    }
}

}  // namespace

void Coverage::on_launch(const Launch& launch) {
  first_ = launch.config.cluster;
  copies_.clear();
  products_.clear();
  mbarriers_.clear();
  rounds_.clear();
  delayable_.clear();
  cancel_ = {};
  granted_ = false;
}

void Coverage::note_delayable(const Origin& who) {
  if (!who.op) return;
  {
    const std::lock_guard lock(delayable_mutex_);
    if (!delayable_.insert(who.op).second) return;
  }
  const Where where = who.where();
  const std::lock_guard lock(kernels_->mutex);
  kernels_->delayable.try_emplace({where.cuda_file, where.cuda_file.empty() ? where.ptx_line : where.cuda_line}, where);
}

void Coverage::on_issue(const AsyncOperation& o) {
  note_delayable(o.who);
  if (!followed(o.who.cta)) return;
  if (o.kind == Kind::cancel) {
    granted_ |= o.who.launch->dispatcher.left() > 0;
    if (!cancel_.launch) cancel_ = o.who;
  }
  if (o.kind == Kind::bulk_load || o.kind == Kind::tensor_load)
    for (const auto& u : o.shared_uses)
      for (const auto& r : u.ranges)
        if (u.writes) bring(copies_[o.who.op], o.who, o.issued, Bytes{u.cta, r.offset, uint64_t(r.offset) + r.bytes});
  for (const auto& c : o.cells)
    if (o.kind == Kind::mma && c.writes)
      bring(products_[o.who.op], o.who, o.issued, Cells{c.sm, c.cells});
    else if (!c.writes)
      use(products_, [&](const Cells& p) { return p.sm == c.sm && p.rect.overlaps(c.cells); });
}

void Coverage::on_access(const MemoryAccess& a) {
  if (a.kind == AccessKind::write || !followed(a.cta->key)) return;
  if (std::ranges::all_of(copies_, [](const auto& c) { return c.second.used; })) return;
  a.each([&](uint64_t at, uint64_t bytes, int) {
    use(copies_, [&](const Bytes& p) { return p.cta == a.cta && at < p.high && p.low < at + bytes; });
  });
}

void Coverage::on_sync(const Sync& s) {
  // A wait for an mbarrier may give up early, an arrive at another CTA's is under way.
  if ((s.kind == Sync::Kind::passed || s.kind == Sync::Kind::sent) && s.who) note_delayable(*s.who);
  if (!followed(s.cta->key)) return;
  if (s.kind == Sync::Kind::complete_tx) mbarriers_[{s.cta, s.offset}].bytes = true;
  if (s.kind == Sync::Kind::phase) ++mbarriers_[{s.cta, s.offset}].phases;
  if (s.kind == Sync::Kind::barrier_arrive && s.offset) rounds_[{s.cta, s.offset}].now[s.who->warp] = *s.who;
  if (s.kind == Sync::Kind::barrier && s.offset) end_round(rounds_[{s.cta, s.offset}], s.offset);
}

/// Two groups of warps with one barrier: sooner or later some of both make a round, and the others go on too early.
void Coverage::end_round(Rounds& rounds, uint32_t barrier) {
  const std::map<int, Origin> now = std::exchange(rounds.now, {});
  if (rounds.first.empty()) rounds.first = now;
  const auto in = [](const auto& all) { return [&](const auto& w) { return all.contains(w.first); }; };
  const auto stranger = std::ranges::find_if_not(now, in(rounds.first));
  if (rounds.told || stranger == now.end() || std::ranges::none_of(now, in(rounds.first))) return;
  rounds.told = true;
  const auto names = [](const auto& all) {
    std::string text;
    for (const auto& [warp, who] : all) text += fmt::format("{}{}", text.empty() ? "" : ", ", warp);
    return text;
  };
  stranger->second.report(
      {.code = "barrier-shared",
       .severity = Severity::note,
       .message = fmt::format("warps {1} made this round of barrier {0}, warps {2} an earlier round: two groups may "
                              "use one barrier",
                              barrier, names(now), names(rounds.first)),
       .help = "give each group of warps a barrier of its own",
       .where = stranger->second.where(),
       .label = "in this round, and not in the first",
       .others = {{rounds.first.begin()->second.where(), "in the first round"}}});
}

void Coverage::note_shape(const Launch& launch) {
  const uint64_t ctas = launch.config.grid.count(), room = uint64_t(launch.fit().blocks_per_sm) * launch.gpu.spec.sms;
  const std::lock_guard lock(kernels_->mutex);
  Shape& shape = kernels_->shapes[launch.config.kernel->name];
  shape.one_cta &= ctas == 1;
  shape.at_once &= ctas <= room;
  for (const auto& [at, m] : mbarriers_) {
    shape.bytes |= m.bytes;
    shape.again |= m.bytes && m.phases > 1;
  }
}

std::vector<Diagnosis> Coverage::shapes() const {
  std::vector<Diagnosis> out;
  const std::lock_guard lock(kernels_->mutex);
  for (const auto& [kernel, shape] : kernels_->shapes) {
    const auto add = [&, &name = kernel](bool holds, const char* text) {
      if (!holds) return;
      out.push_back({.code = "check-coverage", .severity = Severity::note, .message = text});
      out.back().where.kernel = name;
    };
    add(shape.one_cta, "every grid is one CTA: nothing happens between CTAs");
    add(!shape.one_cta && shape.at_once,
        "every grid fits on the chip at once: no CTA takes the place of another one, and no request for work is "
        "granted");
    add(shape.bytes && !shape.again, "no mbarrier counts bytes in a second phase: no stage is filled twice");
  }
  if (!kernels_->delayable.empty()) {
    out.push_back(
        {.code = "delayable-lines",
         .severity = Severity::note,
         .message = fmt::format("orders of completion move effects of {} lines", kernels_->delayable.size())});
    for (const auto& [place, where] : kernels_->delayable) out.back().others.push_back({where, ""});
  }
  return out;
}

void Coverage::on_end(const Launch& launch, const LaunchStats* stats) {
  if (!stats) return;  // a fault has ended it
  note_shape(launch);
  for (const auto& [op, c] : copies_)
    if (!c.used)
      c.who.report({.code = "copy-unread",
                    .severity = Severity::note,
                    .message = fmt::format("nothing reads the {} bytes that this copy loads to shared memory at {:#x}",
                                           c.places[0].high - c.places[0].low, c.places[0].low),
                    .help = "leave the copy out, or check whether its reader uses another stage",
                    .where = c.who.where(c.time),
                    .label = "loads bytes that nothing reads"});
  for (const auto& [op, p] : products_)
    if (!p.used)
      p.who.report({.code = "accumulator-unread",
                    .severity = Severity::note,
                    .message = fmt::format("nothing loads the accumulator at column {} of Tensor Memory that this MMA "
                                           "writes",
                                           p.places[0].rect.column),
                    .help = "load the accumulator, or check whether the epilogue loads other columns",
                    .where = p.who.where(p.time),
                    .label = "writes what nothing loads"});
  if (cancel_.launch && !granted_)
    cancel_.report({.code = "clc-always-refused",
                    .severity = Severity::note,
                    .message = "the chip had handed out the whole grid before the first request: all requests are "
                               "refused, and the code for a granted request has not run",
                    .help = "check a grid that does not fit on the chip at once",
                    .label = "requests a cluster when none is left"});
}

}  // namespace tinygpu::checks
