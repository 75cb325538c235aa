// Tensor Memory (PTX ISA 9.7.16.6): operations end for a thread when it has waited for them; tcgen05.fence orders their
// issue across threads, which is enough for pairs that the tensor core executes in the order of issue.
#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/base/relied_on.h"
#include "common/tinygpu/check/races/races.h"

namespace tinygpu::races {
namespace {

using Kind = AsyncOperation::Kind;

constexpr const char *kAlloc = "tcgen05.alloc", *kDealloc = "tcgen05.dealloc";
constexpr size_t kMostEntries = 1024;  // of an SM; the oldest go first

bool on_tensor_core(Kind k) { return k == Kind::mma || k == Kind::tmem_copy || k == Kind::tmem_shift; }

bool covers(const TmemRect& a, const TmemRect& b) {
  return a.lane <= b.lane && a.lane + a.lanes >= b.lane + b.lanes && a.column <= b.column &&
         a.column + a.columns >= b.column + b.columns;
}

/// The pairs that execute in the order of issue (9.7.16.6.2).
bool pipelined(const TensorEntry& first, const TensorEntry& second) {
  if (first.pair != second.pair) return false;
  if (second.kind == Kind::mma) {
    if (first.kind == Kind::mma) return first.mma && first.mma == second.mma;
    return first.kind == Kind::tmem_copy || first.kind == Kind::tmem_shift;
  }
  if (second.kind == Kind::tmem_shift) return first.kind == Kind::mma;
  return second.kind == Kind::tmem_copy && second.four_rows && first.kind == Kind::tmem_shift;
}

std::string cells_of(const TmemRect& r) {
  return fmt::format("lanes {} to {}, columns {} to {}", r.lane, r.lane + r.lanes - 1, r.column,
                     r.column + r.columns - 1);
}

TmemRect common(const TmemRect& a, const TmemRect& b) {
  TmemRect r;
  r.lane = std::max(a.lane, b.lane);
  r.column = std::max(a.column, b.column);
  r.lanes = std::min(a.lane + a.lanes, b.lane + b.lanes) - r.lane;
  r.columns = std::min(a.column + a.columns, b.column + b.columns) - r.column;
  return r;
}

struct Fix {
  const char* help;
  const char* example;
};

Fix wait_for(Kind kind) {
  switch (kind) {
    case Kind::tmem_load:
      return {"put tcgen05.wait::ld after the load, before another thread uses the cells",
              "tcgen05.wait::ld.sync.aligned;  tcgen05.fence::before_thread_sync;\n"
              "mbarrier.arrive.shared::cta.b64 _, [empty];"};
    case Kind::tmem_store:
      return {"put tcgen05.wait::st after the store, before another thread uses the cells",
              "tcgen05.wait::st.sync.aligned;  tcgen05.fence::before_thread_sync;  bar.sync 0;"};
    default:
      return {"wait on the mbarrier of a tcgen05.commit after the operation, then fence",
              "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
              "L: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], parity;  @!p bra L;\n"
              "tcgen05.fence::after_thread_sync;"};
  }
}

const char* verb_of(bool writes, std::string_view what) {
  if (what == kAlloc) return "takes";
  return what == kDealloc ? "frees" : writes ? "writes" : "reads";
}

constexpr Fix kFences{
    "put tcgen05.fence::before_thread_sync before the arrive or barrier of the earlier thread, and "
    "tcgen05.fence::after_thread_sync after the wait of the later thread",
    "tcgen05.fence::before_thread_sync;  bar.sync 0;  tcgen05.fence::after_thread_sync;"};

/// A diagnosis of an access `what` of `who` to cells that `e` has touched.
void tell(const char* code, Severity severity, const TensorEntry& e, const Origin& who, uint64_t time, const char* what,
          bool writes, const TmemRect& cells, const char* reason, const ReliedOn* relied_on, const Fix& fix) {
  Diagnosis d;
  d.code = code;
  d.severity = severity;
  const char *verb = verb_of(writes, what), *earlier = verb_of(e.writes, e.what);
  d.message = fmt::format("{} {} cells of Tensor Memory ({}) that {} {}: {}", what, verb, cells_of(cells), e.what,
                          earlier, reason);
  if (relied_on) d.message += relied_on->said();
  d.where = who.where(time);
  d.label = fmt::format("{} {}", verb, cells_of(cells));
  d.others.push_back(place_of(e.done, fmt::format("the same cells: the earlier operation {} them", earlier)));
  d.help = fix.help;
  d.example = fix.example;
  who.report(std::move(d));
}

struct Judged {
  const char* code;
  Severity severity;
  const ReliedOn* relied_on = nullptr;
};

/// What known kernels copy over behind an MMA that reads it: scale factors, metadata.
bool copied_over(const TensorEntry& e) { return std::string_view(e.what) != "A of tcgen05.mma"; }

/// An operation without a wait behind it, and what comes upon it; null: tcgen05.dealloc. `used`: of a load, its
/// registers have been waited for.
Judged judged(const TensorEntry& e, const TensorEntry* later, bool used) {
  if (later && on_tensor_core(later->kind) && on_tensor_core(e.kind)) {
    if (later->kind == Kind::mma && e.kind == Kind::mma) return {"tmem-unordered", Severity::warning, &kMmaOrder};
    if (later->kind == Kind::tmem_copy && e.kind == Kind::mma && !e.writes)
      return {"tmem-unordered", copied_over(e) ? Severity::note : Severity::warning, &kCopyOverOperand};
    return {"tmem-unordered", Severity::error};
  }
  if (e.kind == Kind::tmem_load) {
    if (!later || used) return {"tmem-load-not-waited", Severity::warning, &kLoadsAtDealloc};
    return {"tmem-load-not-waited", Severity::error};
  }
  if (e.kind == Kind::tmem_store) return {"tmem-not-complete", Severity::warning, &kStorePublished};
  return {"tmem-not-complete", Severity::error};
}

void tell_unfinished(const TensorEntry& e, const Origin& who, uint64_t time, const char* what, bool writes,
                     const TmemRect& cells, const TensorEntry* later, bool used = false) {
  const Judged j = judged(e, later, used);
  tell(j.code, j.severity, e, who, time, what, writes, cells, "no wait for that operation lies between", j.relied_on,
       wait_for(e.kind));
}

void tell_unfenced(const TensorEntry& e, const AsyncOperation& o, const AsyncOperation::TensorUse& use,
                   const TmemRect& cells) {
  tell("tmem-fence-missing", Severity::warning, e, o.who, o.issued, use.what, use.writes, cells,
       "tcgen05.fence does not stand on both sides of their synchronisation", &kTensorFences, kFences);
}

/// Where the one side is tcgen05.alloc or .dealloc: they are synchronous, and nothing is known to go wrong.
void tell_unfenced_columns(const TensorEntry& e, const Origin& who, uint64_t time, const char* what, bool writes,
                           const TmemRect& cells) {
  tell("tmem-fence-missing", Severity::note, e, who, time, what, writes, cells,
       "tcgen05.fence does not stand on both sides of their synchronisation", nullptr, kFences);
}

bool seen(const Record& r, const Actor& by, View view) {
  return !not_seen(r, r.map.lanes, by, r.map.lanes & (r.map.lanes - 1) ? 0 : r.map.lanes, view);
}

/// Over, or it would be if scopes were wider or nothing were relaxed.
bool known(const Record& r, const Actor& by) {
  for (const View view : {happened, nearly, by_operation, relied_on, by_meeting})
    if (seen(r, by, view)) return true;
  return false;
}

/// Registers of the load have been waited for.
bool used_by(const TensorEntry& e, const Actor& by) {
  for (const View view : {happened, nearly, by_operation, relied_on, by_meeting})
    if (epoch_of(by.sees->of[view].of(by.cluster, e.done.cluster), e.used) >= e.done.epoch) return true;
  return false;
}

/// What is kept of an operation; its cells come later.
TensorEntry entry_of(const AsyncOperation& o, const Operation& op, uint64_t cluster, const Facts& facts) {
  TensorEntry now;
  now.kind = o.kind;
  now.mma = o.pipeline;
  now.pair = facts.pair;
  now.four_rows = facts.four_rows;
  now.warp = o.who.warp;
  now.done.who = o.who;
  now.done.cluster = cluster;
  now.done.component = op.writes;
  now.done.epoch = op.written;
  now.done.operation = true;
  now.done.time = o.issued;
  now.issued = now.done;
  now.issued.component = op.threads->program->whole;
  now.issued.epoch = op.now;
  now.issued.lane_components = op.threads->program;
  now.issued.map.lanes = op.lanes;
  if (on_tensor_core(o.kind)) {
    now.order = const_cast<Threads*>(op.threads)->channel(Threads::Channel::tensor_issued, o.who.lane, facts.pair);
    now.order_epoch = op.written;
  }
  if (o.kind == Kind::tmem_load) now.used = const_cast<Threads*>(op.threads)->channel(Threads::Channel::tmem_used, -1);
  return now;
}

/// Scales that an MMA has read since the copy `e`: that MMA is what the later copy `now` must come behind.
bool read_since(const TensorEntry& e, const TensorEntry& now, const std::vector<TensorEntry>& entries,
                const TmemRect& cells) {
  if (now.kind != Kind::tmem_copy || e.kind != Kind::tmem_copy || e.order != now.order) return false;
  return std::ranges::any_of(entries, [&](const TensorEntry& m) {
    return m.kind == Kind::mma && !m.writes && m.order == now.order && m.order_epoch > e.order_epoch &&
           m.cells.overlaps(cells);
  });
}

/// Whether `now` takes the place of `e` in the list.
bool replaces(const TensorEntry& now, const TensorEntry& e, const Actor& by) {
  if (!covers(now.cells, e.cells) || (e.writes && !now.writes)) return false;
  // A later one who knows this one to be over knows that one to be over, too.
  if (e.done.component == now.done.component && e.order == now.order)
    return e.mma == now.mma && e.kind == now.kind && e.writes == now.writes;
  return now.writes && seen(e.done, by, happened);
}

}  // namespace

/// An operation beside those before it, and beside allocations, at the cells that it uses.
class Races::TensorUse {
 public:
  TensorUse(Races& races, PartitionState& d, const AsyncOperation& o, const Operation& op)
      : races_(races),
        d_(d),
        o_(o),
        op_(op),
        now_(entry_of(o, op, op.cluster->number, d.facts.of(o.who))),
        by_{op.cluster->number, op.threads, op.lanes, op.now, op.copies, &op.sees} {}

  void look_at_all() {
    find_predecessors();
    for (const auto& use : o_.cells) look_at_columns(use);
    for (const auto& use : o_.cells) {
      now_.cells = use.cells;
      now_.writes = use.writes;
      now_.what = use.what;
      std::vector<TensorEntry>& entries = d_.tensor[use.sm];
      for (const TensorEntry& e : entries) look_at(e, use, entries);
      std::erase_if(entries, [&](const TensorEntry& e) { return !is_own(e) && replaces(now_, e, by_); });
      if (entries.size() >= kMostEntries) entries.erase(entries.begin());
      entries.push_back(now_);
    }
  }

 private:
  bool is_own(const TensorEntry& e) const { return e.done.who.operation == o_.id; }
  bool same_warp(const TensorEntry& e) const { return e.issued.lane_components == op_.threads->program; }
  Epoch ordered(Component of) const { return epoch_of(op_.sees.of[tensor].here, of); }
  /// Issued one behind the other, and so executed.
  bool directly(const TensorEntry& e) const {
    return pipelined(e, now_) &&
           ((same_warp(e) && e.done.who.lane == o_.who.lane) || ordered(e.order) >= e.order_epoch);
  }
  bool behind_predecessor(const TensorEntry& e) const {
    const auto earlier = before_.find(e.pipeline());
    return earlier != before_.end() && earlier->second >= e.order_epoch;
  }

  void find_predecessors() {
    const auto reach = [&](const TensorPipeline& of, Epoch epoch) { before_[of] = std::max(before_[of], epoch); };
    for (const auto& use : o_.cells)
      for (const TensorEntry& e : d_.tensor[use.sm]) {
        if (is_own(e) || !e.cells.overlaps(use.cells) || !directly(e)) continue;
        reach(e.pipeline(), e.order_epoch);
        if (e.before)
          for (const auto& [pipeline, epoch] : *e.before) reach(pipeline, epoch);
      }
    if (!before_.empty()) now_.before = std::make_shared<const Predecessors>(before_);
  }

  void look_at_columns(const AsyncOperation::TensorUse& use) {
    for (const TakenColumns& t : d_.taken[use.sm]) {
      if (t.by.lane_components == op_.threads->program || !t.cells.overlaps(use.cells) || seen(t.by, by_, tensor) ||
          !races_.first("alloc", t.by.who.op))
        continue;
      TensorEntry e;
      e.what = kAlloc;
      e.done = t.by;
      tell_unfenced_columns(e, o_.who, o_.issued, use.what, use.writes, common(t.cells, use.cells));
    }
  }

  void look_at(const TensorEntry& e, const AsyncOperation::TensorUse& use, const std::vector<TensorEntry>& entries) {
    if (!(e.writes || now_.writes) || !e.cells.overlaps(now_.cells) || is_own(e)) return;
    const bool fenced = ordered(e.done.component) >= e.done.epoch;
    if (fenced || directly(e) || behind_predecessor(e)) return;
    // A scope that is too narrow does not matter between the fences of tcgen05, and without them it is their lack
    // that is told.
    const bool over = known(e.done, by_);
    // One's own wait::ld or wait::st is enough; and so is the use of what has been loaded (9.7.16.6.4.5).
    if (over && same_warp(e) && !on_tensor_core(e.kind)) return;
    const bool used = e.used && used_by(e, by_);
    if (used && same_warp(e)) return;
    const TmemRect both = common(e.cells, now_.cells);
    if (!read_since(e, now_, entries, both)) tell_unordered(e, use, both, over, used);
  }

  void tell_unordered(const TensorEntry& e, const AsyncOperation::TensorUse& use, const TmemRect& both, bool over,
                      bool used) {
    const bool follows = pipelined(e, now_);
    if (over || (follows && known(e.issued, by_))) {
      if (!unfenced_ && races_.is_news(e.done.who.op, o_.who.op)) tell_unfenced(e, o_, use, both);
      unfenced_ = true;
    } else if (follows) {
      tell("data-race", Severity::error, e, o_.who, o_.issued, use.what, use.writes, both, "nothing orders the two",
           nullptr, kFences);
    } else {
      const bool kept = e.kind == Kind::mma && !e.writes && now_.kind == Kind::tmem_copy && copied_over(e);
      if (!kept || races_.first("copy over operand", nullptr))
        tell_unfinished(e, o_.who, o_.issued, use.what, now_.writes, both, &now_, used);
    }
  }

  Races& races_;
  PartitionState& d_;
  const AsyncOperation& o_;
  const Operation& op_;
  TensorEntry now_;  // what is kept of it; the cells are those of one use after the other
  const Actor by_;
  Predecessors before_;
  bool unfenced_ = false;  // a lack of fences has been told
};

void Races::tensor_use(PartitionState& d, const AsyncOperation& o, const Operation& op) {
  TensorUse(*this, d, o, op).look_at_all();
}

void Races::on_tensor_allocation(const TmemAllocation& a) {
  PartitionState& d = of(a.partition);
  std::vector<TensorEntry>& entries = d.tensor[a.sm];
  std::vector<TakenColumns>& taken = d.taken[a.sm];
  std::shared_ptr<ClusterState> c;
  Threads* const t = d.find(a.who, c);
  if (t && !a.taken) {
    const Row& row = t->row_of(-1);
    const Actor by{c->number, t, ~0u, t->now(), row.copies, &row.sees};
    const ClockRef& ordered = row.sees.of[tensor].here;
    for (const TensorEntry& e : entries) {
      if (!e.cells.overlaps(a.cells) || epoch_of(ordered, e.done.component) >= e.done.epoch) continue;
      const TmemRect both = common(e.cells, a.cells);
      if (!known(e.done, by)) {
        if (e.issued.lane_components == t->program || known(e.issued, by))
          tell_unfinished(e, a.who, a.time, kDealloc, true, both, nullptr);
        else
          tell("data-race", Severity::error, e, a.who, a.time, kDealloc, true, both, "nothing orders the two", nullptr,
               kFences);
        break;
      }
      if (e.issued.lane_components != t->program && first("dealloc", a.who.op))
        tell_unfenced_columns(e, a.who, a.time, kDealloc, true, both);
    }
  }
  std::erase_if(entries, [&](const TensorEntry& e) { return e.cells.overlaps(a.cells); });
  std::erase_if(taken, [&](const TakenColumns& e) { return e.cells.overlaps(a.cells); });
  if (!t || !a.taken) return;
  Record by;
  by.who = a.who;
  by.cluster = c->number;
  by.component = t->program->whole;
  by.epoch = t->now();
  by.lane_components = t->program;
  by.map.lanes = t->live() & -t->live();
  by.time = a.time;
  taken.push_back({a.cells, std::move(by)});
}

}  // namespace tinygpu::races
