// A check of all clusters of a grid but the first, which the check for races follows (check/races).
#pragma once
#include <memory>
#include <vector>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::checks {

class BeyondFirstCluster final : public Observer {
 public:
  explicit BeyondFirstCluster(std::unique_ptr<Observer> check) : Observer(check->interests), check_(std::move(check)) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<BeyondFirstCluster>(check_->another()); }
  uint32_t interests_in(const LaunchConfig& launch) const override {
    return launch.grid.count() > launch.cluster.count() ? check_->interests_in(launch) : 0;
  }
  void on_launch(const Launch& launch) override {
    first_ = launch.config.cluster;
    check_->on_launch(launch);
  }
  void on_end(const Launch& launch, const LaunchStats* stats) override { check_->on_end(launch, stats); }
  void on_cta(const Cta& cta, bool starts, uint64_t time) override {
    if (beyond(cta.key)) check_->on_cta(cta, starts, time);
  }
  void on_issue(const AsyncOperation& o) override {
    if (beyond(o.who.cta)) check_->on_issue(o);
  }
  void on_complete(const AsyncOperation& o) override {
    if (beyond(o.who.cta)) check_->on_complete(o);
  }
  void on_sync(const Sync& s) override {
    if (beyond(s.cta->key)) check_->on_sync(s);
  }
  void on_access(const MemoryAccess& a) override {
    if (beyond(a.cta->key)) check_->on_access(a);  // all of these look at shared memory
  }
  void on_tensor_allocation(const TmemAllocation& a) override {
    if (beyond(a.who.cta)) check_->on_tensor_allocation(a);
  }

 private:
  bool beyond(const CtaKey& cta) const { return cta.id.x >= first_.x || cta.id.y >= first_.y || cta.id.z >= first_.z; }
  const std::unique_ptr<Observer> check_;
  Dim3 first_;  // in CTAs
};

}  // namespace tinygpu::checks
