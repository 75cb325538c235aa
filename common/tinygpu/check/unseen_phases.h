// mbarriers whose phases nobody sees complete before the next arrivals: a waiter that is late would see the parity come
// round again (PTX ISA 9.7.13.15.2).
#pragma once
#include <cstdint>
#include <unordered_map>

#include "common/tinygpu/check/books.h"

namespace tinygpu::checks {

class UnseenPhases final : public Observer {
 public:
  UnseenPhases() : Observer(synchronisation) {}
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_sync(const Sync&) override;

 private:
  struct Barrier {
    uint64_t phase = 0;  // in progress
    bool seen = true;    // the one before, complete, by a wait
  };
  using Barriers = std::unordered_map<uint32_t, Barrier>;  // by offset
  CtaBooks<Barriers> books_;
};

}  // namespace tinygpu::checks
