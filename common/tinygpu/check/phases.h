// What mbarriers' phases tell of mistakes in counting them (PTX ISA 9.7.13.15.2 and .5):
// * A phase that no thread sees complete before the next arrivals: a waiter that is late would see the parity come
// round.
// * A wait for the phase before the first, which passes at once, on an mbarrier that counts the bytes of copies: who
// waits
//   there waits for data, and has none yet. A producer that waits so for its slots to be free does it on an mbarrier
//   that counts no bytes.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "common/tinygpu/check/books.h"

namespace tinygpu::checks {

class Phases final : public Observer {
 public:
  Phases() : Observer(synchronisation) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<Phases>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_sync(const Sync&) override;

 private:
  /// Of an mbarrier in its first phase, the first who waited for the phase before it, and the first who expected bytes.
  struct First {
    Origin waiter, expecter;  // no launch: there was none yet
    uint64_t waited = 0, expected = 0;
  };
  struct Barrier {
    uint64_t phase = 0;            // in progress
    bool seen = true;              // the one before, complete, by a wait
    std::unique_ptr<First> first;  // null: it is past, or has been told of
  };
  using Barriers = std::unordered_map<uint32_t, Barrier>;  // by offset
  static void tell_unseen(const Barrier& barrier, const Sync& arrive);
  static void tell_early(Barrier& barrier, const Sync& sync);
  CtaBooks<Barriers> books_;
};

}  // namespace tinygpu::checks
