#include "common/tinygpu/check/copies_in_flight.h"

#include <fmt/format.h>

#include <algorithm>

namespace tinygpu::checks {
namespace {

/// The word for what a warp's instruction does.
const char* verb_of(const MemoryAccess& a, const Origin& who) {
  const std::string_view opcode = who.function->instruction(*who.op).opcode;
  if (opcode == "ldmatrix") return "ldmatrix";
  if (opcode == "stmatrix") return "stmatrix";
  return a.kind == AccessKind::read ? "load" : a.kind == AccessKind::write ? "store" : "atomic";
}

bool is_bulk(AsyncOperation::Kind kind) {
  using Kind = AsyncOperation::Kind;
  return kind == Kind::bulk_load || kind == Kind::bulk_store || kind == Kind::tensor_load || kind == Kind::tensor_store;
}

}  // namespace

void CopiesInFlight::tell(Origin who, uint64_t time, const char* verb, int lane, uint64_t at, uint64_t bytes,
                          const Flight& flight) {
  who.lane = lane;
  who.report(
      {.code = "async-not-complete",
       .severity = Severity::error,
       .message = fmt::format("ordinary {} of {} bytes at shared offset {:#x} while a copy that {} there is in flight",
                              verb, bytes, at, flight.writes ? "lands" : "reads"),
       .help = flight.writes
                   ? "wait first for the phase of the copy's mbarrier that counts its bytes; a barrier of threads "
                     "does not wait for copies"
                   : "close the copy's group with cp.async.bulk.commit_group and wait with "
                     "cp.async.bulk.wait_group.read in the thread that issued it, before the buffer is written again",
       .where = who.where(time),
       .label = fmt::format("this {} comes too early", verb),
       .others = {{flight.who.where(flight.issued),
                   fmt::format("the copy was issued here: bytes {:#x} to {:#x}", flight.low, flight.high - 1)}}});
}

uint32_t CopiesInFlight::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::async_proxy) ? interests : 0;
}

void CopiesInFlight::Flights::add(const Flight& flight) {
  all_.push_back(flight);
  low_ = std::min(low_, flight.low);
  high_ = std::max(high_, flight.high);
}

void CopiesInFlight::Flights::land(uint64_t operation, bool writes) {
  auto flight = std::ranges::lower_bound(all_, operation, {}, &Flight::operation);
  while (flight != all_.end() && flight->operation == operation && flight->writes != writes) ++flight;
  if (flight == all_.end() || flight->operation != operation) return;
  const bool at_edge = flight->low == low_ || flight->high == high_;
  all_.erase(flight);
  if (!at_edge) return;
  const uint32_t low = low_, high = high_;
  low_ = ~0u;
  high_ = 0;
  for (const Flight& f : all_) {
    low_ = std::min(low_, f.low);
    high_ = std::max(high_, f.high);
    if (low_ == low && high_ == high) return;  // none lies outside what was the edge
  }
}

const CopiesInFlight::Flight* CopiesInFlight::Flights::meets(uint64_t low, uint64_t high, bool load) const {
  for (const Flight& f : all_)
    if (low < f.high && high > f.low && !(load && !f.writes)) return &f;
  return nullptr;
}

void CopiesInFlight::on_launch(const Launch& launch) { books_.clear(launch); }

void CopiesInFlight::on_cta(const Cta& cta, bool, uint64_t) { books_.close(cta); }

void CopiesInFlight::on_issue(const AsyncOperation& o) {
  if (o.kind == AsyncOperation::Kind::async_copy) {
    // What lands later goes where the threads were told to write now.
    for (const auto& use : o.shared_uses) {
      const Flights* flights = use.writes ? books_.find(*use.cta) : nullptr;
      if (!flights) continue;
      for (const auto& r : use.ranges)
        if (const Flight* f = flights->meets(r.offset, r.offset + r.bytes, false)) {
          tell(o.who, o.issued, "cp.async", r.lane, r.offset, r.bytes, *f);
          break;
        }
    }
    return;
  }
  if (!is_bulk(o.kind)) return;
  for (const auto& use : o.shared_uses)
    if (use.ranges.size() == 1 && use.ranges[0].bytes && !use.cta->exited)
      books_.of(*use.cta).add(
          {o.id, use.ranges[0].offset, use.ranges[0].offset + use.ranges[0].bytes, use.writes, o.who, o.issued});
}

void CopiesInFlight::on_access(const MemoryAccess& a) {
  Flights* flights = books_.find(*a.cta);
  if (!flights) return;
  if (!a.lanes) {
    if (a.proxy == Proxy::async) flights->land(a.operation->operation, a.kind != AccessKind::read);
    return;
  }
  if (!flights->may_meet(a.lanes->low, a.lanes->high)) return;
  bool told = false;
  a.each([&](uint64_t at, uint64_t bytes, int lane) {
    if (told) return;
    const Flight* f = flights->meets(at, at + bytes, a.kind == AccessKind::read);
    if (!f) return;
    told = true;
    const Origin who = a.who();
    tell(who, a.time, verb_of(a, who), lane, at, bytes, *f);
  });
}

}  // namespace tinygpu::checks
