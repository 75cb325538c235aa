// tcgen05.commit in a thread that has issued nothing it could be about, while another thread of its CTA has (PTX ISA
// 9.7.16.12): it arrives at once, whatever those operations do. Where no thread has issued any, an empty commit is what
// a loop of no steps leaves, and passes.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/tinygpu/machine/observe.h"

namespace tinygpu::checks {

class EmptyCommits final : public Observer {
 public:
  EmptyCommits() : Observer(operations) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<EmptyCommits>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_issue(const AsyncOperation&) override;

 private:
  struct Issue {
    Origin who;
    uint64_t time;
  };
  using Threads = std::map<std::pair<int, int>, Issue>;  // warp, lane: the first MMA, copy or shift of each
  std::vector<std::map<CtaKey, Threads>> issuers_;       // by SmPartition::index and CTA
};

}  // namespace tinygpu::checks
