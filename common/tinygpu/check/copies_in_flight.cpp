#include "common/tinygpu/check/copies_in_flight.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "common/tinygpu/engines/mma/matrix_descriptor.h"

namespace tinygpu::checks {
namespace {

/// The word for what a warp's instruction does.
const char* verb_of(const MemoryAccess& a, const Origin& who) {
  const ptx::Opcode opcode = who.function->instruction(*who.op).opcode;
  if (opcode == ptx::Opcode::ldmatrix || opcode == ptx::Opcode::stmatrix) return ptx::name_of(opcode).data();
  return a.kind == AccessKind::read ? "load" : a.kind == AccessKind::write ? "store" : "atomic";
}

bool is_bulk(AsyncOperation::Kind kind) {
  using Kind = AsyncOperation::Kind;
  return kind == Kind::bulk_load || kind == Kind::bulk_store || kind == Kind::tensor_load || kind == Kind::tensor_store;
}

}  // namespace

void CopiesInFlight::tell(Met met, uint64_t at, uint64_t bytes, const Flight& flight) {
  Diagnosis d;
  d.code = "async-not-complete";
  d.severity = met.severity;
  d.message = fmt::format("{} of {} bytes at shared offset {:#x} while a copy that {} there is in flight", met.what,
                          bytes, at, flight.writes ? "lands" : "reads");
  d.help = flight.writes
               ? "wait first for the phase of the copy's mbarrier that counts its bytes; a barrier of threads does not "
                 "wait for copies"
               : "in the thread that issued the copy, close its group with cp.async.bulk.commit_group and wait with "
                 "cp.async.bulk.wait_group.read, before the buffer is written again";
  d.where = met.who.where(met.time);
  d.label = met.label;
  d.others = {{flight.who.where(flight.issued),
               fmt::format("the copy was issued here: bytes {:#x} to {:#x}", flight.low, flight.high - 1)}};
  met.who.report(std::move(d));
}

uint32_t CopiesInFlight::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::async_proxy) ? interests : 0;
}

void CopiesInFlight::Flights::add(const Flight& flight) {
  all_.push_back(flight);
  low_ = std::min(low_, flight.low);
  high_ = std::max(high_, flight.high);
  Count& count = intervals_[{flight.low, flight.high}];
  ++(flight.writes ? count.writes : count.reads);
}

void CopiesInFlight::Flights::land(uint64_t operation, bool writes) {
  auto flight = std::ranges::lower_bound(all_, operation, {}, &Flight::operation);
  while (flight != all_.end() && flight->operation == operation && flight->writes != writes) ++flight;
  if (flight == all_.end() || flight->operation != operation) return;
  const auto interval = intervals_.find({flight->low, flight->high});
  all_.erase(flight);
  Count& count = interval->second;
  --(writes ? count.writes : count.reads);
  if (count.reads || count.writes) return;
  const bool at_top = interval->first.high == high_;
  intervals_.erase(interval);
  low_ = intervals_.empty() ? ~0u : intervals_.begin()->first.low;
  if (!at_top) return;
  high_ = 0;
  for (const auto& [other, _] : intervals_) high_ = std::max(high_, other.high);
}

const CopiesInFlight::Flight* CopiesInFlight::Flights::first(uint64_t low, uint64_t high, bool reads,
                                                             bool writes) const {
  const auto wanted = [&](const auto& entry) {
    const auto& [interval, count] = entry;
    return interval.high > low && ((reads && count.reads) || (writes && count.writes));
  };
  // Those from `end` on begin behind it.
  const auto end = intervals_.lower_bound({uint32_t(std::min<uint64_t>(high, ~0u)), 0});
  if (std::none_of(intervals_.begin(), end, wanted)) return nullptr;
  return &*std::ranges::find_if(
      all_, [&](const Flight& f) { return low < f.high && high > f.low && (f.writes ? writes : reads); });
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
          Origin who = o.who;
          who.lane = r.lane;
          tell({who, o.issued, "ordinary cp.async", "this cp.async comes too early"}, r.offset, r.bytes, *f);
          break;
        }
    }
    return;
  }
  if (!is_bulk(o.kind)) return;
  for (const auto& use : o.shared_uses) {
    if (use.ranges.size() != 1 || !use.ranges[0].bytes || use.cta->exited) continue;
    const auto& r = use.ranges[0];
    Flights& flights = books_.of(*use.cta);
    if (const Flight* f = flights.meets_copy(r.offset, r.offset + r.bytes, use.writes); f && f->operation != o.id)
      tell({o.who, o.issued, use.writes ? "a copy into shared memory" : "a copy out of shared memory",
            "this copy comes too early"},
           r.offset, r.bytes, *f);
    flights.add({o.id, r.offset, r.offset + r.bytes, use.writes, o.who, o.issued});
  }
}

void CopiesInFlight::on_access(const MemoryAccess& a) {
  Flights* flights = books_.find(*a.cta);
  if (!flights) return;
  if (!a.lanes) {
    if (a.proxy != Proxy::async) return;
    if (a.tile && a.tile->layout) return operand(a, *flights);
    flights->land(a.operation->operation, a.kind != AccessKind::read);
    return;
  }
  if (!flights->may_meet(a.lanes->low, a.lanes->high)) return;
  bool told = false;
  a.each([&](uint64_t at, uint64_t bytes, int lane) {
    if (told) return;
    const Flight* f = flights->meets(at, at + bytes, a.kind == AccessKind::read);
    if (!f) return;
    told = true;
    Origin who = a.who();
    const std::string verb = verb_of(a, who), label = fmt::format("this {} comes too early", verb);
    who.lane = lane;
    tell({who, a.time, "ordinary " + verb, label.c_str()}, at, bytes, *f);
  });
}

void CopiesInFlight::operand(const MemoryAccess& a, const Flights& flights) {
  const OperandLayout& layout = *a.tile->layout;
  if (layout.mn_major) return;
  // Around the operand; other stages lie elsewhere.
  const uint64_t low = layout.descriptor.start & ~1023u;
  const uint64_t high = layout.descriptor.start + uint64_t(a.tile->rows / 8) * layout.descriptor.stride +
                        uint64_t(layout.k_bytes / 16) * layout.descriptor.leading + 1024;
  if (!flights.may_meet(low, high) || !flights.meets(low, high, true)) return;
  bool told = false;
  a.each([&](uint64_t at, uint64_t bytes, int) {
    const Flight* f = told ? nullptr : flights.meets(at, at + bytes, true);
    if (!f) return;
    told = true;
    // A warning: unused rows may lie in another stage.
    const std::string_view opcode = a.operation->function->instruction(*a.operation->op).name();
    tell({*a.operation, a.time, fmt::format("operand {} of {}: a read", a.tile->operand, opcode), "reads too early",
          Severity::warning},
         at, bytes, *f);
  });
}

}  // namespace tinygpu::checks
