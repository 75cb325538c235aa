#include "common/tinygpu/engines/tma/bulk_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "common/tinygpu/machine/memory/skipped_copies.h"
#include "common/tinygpu/timing/power.h"

namespace tinygpu {

const char* const kBulkWait = "cp.async.bulk.wait_group";

namespace {

void wake_waiters(Warp& w, uint64_t now) {
  w.wake(now,
         [](const Group& g) { return g.reason.kind == BlockReason::Kind::async_group && g.reason.what == kBulkWait; });
}

using SharedUse = AsyncOperation::SharedUse;

SharedUse signalling(SharedUse use, const BulkEngine::Signal& signal) {
  use.signalled = signal.cta;
  use.signal = signal.offset;
  return use;
}

SharedUse use_of(const Cta& cta, bool writes, uint32_t offset, uint32_t bytes) {
  return {&cta, writes, {{offset, bytes, -1}}};
}

SharedUse use_of(const TensorBox& box, const Cta& cta, bool writes, uint32_t offset) {
  if (box.shared_without_gaps(offset)) return use_of(cta, writes, offset, uint32_t(box.extent()));
  SharedUse use{&cta, writes, {}};
  box.each_shared(offset, writes, [&](uint64_t at, uint64_t n) {
    use.ranges.push_back({uint32_t(at), uint32_t(n), -1});
  });
  return use;
}

uint8_t* shared_range(Cta& cta, uint32_t offset, uint64_t bytes, const Origin& who, const char* verb) {
  uint8_t* host = cta.shared_at(offset, bytes);
  if (!host)
    who.fault(FaultKind::illegal_address, "shared-out-of-bounds",
              fmt::format("{} of {} bytes at shared offset {:#x} of CTA rank {}, whose shared memory ends at {:#x}",
                          verb, bytes, offset, cta.rank, cta.shared.size()),
              "compare the copy's size with the buffer that the kernel declares");
  return host;
}

}  // namespace

// ---- Bulk groups

BulkGroups& BulkGroups::of(Warp& w) { return w.extensions.get<BulkGroups>(); }

std::shared_ptr<BulkGroups::Group> BulkGroups::open(int lane) {
  auto& group = threads_[size_t(lane)].open;
  if (!group) group = std::make_shared<Group>();
  return group;
}

void BulkGroups::Thread::drop_complete() {
  while (!committed.empty()) {
    const Committed& c = committed.front();
    if (c.group && (c.group->reads || c.group->writes)) return;
    count -= c.repeats;
    committed.pop_front();
  }
}

void BulkGroups::commit(int lane) {
  Thread& t = threads_[size_t(lane)];
  t.drop_complete();
  ++t.count;
  if (!t.open && !t.committed.empty() && !t.committed.back().group)
    ++t.committed.back().repeats;
  else
    t.committed.push_back({std::exchange(t.open, nullptr)});
}

bool BulkGroups::done(int lane, uint32_t pending, bool read) {
  Thread& t = threads_[size_t(lane)];
  t.drop_complete();
  uint64_t position = 0;
  for (const Thread::Committed& c : t.committed) {
    if (position + pending >= t.count) break;
    if (c.group && (c.group->reads || (!read && c.group->writes))) return false;
    position += c.repeats;
  }
  return true;
}

// ---- The engine

static BoxRows rows_of(const TensorBox& box) {
  return {uint32_t(box.rows()), box.row_bytes(), box.pitch(), box.transfer_bytes()};
}

const TensorMap& BulkEngine::map(Warp& w, uint64_t address, int lane) {
  fetched_at_ = w.time();
  if (address % 64)
    w.fault(FaultKind::misaligned_address, "tensormap-misaligned",
            fmt::format("the tensor map at {:#x} is not aligned to 64 bytes", address),
            "declare CUtensorMap parameters as const __grid_constant__ CUtensorMap, and align copies of it to 64 bytes",
            lane);
  const Place place =
      locate(w, ptx::Space::generic, address, TensorMap::kBytes, 64, AccessKind::read, lane, "a tensor map read");
  if (place.space != ptx::Space::global && place.space != ptx::Space::param)
    w.fault(
        FaultKind::illegal_address, "tensormap-space",
        fmt::format("the tensor map at {:#x} is in shared or local memory", address),
        "a tensor map is read from global or constant memory or a kernel parameter: pass it as const __grid_constant__ "
        "CUtensorMap, not as a local copy",
        lane);
  if (modified_.count(address))
    w.fault(FaultKind::illegal_instruction, "tensormap-not-acquired",
            fmt::format("the tensor map at {:#x} was changed in this kernel and is used without an acquire", address),
            "after the change execute fence.proxy.tensormap::generic.release, and "
            "fence.proxy.tensormap::generic.acquire [map], 128 in the thread that uses the map",
            lane);
  if (place.space == ptx::Space::global)
    tell_operation(w.partition(), AccessKind::read, Proxy::tensormap, origin_of(w, lane), nullptr, w.time(), address,
                   TensorMap::kBytes);
  auto it = maps_.find(address);
  if (it != maps_.end()) {
    if (std::memcmp(it->second.bytes.data(), place.host, TensorMap::kBytes))
      w.fault(FaultKind::illegal_instruction, "tensormap-not-acquired",
              fmt::format(
                  "the tensor map at {:#x} has changed since this SM fetched it, and no thread has acquired the change",
                  address),
              "after the change execute fence.proxy.tensormap::generic.release, and "
              "fence.proxy.tensormap::generic.acquire [map], 128 in the thread that uses the map; hardware may go on "
              "with the old map",
              lane);
    return it->second.map;
  }
  CachedMap entry;
  std::memcpy(entry.bytes.data(), place.host, TensorMap::kBytes);
  entry.map = TensorMap::decode(place.host, w.spec().compute_major < 10);
  const char* encode = "encode it with cuTensorMapEncodeTiled or Im2col, check the result, and pass it by value";
  // In this order: an object of ones alone is an illegal instruction on an H200, not a misaligned address.
  if (const std::string defect = entry.map.defect(); !defect.empty())
    w.fault(FaultKind::illegal_instruction, "tensormap-invalid",
            fmt::format("the tensor map at {:#x} cannot be used: {}", address, defect), encode, lane);
  if (const std::string text = entry.map.misalignment(); !text.empty())
    w.fault(FaultKind::misaligned_address, "tensormap-invalid",
            fmt::format("the tensor map at {:#x} cannot be used: {}", address, text), encode, lane);
  fetched_at_ = w.time() + w.timing().tma.descriptor_fetch;
  return maps_.emplace(address, std::move(entry)).first->second.map;
}

BulkEngine::Flight BulkEngine::start(Warp& w, int lane, AsyncOperation::Kind kind, uint64_t now, TmaTiming::Pace pace,
                                     uint64_t bytes, size_t parts, FunctionRef<void(AsyncOperation&)> uses) {
  const bool loads = kind == AsyncOperation::Kind::tensor_load || kind == AsyncOperation::Kind::bulk_load;
  const bool free = loads && w.spec().free.loads;
  if (free) pace = {};
  Flight f{origin_of(w, lane), nullptr, free ? now : std::max(now, free_at_), 0};
  f.through = f.begin + uint64_t(std::ceil(pace.last));
  const uint64_t busy_until = f.begin + uint64_t(std::ceil(pace.busy));
  free_at_ = std::max(free_at_, busy_until);
  f.told = tell_issue(w.partition(), kind, f.who, w.sm().index, w.time(), bytes, uses);
  if (f.told) {
    f.told->parts = uint32_t(parts);
    f.told->busy = busy_until - f.begin;
  }
  return f;
}

void BulkEngine::tell_box(const Flight& flight, const std::shared_ptr<const TensorBox>& box, uint32_t offset) {
  if (!flight.told) return;
  flight.told->box = box;
  flight.told->shared = offset;
}

uint64_t BulkEngine::received(Sm& sm, const TmaTiming& timing, uint64_t when, uint64_t bytes) {
  const double cycles = double(bytes) / timing.received_bytes_per_cycle;
  const double begin = sm.extensions.get<BulkEngine>().arrivals_.take(double(when) - cycles, cycles);
  return std::max(when, uint64_t(std::ceil(begin + cycles)));
}

void BulkEngine::land(SmPartition& partition, uint64_t when, const std::shared_ptr<const Load>& load,
                      const Landing& to) {
  // Each landing is independent of every other; its transactions complete behind its own bytes.
  partition.events.schedule(
      when, partition.events.new_channel(), load->flight.who, [&partition, load, &to](uint64_t now) {
        const Origin& who = load->flight.who;
        if (to.cta->exited || to.signal.cta->exited) {
          if (to.cta->key == who.cta) {
            who.report(Severity::warning, "group-not-waited",
                       "the CTA ended while this copy into its shared memory was in flight",
                       "wait on the copy's mbarrier before the CTA ends");
            return;
          }
          who.fault(FaultKind::launch_failure, "exit-with-remote-access",
                    fmt::format("this copy lands in the shared memory of CTA rank {}, which has exited", to.cta->rank),
                    "end with barrier.cluster.arrive and .wait so that no CTA exits while other CTAs still access its "
                    "shared memory");
        }
        load->copy(*to.cta, to.offset, now);
        if (to.cta->mbarriers.overlaps(to.offset, load->filled))
          who.report(Severity::warning, "mbarrier-memory-reused",
                     fmt::format("this copy lands at shared offset {:#x} on a live mbarrier", to.offset),
                     "keep buffers and mbarriers apart, or end the mbarrier with mbarrier.inval first");
        tell_complete(partition, load->flight.told, load->flight.begin, now);
        mbarrier_complete_tx(*to.signal.cta, to.signal.offset, load->bytes, now, who);
      });
}

void BulkEngine::fetch(Warp& w, double busy, uint64_t latency, std::shared_ptr<const Load> load) {
  SmPartition& partition = w.partition();
  const Flight& flight = load->flight;
  if (w.spec().free.loads) {
    for (const Landing& to : load->landings) land(partition, flight.through, load, to);
    return;
  }
  partition.memory.spread_over(busy);
  if (w.told(Observer::traffic)) partition.memory.tell_missed(flight.who);
  const uint32_t receivers = uint32_t(load->landings.size());
  const uint64_t begin = flight.begin, at = flight.through + latency + w.sm().first_copy.wait(begin);
  partition.memory.ask(
      MemoryRequests::Kind::read, w.sm(), begin,
      [&partition, &timing = w.timing().tma, at, load = std::move(load)](const MemoryReply& r) {
        const uint64_t there = at + timing.miss(r.missed) + r.delay;
        for (const Landing& to : load->landings)
          land(partition, received(to.cta->sm, timing, there, load->bytes), load, to);
      },
      at, receivers);
}

void BulkEngine::send(Warp& w, const Flight& flight, double busy, bool reduces) {
  MemoryRequests& memory = w.partition().memory;
  memory.spread_over(busy);
  const uint64_t queue = w.timing().memory.store_queue;
  memory.ask(reduces ? MemoryRequests::Kind::update : MemoryRequests::Kind::write, w.sm(), flight.begin,
             [this, queue, begin = flight.begin](const MemoryReply& r) {
               if (r.delay > queue) free_at_ = std::max(free_at_, begin + r.delay - queue);
             });
}

void BulkEngine::tensor_load(Warp& w, int lane, const TensorBox& box, std::vector<Landing> landings, bool multicast) {
  const TmaTiming& timing = w.timing().tma;
  // A box that fits nowhere would keep the engine, and this machine, for hours before its bytes are refused.
  for (const Landing& to : landings) box.check_fits(*to.cta, to.offset, origin_of(w, lane), "a tensor load");
  const uint64_t bytes = box.transfer_bytes();
  if (!w.spec().free.loads) w.charge(w.sm().copy_constants.wait(w.time()));
  const uint64_t from = std::max(w.time(), fetched_at_);
  const TmaTiming::Pace pace = timing.load(rows_of(box));
  const Flight flight = start(w, lane, AsyncOperation::Kind::tensor_load, from, pace, bytes * landings.size(),
                              landings.size(), [&](AsyncOperation& o) {
                                for (const Landing& to : landings)
                                  o.shared_uses.push_back(signalling(use_of(box, *to.cta, true, to.offset), to.signal));
                              });
  const uint64_t lines = box.rows() * ((box.row_bytes() + 127) / 128);
  tell(MemoryTraffic{w.partition(), flight.who, w.sm().index, w.time(), bytes * landings.size(), bytes});
  const uint64_t latency =
      (box.tile.mode == TensorTile::Mode::gather4 ? timing.gather_latency
                                                  : timing.latency + timing.tensor_latency + timing.far(lines)) +
      (multicast ? timing.multicast_latency : 0);
  const auto shared_box = std::make_shared<const TensorBox>(box);
  if (!landings.empty()) tell_box(flight, shared_box, landings.front().offset);
  if (!w.spec().free.loads) box.add_lines(w.partition().memory);
  w.partition().counters["tma.load.bytes"] += bytes * landings.size();
  w.partition().counters[kCopiedBytes] += bytes;
  // Of a multicast all offsets are the same.
  const bool whole = !landings.empty() && box.shared_without_gaps(landings.front().offset);
  auto load = std::make_shared<Load>(Load{flight, std::move(landings), bytes, whole ? uint32_t(box.extent()) : 0, {}});
  load->copy = [shared_box, &who = load->flight.who](Cta& cta, uint32_t offset, uint64_t now) {
    const SmPartition& partition = cta.cluster.partition;
    if (who.launch->options.timing_only)
      cta.extensions.get<SkippedCopies>().add(offset, shared_box->extent());
    else
      shared_box->load(who.launch->gpu.memory, cta, offset, who);
    tell_operation(partition, AccessKind::read, Proxy::async, who, nullptr, now,
                   [&](MemoryAccess::Range f) { shared_box->each_global(true, f); });
    tell_operation(partition, AccessKind::write, Proxy::async, who, &cta, now,
                   [&](MemoryAccess::Range f) { shared_box->each_shared(offset, true, f); },
                   {"", nullptr, 0, shared_box, offset});
  };
  fetch(w, pace.busy, latency, std::move(load));
}

template <class Read, class Write>
void BulkEngine::store(Warp& w, uint32_t lanes, const Flight& flight, uint64_t read_at, bool serial, Read&& read,
                       Write&& write) {
  SmPartition& partition = w.partition();
  Warp* const warp = &w;
  std::vector<std::shared_ptr<BulkGroups::Group>> groups;
  for (uint32_t m = lanes; m; m &= m - 1) {
    groups.push_back(BulkGroups::of(w).open(__builtin_ctz(m)));
    ++groups.back()->reads;
    ++groups.back()->writes;
  }
  const uint64_t channel = partition.events.new_channel();
  const uint32_t visible = w.timing().tma.visible_latency;
  partition.events.schedule(read_at, channel, flight.who, [=, &partition](uint64_t now) {
    const auto data = std::make_shared<std::vector<uint8_t>>(read(now));
    for (const auto& group : groups) --group->reads;
    wake_waiters(*warp, now);
    const auto finish = [=, &partition](uint64_t then) {
      write(*data, then);
      for (const auto& group : groups) --group->writes;
      tell_complete(partition, flight.told, flight.begin, then);
      wake_waiters(*warp, then);
    };
    if (serial)
      in_serial(partition, now + visible, channel, flight.who, finish);
    else
      partition.events.schedule(now + visible, channel, flight.who, finish);
  });
}

void BulkEngine::in_serial(SmPartition& partition, uint64_t when, uint64_t channel, const Origin& who,
                           std::function<void(uint64_t)> effect) {
  partition.events.schedule(when, channel, who, [&partition, effect = std::move(effect)](uint64_t now) {
    if (partition.serial)
      effect(now);
    else
      partition.defer(now, effect);
  });
}

void BulkEngine::tensor_store(Warp& w, uint32_t lanes, const TensorBox& box, uint32_t offset,
                              const ReduceOperation* operation) {
  const TmaTiming& timing = w.timing().tma;
  const int lane = __builtin_ctz(lanes);
  Cta* const cta = &w.cta();
  box.check_fits(*cta, offset, origin_of(w, lane), "a tensor store");
  const uint64_t bytes = box.transfer_bytes();
  const bool reduces = operation != nullptr;
  const uint64_t from = std::max(w.time(), fetched_at_);
  const double busy = timing.store(rows_of(box), reduces);
  const Flight flight = start(w, lane, AsyncOperation::Kind::tensor_store, from, TmaTiming::Pace::even(busy), bytes, 1,
                              [&](AsyncOperation& o) {
                                o.shared_uses.push_back(use_of(box, *cta, false, offset));
                                o.who.lanes = lanes;
                              });
  // Nothing leaves before the first piece has been read as a whole.
  const uint64_t first = uint64_t(timing.first_piece * timing.store(std::min(box.row_bytes(), 128u), reduces));
  const uint64_t read = flight.through + timing.store_latency + timing.tensor_store_latency +
                        (reduces ? timing.reduce_latency : 0) + first;
  const Origin& who = flight.who;
  const auto b = std::make_shared<const TensorBox>(box);
  tell_box(flight, b, offset);
  const ReduceOperation op = operation ? *operation : ReduceOperation::add;
  store(
      w, lanes, flight, read, reduces,
      [=, who = who](uint64_t now) {
        tell_operation(cta->cluster.partition, AccessKind::read, Proxy::async, who, cta, now,
                       [&](MemoryAccess::Range f) { b->each_shared(offset, false, f); }, {"", nullptr, 0, b, offset});
        if (who.launch->options.timing_only) return std::vector<uint8_t>();
        return b->gather_shared(*cta, offset, who);
      },
      [=, who = who](const std::vector<uint8_t>& rows, uint64_t now) {
        const GlobalMemory& memory = who.launch->gpu.memory;
        if (who.launch->options.timing_only) {
          // No bytes to write.
        } else if (reduces) {
          b->reduce(memory, rows, op, who);
        } else {
          b->store(memory, rows, who);
        }
        tell_operation(cta->cluster.partition, reduces ? AccessKind::atomic : AccessKind::write, Proxy::async, who,
                       nullptr, now, [&](MemoryAccess::Range f) { b->each_global(false, f); });
      });
  box.add_lines(w.partition().memory);
  send(w, flight, busy, reduces);
  tell(MemoryTraffic{w.partition(), who, w.sm().index, w.time(), bytes, bytes});
  w.partition().counters["tma.store.bytes"] += bytes;
}

void BulkEngine::bulk_load(Warp& w, int lane, uint64_t from, uint32_t bytes, Ignored ignored,
                           std::vector<Landing> landings, bool multicast) {
  const TmaTiming& timing = w.timing().tma;
  if (!w.spec().free.loads) w.charge(w.sm().copy_constants.wait(w.time()));
  const TmaTiming::Pace pace = timing.load(bytes);
  const Flight flight =
      start(w, lane, AsyncOperation::Kind::bulk_load, w.time(), pace, uint64_t(bytes) * landings.size(),
            landings.size(), [&](AsyncOperation& o) {
              for (const Landing& to : landings)
                o.shared_uses.push_back(signalling(use_of(*to.cta, true, to.offset, bytes), to.signal));
            });
  tell(MemoryTraffic{w.partition(), flight.who, w.sm().index, w.time(), bytes * landings.size(), bytes});
  const uint64_t latency =
      timing.latency + timing.far((bytes + 127) / 128) + (multicast ? timing.multicast_latency : 0);
  // A copy that fits nowhere is refused when it lands.
  if (bytes <= w.cta().shared.size() && !w.spec().free.loads) w.partition().memory.add_lines(from, bytes);
  w.partition().counters["tma.load.bytes"] += uint64_t(bytes) * landings.size();
  w.partition().counters[kCopiedBytes] += bytes;
  auto load = std::make_shared<Load>(Load{flight, std::move(landings), bytes, bytes, {}});
  load->copy = [from, bytes, ignored, &who = load->flight.who](Cta& cta, uint32_t offset, uint64_t now) {
    if (bytes <= ignored.left + ignored.right) return;
    const uint64_t first = from + ignored.left;
    const uint32_t target = offset + ignored.left, moved = bytes - ignored.left - ignored.right;
    GlobalView global(who.launch->gpu.memory, who, "a bulk copy");
    const uint8_t* source = global.at(first, moved);
    uint8_t* const to = shared_range(cta, offset, bytes, who, "a bulk copy") + ignored.left;
    if (who.launch->options.timing_only)
      cta.extensions.get<SkippedCopies>().add(target, moved);
    else
      std::memcpy(to, source, moved);
    const SmPartition& partition = cta.cluster.partition;
    tell_operation(partition, AccessKind::read, Proxy::async, who, nullptr, now, first, moved);
    tell_operation(partition, AccessKind::write, Proxy::async, who, &cta, now, target, moved);
  };
  fetch(w, pace.busy, latency, std::move(load));
}

void BulkEngine::bulk_to_cluster(Warp& w, int lane, uint32_t from, uint32_t bytes, const Landing& to,
                                 const ReduceOperation* operation, ReduceType type) {
  const TmaTiming& timing = w.timing().tma;
  Cta* const source = &w.cta();
  const uint64_t first = uint64_t(timing.first_piece * std::min(bytes, 128u) / timing.cluster_bytes_per_cycle);
  const Flight flight =
      start(w, lane, AsyncOperation::Kind::bulk_store, w.time(),
            TmaTiming::Pace::even(double(bytes) / timing.cluster_bytes_per_cycle), bytes, 1, [&](AsyncOperation& o) {
              o.shared_uses = {use_of(*source, false, from, bytes),
                               signalling(use_of(*to.cta, true, to.offset, bytes), to.signal)};
            });
  tell(MemoryTraffic{w.partition(), flight.who, w.sm().index, w.time(), 2ull * bytes});
  const bool reduces = operation != nullptr;
  const ReduceOperation op = operation ? *operation : ReduceOperation::add;
  const auto load = std::make_shared<Load>(Load{flight, {to}, bytes, bytes, {}});
  load->copy = [=, &who = load->flight.who](Cta& cta, uint32_t offset, uint64_t now) {
    if (!bytes) return;
    const uint8_t* data = shared_range(*source, from, bytes, who, "a bulk copy");
    uint8_t* host = shared_range(cta, offset, bytes, who, "a bulk copy");
    if (reduces)
      reduce(op, type, host, data, bytes);
    else
      std::memmove(host, data, bytes);
    const SmPartition& partition = cta.cluster.partition;
    tell_operation(partition, AccessKind::read, Proxy::async, who, source, now, from, bytes);
    tell_operation(partition, reduces ? AccessKind::atomic : AccessKind::write, Proxy::async, who, &cta, now, offset,
                   bytes);
  };
  land(w.partition(), flight.through + first + timing.cluster_latency, load, load->landings.front());
}

void BulkEngine::bulk_store(Warp& w, uint32_t lanes, uint64_t to, uint32_t from, uint32_t bytes, uint32_t byte_mask,
                            const ReduceOperation* operation, ReduceType type) {
  const TmaTiming& timing = w.timing().tma;
  const int lane = __builtin_ctz(lanes);
  const bool reduces = operation != nullptr;
  const uint64_t first = uint64_t(timing.first_piece * timing.store(std::min(bytes, 128u), reduces));
  Cta* const cta = &w.cta();
  const double busy = timing.store(bytes, reduces);
  const Flight flight = start(w, lane, AsyncOperation::Kind::bulk_store, w.time(), TmaTiming::Pace::even(busy), bytes,
                              1, [&](AsyncOperation& o) {
                                o.shared_uses.push_back(use_of(*cta, false, from, bytes));
                                o.who.lanes = lanes;
                              });
  const uint64_t read = flight.through + timing.store_latency + (reduces ? timing.reduce_latency : 0) + first;
  const Origin& who = flight.who;
  const ReduceOperation op = operation ? *operation : ReduceOperation::add;
  store(
      w, lanes, flight, read, reduces,
      [=, who = who](uint64_t now) {
        if (!bytes) return std::vector<uint8_t>();
        const uint8_t* data = shared_range(*cta, from, bytes, who, "a bulk copy");
        tell_operation(cta->cluster.partition, AccessKind::read, Proxy::async, who, cta, now, from, bytes);
        return std::vector<uint8_t>(data, data + bytes);
      },
      [=, who = who](const std::vector<uint8_t>& data, uint64_t now) {
        if (!bytes) return;
        GlobalView global(who.launch->gpu.memory, who, "a bulk copy");
        uint8_t* host = global.at(to, bytes);
        if (who.launch->options.timing_only) {
          // No bytes to write.
        } else if (reduces)
          reduce(op, type, host, data.data(), bytes);
        else if (byte_mask == 0xffff)
          std::memcpy(host, data.data(), bytes);
        else
          for (uint32_t i = 0; i < bytes; ++i)
            if (byte_mask >> (i % 16) & 1) host[i] = data[i];
        tell_operation(cta->cluster.partition, reduces ? AccessKind::atomic : AccessKind::write, Proxy::async, who,
                       nullptr, now, [&](MemoryAccess::Range f) {
                         if (byte_mask == 0xffff) return f(to, bytes);
                         for (uint32_t i = 0; i < bytes; ++i)
                           if (byte_mask >> (i % 16) & 1) f(to + i, 1);
                       });
      });
  if (cta->shared_at(from, bytes)) w.partition().memory.add_lines(to, bytes);
  send(w, flight, busy, reduces);
  tell(MemoryTraffic{w.partition(), who, w.sm().index, w.time(), bytes, bytes});
  w.partition().counters["tma.store.bytes"] += bytes;
}

}  // namespace tinygpu
