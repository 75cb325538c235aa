#include "common/tinygpu/machine/memory/requests.h"

#include <algorithm>
#include <span>
#include <utility>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/loads_on_their_way.h"

namespace tinygpu {
namespace {

constexpr size_t kPart = 8;  // lines of a bulk copy that are served together: 1 KiB, which an engine moves in 10 cycles

}  // namespace

void MemoryRequests::add_lines(uint64_t first, uint64_t last, uint64_t address, uint64_t bytes, uint16_t at) {
  const uint64_t end = (address + bytes - 1) / kSectorBytes + 1;
  uint64_t sector = address / kSectorBytes;
  for (uint64_t line = first; line < last; ++line) {
    const uint64_t next = std::min(end, behind_line(sector));
    const uint8_t sectors = uint8_t(next - sector);
    sector = next;
    if (lines_.size() > first_ && lines_.back().line == line)
      lines_.back().sectors = uint8_t(std::min<uint32_t>(kSectorsOfALine, lines_.back().sectors + sectors));
    else
      lines_.push_back({uint32_t(line), sectors, 0, at});
  }
}

void MemoryRequests::spread_over(double cycles) {
  const size_t n = lines_.size() - first_;
  for (size_t i = 0; i < n; ++i) lines_[first_ + i].at = uint16_t(std::min(65535.0, cycles * double(i) / double(n)));
}

MemoryRequests::Request& MemoryRequests::make(Kind kind, Sm& sm, uint64_t time) {
  Request r{};
  r.time = time;
  r.sm = &sm;
  r.kind = kind;
  r.first = first_;
  r.behind = first_ = uint32_t(lines_.size());
  if (told_.size() > told_of_) r.told = int32_t(told_of_++);
  requests_.push_back(r);
  return requests_.back();
}

void MemoryRequests::load(Warp& w, const Op& op, uint64_t time, uint64_t ready, L1Cache::Arrival follows, bool cached) {
  Request& r = make(Kind::load, w.sm(), time);
  r.warp = &w;
  r.board = op.set_sb;
  r.ready = ready;
  r.follows = follows;
  r.cached = cached;
  if (at_once_) return forget();
  w.result_asked(op);
}

void MemoryRequests::store(Sm& sm, uint64_t time, Kind kind) {
  make(kind, sm, time).holds = true;
  if (at_once_) forget();
}

void MemoryRequests::ask(Kind kind, Sm& sm, uint64_t time, Then then, uint64_t ready, uint32_t receivers) {
  Request& r = make(kind, sm, time);
  r.ready = ready;
  r.copy.receivers = receivers;
  if (then) {
    r.then = int32_t(then_.size());
    then_.push_back(std::move(then));
  }
  if (at_once_) forget();
}

MemoryReply MemoryRequests::answer_now(Kind kind, Sm& sm, uint64_t time) {
  MemoryReply reply;
  const bool before = std::exchange(at_once_, true);
  ask(kind, sm, time, [&](const MemoryReply& r) { reply = r; });
  at_once_ = before;
  return reply;
}

/// The request made last is served and forgotten.
void MemoryRequests::forget() {
  const uint32_t number = uint32_t(requests_.size() - 1);
  const size_t count = parts(number);
  for (size_t part = 0; part < count; ++part) serve(number, part);
  Request r = requests_.back();
  finish(r, number);
  requests_.pop_back();
  if (r.then >= 0) then_.resize(size_t(r.then));
  if (r.told >= 0) told_.resize(told_of_ = size_t(r.told));
  lines_.resize(r.first);
  first_ = r.first;
}

size_t MemoryRequests::parts(size_t request) const {
  const Request& r = requests_[request];
  return r.kind == Kind::read ? std::max<size_t>(1, (lines_of(r).size() + kPart - 1) / kPart) : 1;
}

uint64_t MemoryRequests::time(size_t request, size_t part) const {
  const Request& r = requests_[request];
  return part ? r.time + lines_[r.first + part * kPart].at : r.time;
}

void MemoryRequests::serve_part(Request& r, std::span<const LineUse> part, std::span<const LineUse> all) {
  if (!r.copy.number) r.copy.number = chip_.new_copy();
  const MemoryReply reply = chip_.read(r.time, r.sm->index, part, r.copy);
  if (part.empty()) return;
  const uint64_t end = r.time + part.back().at + reply.delay, asked = r.time + all.back().at;
  r.end = std::max(r.end, end);
  r.last = std::max(r.last, end + reply.late);
  r.reply.missed += reply.missed;
  r.reply.delay = std::max(r.end, asked) - asked;
  r.reply.late = std::max(r.last, asked) - asked - r.reply.delay;
}

void MemoryRequests::serve(size_t request, size_t part) {
  Request& r = requests_[request];
  const std::span<const LineUse> lines = lines_of(r);
  switch (r.kind) {
    case Kind::load: r.reply = chip_.read(r.time, r.sm->index, lines, true); break;
    case Kind::read: {
      const size_t begin = part * kPart;
      serve_part(r, lines.subspan(begin, std::min(kPart, lines.size() - begin)), lines);
      if (begin + kPart < lines.size()) return;
      break;
    }
    case Kind::write: r.reply = chip_.write(r.time, r.sm->index, lines); break;
    case Kind::update: r.reply = chip_.update(r.time, r.sm->index, lines); break;
    case Kind::float_update: r.reply = chip_.update(r.time, r.sm->index, lines, true); break;
  }
  if (lines.empty()) return;
  LoadsOnTheirWay& loads = r.sm->extensions.get<LoadsOnTheirWay>(partition_.launch.gpu.spec);
  const bool bulk = r.kind == Kind::read && r.ready;
  if (bulk && r.reply.missed)
    loads.passed = std::max(loads.passed, r.time + uint64_t(loads.behind * double(r.reply.delay)));
  else if (bulk || r.cached)  // a strong load has waited before: wait_to_pass
    r.reply.delay = std::max(r.reply.delay, loads.wait(r.time));
  // Known at once: a fence that has its turn later in this exchange looks at it.
  const uint64_t there = r.time + lines.back().at + r.reply.delay;
  if (r.kind == Kind::load || r.kind == Kind::read) {
    const uint64_t landed =
        bulk ? r.ready + timing_.tma.miss(r.reply.missed) + r.reply.delay : there + miss_of(r) + timing_.tma.latency;
    loads.landed = std::max(loads.landed, landed);
    if (bulk) loads.copied = std::max(loads.copied, landed);
    return;
  }
  const uint64_t wait = r.holds ? r.sm->translation.wait(r.time) : 0;
  // A fence waits for what its SM has written, the end of the grid for what the grid has.
  for (StoresOnTheirWay* stores : {&r.sm->extensions.get<StoresOnTheirWay>(), &stores_}) {
    stores->written = std::max(stores->written, there);
    if (r.kind == Kind::write && !r.holds) stores->written_bulk = std::max(stores->written_bulk, there);
    if (wait) stores->translated = std::max(stores->translated, r.time + wait);
  }
}

void MemoryRequests::finish(Request& r, uint32_t number) {
  if (r.told >= 0) tell(MemoryTraffic{partition_, told_[size_t(r.told)], r.sm->index, r.time, 0, 0, r.reply.missed});
  if (r.then >= 0) {
    const Then then = std::move(then_[size_t(r.then)]);
    return then(r.reply);
  }
  if (r.holds) {
    const uint64_t queue = timing_.memory.store_queue;
    if (r.reply.delay > queue) r.sm->stores_held = std::max(r.sm->stores_held, r.time + r.reply.delay - queue);
    return;
  }
  if (!r.warp) return;
  uint64_t when = r.ready + r.reply.delay + r.reply.late + miss_of(r);
  if (r.follows.unknown())
    when = std::max(when, requests_[r.follows.request()].ready);
  else
    when = std::max(when, r.follows.value);
  r.ready = when;
  if (r.cached)
    for (uint32_t i = r.first; i < r.behind; ++i)
      r.warp->sm().l1.arrives(lines_[i].line, L1Cache::Arrival::asked(number, grid_), when);
  if (at_once_)
    r.warp->result_on_board(r.board, when);
  else
    r.warp->answered(r.board, when);
}

void MemoryRequests::finish() {
  for (size_t i = 0; i < requests_.size(); ++i) finish(requests_[i], uint32_t(i));
  requests_.clear();
  then_.clear();
  told_.clear();
  lines_.clear();
  told_of_ = first_ = 0;
}

}  // namespace tinygpu
