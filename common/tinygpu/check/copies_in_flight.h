// Accesses to shared memory that a bulk copy in flight is to write, or has yet to read (PTX ISA 9.7.9.25.2): by
// threads, by other copies when they are issued, by MMAs when they read their operands. Wrong in every schedule. Copies
// with gaps between their rows are not followed.
#pragma once
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "common/tinygpu/check/books.h"

namespace tinygpu::checks {

class CopiesInFlight final : public Observer {
 public:
  CopiesInFlight() : Observer(operations | shared_accesses) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<CopiesInFlight>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_issue(const AsyncOperation&) override;
  void on_access(const MemoryAccess&) override;

 private:
  struct Flight {
    uint64_t operation;
    uint32_t low, high;
    bool writes;
    Origin who;
    uint64_t issued;
  };
  /// Who meets a flight: "ordinary load", "a copy".
  struct Met {
    Origin who;
    uint64_t time;
    std::string what;
    const char* label;
    Severity severity = Severity::error;
  };
  static void tell(Met met, uint64_t at, uint64_t bytes, const Flight& flight);
  /// Of a CTA's shared memory.
  class Flights {
   public:
    void add(const Flight& flight);
    void land(uint64_t operation, bool writes);
    /// The first that an access to [low, high) must not meet.
    const Flight* meets(uint64_t low, uint64_t high, bool load) const { return first(low, high, !load, true); }
    bool may_meet(uint64_t low, uint64_t high) const { return !all_.empty() && low < high_ && high > low_; }
    /// The first that a copy must not meet: one that reads what it writes, or the other way round.
    const Flight* meets_copy(uint64_t low, uint64_t high, bool writes) const {
      return first(low, high, writes, !writes);
    }

   private:
    struct Interval {
      uint32_t low, high;
      auto operator<=>(const Interval&) const = default;
    };
    struct Count {
      uint32_t reads = 0, writes = 0;
    };
    /// The first of those that read, that write, or of both, which overlaps [low, high).
    const Flight* first(uint64_t low, uint64_t high, bool reads, bool writes) const;

    std::deque<Flight> all_;         // in the order of issue; they mostly land in that order
    uint32_t low_ = ~0u, high_ = 0;  // around all of them
    // How many have each interval. A ring has as many intervals as stages, however many copies are in flight.
    std::map<Interval, Count> intervals_;
  };
  /// An MMA reads an operand.
  static void operand(const MemoryAccess& a, const Flights& flights);
  CtaBooks<Flights> books_;
};

}  // namespace tinygpu::checks
