// Waits for the phase before an mbarrier's first, which pass at once, on mbarriers that count the bytes of copies: who
// waits there waits for data, and has none yet. (PTX ISA 9.7.13.15.5.) A producer that waits so for its slots to be
// free does it on an mbarrier that nobody's bytes arrive at.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "common/tinygpu/check/books.h"

namespace tinygpu::checks {

class EarlyWaits final : public Observer {
 public:
  EarlyWaits() : Observer(synchronisation) {}
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_sync(const Sync&) override;

 private:
  /// Of an mbarrier in its first phase.
  struct Barrier {
    Origin waiter, expecter;  // the first of each; no launch: there was none yet
    uint64_t waited = 0, expected = 0;
    bool told = false;
  };
  using Barriers = std::unordered_map<uint32_t, Barrier>;  // by offset
  static void look(Barrier& barrier, const Sync& sync);
  CtaBooks<Barriers> books_;
};

}  // namespace tinygpu::checks
