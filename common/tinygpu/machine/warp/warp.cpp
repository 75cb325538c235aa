#include "common/tinygpu/machine/warp/warp.h"

#include <algorithm>
#include <cstring>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {
namespace {

/// What observers want to hear of the cluster's warps.
uint32_t wanted_of(const Cluster& cluster) {
  const Launch& launch = cluster.partition.launch;
  if (!cluster.linear) return launch.observers.wanted();
  uint32_t wanted = 0;
  launch.observers.all([&](const Observer& o) {
    if (!o.first_cluster_only()) wanted |= o.interests_in(launch.config);
  });
  return wanted;
}

}  // namespace

Warp::Warp(Cta& cta, uint32_t index, uint32_t live_mask, uint32_t sub_partition)
    : cta_(cta),
      sm_(cta.sm),
      index_(index),
      sub_partition_(sub_partition),
      number_(++cta.sm.warps_started),
      live_(live_mask),
      told_(wanted_of(cta.cluster)),
      groups_(live_mask),
      frames_(*this) {}

Warp::~Warp() = default;

void Warp::set_entry(const Function& f) {
  groups_.current().function = &f;
  frames_.ensure_registers(f.register_bytes);
  frames_.write_constants(f, 0, 0, live_);
  update_ready();
}

void Warp::set_ready(uint64_t t) {
  ready_ = t;
  if (place_ != kNoPlace) partition().ready_at(place_, t);
}

void Warp::watch(bool on) {
  if (!on)
    watch_.reset();
  else if (!watch_)
    watch_ = std::make_unique<SpinWatch>();
}

uint64_t Warp::state() const {
  const Group& g = groups_.current();
  const AlignedBytes& file = frames_.file();
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  uint64_t h[4] = {uint64_t(op_ - g.function->ops.data()), g.function->index, g.stack.size(), g.mask};
  for (const CallFrame& f : g.stack) h[2] = (h[2] ^ f.return_pc ^ uint64_t(f.function->index) << 32) * kFactor;
  size_t end = 0;
  for (const Group& o : groups_.all())
    end = std::max<size_t>(end, size_t(o.register_base) + o.function->register_bytes);
  end = std::min(end, file.size());
  for (size_t i = 0; i + 32 <= end; i += 32)
    for (size_t k = 0; k < 4; ++k) {
      uint64_t v;
      std::memcpy(&v, file.data() + i + 8 * k, 8);
      h[k] = (h[k] ^ v) * kFactor;
      h[k] ^= h[k] >> 32;
    }
  for (size_t i = end & ~size_t(31); i < end; ++i) h[i & 3] = (h[i & 3] ^ file[i]) * kFactor;
  uint64_t all = 0;
  for (const uint64_t k : h) all = (all ^ k ^ k >> 29) * kFactor;
  return all;
}

Where Warp::where_of(const Op& op, const Function& f, int lane) const {
  return Origin{&partition().launch, &f, &op, cta_.key, int(index_), lane, 0, 0}.where();
}

Where Warp::where(int lane) const {
  return Origin{&partition().launch, &function(), op_, cta_.key, int(index_), lane, 0, 0}.where(time());
}

void Warp::fault(FaultKind kind, std::string code, std::string message, std::string help, int lane) const {
  throw KernelFault({std::move(code), Severity::error, kind, std::move(message), std::move(help), where(lane)});
}

void Warp::report(Severity severity, std::string code, std::string message, std::string help, int lane) const {
  partition().launch.reports.add(
      {std::move(code), severity, FaultKind::launch_failure, std::move(message), std::move(help), where(lane)}, op_);
}

}  // namespace tinygpu
