#include "common/tinygpu/check/mbarrier_books.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/engines/tma/tensor_box.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu::checks {
namespace {

using ActKind = MbarrierAct::Kind;

/// "box 64 × 128".
std::string name_of(const TensorBox& box) {
  std::string text;
  for (uint32_t d = 0; d < box.map.rank; ++d) text += fmt::format("{}{}", d ? " × " : "box ", box.map.box[d]);
  return text;
}

}  // namespace

uint32_t MbarrierBooks::interests_in(const LaunchConfig& launch) const {
  if (!launch.program->uses(Program::mbarriers)) return 0;
  return launch.program->uses(Program::async_proxy) ? interests : interests & ~uint32_t(operations);
}

void MbarrierBooks::on_launch(const Launch& launch) {
  books_.clear(launch);
  boxes_.clear();
  boxes_.resize(launch.partitions().size());
}

void MbarrierBooks::on_cta(const Cta& cta, bool, uint64_t) { books_.close(cta); }

void MbarrierBooks::on_complete(const AsyncOperation& o) {
  if (!o.box) return;
  std::shared_ptr<const TensorBox>& last = boxes_[o.partition()][o.who.op];
  if (last != o.box) last = o.box;
}

void MbarrierBooks::note(Book& book, ActKind kind, const Sync& s) {
  const auto same = [&](const Act& a) {
    return a.kind == kind && a.who.op == s.who->op && a.who.cta == s.who->cta && a.who.warp == s.who->warp;
  };
  auto act = std::ranges::find_if(book.acts, same);
  if (act == book.acts.end()) act = book.acts.insert(act, Act{kind, *s.who, book.phase, 0, 0});
  const uint64_t phase = kind == ActKind::pass ? s.value : book.phase;
  const bool another = act->phase != phase || !act->amount;
  act->phase = phase;
  if (kind == ActKind::pass)
    act->amount += another;
  else
    act->amount = (another ? 0 : act->amount) + s.value;
  act->time = s.time;
}

MbarrierAct MbarrierBooks::told(const Act& a, const Boxes& boxes) const {
  const auto box = boxes.find(a.who.op);
  return {a.kind, a.who, a.phase, a.amount, a.time, box == boxes.end() ? "" : name_of(*box->second)};
}

std::vector<MbarrierAct> MbarrierBooks::acts_on(const Cta& cta, uint32_t offset) const {
  std::vector<MbarrierAct> out;
  const Books* books = books_.find(cta);
  const auto book = books ? books->find(offset) : Books::const_iterator{};
  if (!books || book == books->end()) return out;
  for (const Act& a : book->second.acts) out.push_back(told(a, boxes_[cta.cluster.partition.index]));
  return out;
}

void MbarrierBooks::tell_excess(const Book& book, const Sync& s, int64_t excess) const {
  uint64_t landed = 0;
  std::vector<LabelledPlace> places;
  // The copies first: one of them is the cause, or what names too little for them.
  for (const ActKind kind : {ActKind::complete_tx, ActKind::expect_tx})
    for (const Act& a : book.acts) {
      if (a.phase != book.phase || a.kind != kind) continue;
      const MbarrierAct act = told(a, boxes_[s.cta->cluster.partition.index]);
      if (kind == ActKind::complete_tx) landed += a.amount;
      places.push_back(
          {a.who.where(a.time), fmt::format("{} {} bytes{}", kind == ActKind::complete_tx ? "lands" : "expects",
                                            a.amount, act.what.empty() ? "" : " (" + act.what + ")")});
    }
  if (places.empty()) return;
  const LabelledPlace first = places.front();
  places.erase(places.begin());
  s.who->report(
      {.code = "mbarrier-tx-mismatch",
       .severity = Severity::warning,
       .message =
           fmt::format("phase {} of {} of CTA rank {} has all its arrivals, but {} bytes have landed and {} were "
                       "expected: the phase cannot end",
                       book.phase, mbarrier_name(*s.cta, s.offset), s.cta->rank, landed, int64_t(landed) - excess),
       .help =
           "let expect_tx name all bytes that land in the phase, before its last arrival: for a tensor copy the whole "
           "box; if the copies of a CTA pair signal one mbarrier, the bytes of both CTAs",
       .where = first.where,
       .label = first.label,
       .others = std::move(places)});
}

void MbarrierBooks::on_sync(const Sync& s) {
  using Kind = Sync::Kind;
  switch (s.kind) {
    case Kind::init: books_.of(*s.cta)[s.offset] = {}; return;
    case Kind::inval: books_.of(*s.cta).erase(s.offset); return;
    case Kind::phase: books_.of(*s.cta)[s.offset].phase = s.value + 1; return;
    case Kind::passed:
      if (s.who && s.value != ~0ull) note(books_.of(*s.cta)[s.offset], ActKind::pass, s);
      return;
    case Kind::arrive:
    case Kind::expect_tx:
    case Kind::complete_tx: break;
    default: return;
  }
  if (!s.who) return;
  Book& book = books_.of(*s.cta)[s.offset];
  note(book,
       s.kind == Kind::arrive      ? ActKind::arrive
       : s.kind == Kind::expect_tx ? ActKind::expect_tx
                                   : ActKind::complete_tx,
       s);
  if (s.kind == Kind::expect_tx) return;
  const auto object = s.cta->mbarriers.all().find(s.offset);
  if (object == s.cta->mbarriers.all().end() || object->second.pending || object->second.tx >= 0) return;
  tell_excess(book, s, -object->second.tx);
}

}  // namespace tinygpu::checks
