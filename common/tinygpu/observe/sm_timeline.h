// What one SM did in a launch, as a document for the program that launched it.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>

#include "common/tinygpu/observe/timeline.h"

namespace tinygpu::observe {

/// The first SM in the last launch: its CTAs, the asynchronous operations of their threads, and what these threads saw
/// and signalled at mbarriers.
class SmTimeline final : public Timeline {
 public:
  SmTimeline() : Timeline({.sms = 1, .kernels = ~0u, .spans = 200'000}) {}
  /// Null before a launch has ended. Times are cycles since the launch began.
  const nlohmann::ordered_json& json() const { return json_; }

  std::unique_ptr<Observer> another() override {
    auto other = std::make_unique<SmTimeline>();
    other->main_ = this;
    return other;
  }
  void on_launch(const Launch&) override;
  void on_sync(const Sync&) override;

 private:
  void take(const Launch& launch, const KernelTimeline& timeline) override;

  static constexpr size_t kMostSignals = 200'000;
  /// A thread's own: a wait that has seen a phase end, or an arrival.
  struct Signal {
    CtaKey cta;
    int warp;
    bool passed;
    uint64_t time;
  };
  std::vector<Signal> signals_;  // one host thread has all that happens on an SM
  nlohmann::ordered_json json_;
  SmTimeline* main_ = nullptr;  // whose document it is; null: this one's
};

}  // namespace tinygpu::observe
