// When, by the GPU's clock, the threads of a diagnosis's places did what it tells of: so that a program can look up in
// what its threads have logged (%clock64) what each of them was at.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::observe {

class PlaceClock final : public Observer {
 public:
  PlaceClock() : Observer(operations | accesses) {}
  std::unique_ptr<Observer> another() override;
  void on_launch(const Launch&) override;
  void on_issue(const AsyncOperation&) override;
  void on_access(const MemoryAccess&) override;

  /// Of a place in the last launch; an asynchronous operation's is when its thread issued it. Nothing where that is not
  /// known, and where launches run beside each other: a place does not say in which of them it is.
  std::optional<uint64_t> of(const Where& place) const;

 private:
  using Moment = std::tuple<Dim3, int, int, uint64_t>;  // CTA, warp, line of PTX, time
  /// Something of an operation happens. Of two of one line at once, it is told of the first.
  void add(const Origin& who, uint64_t time, uint64_t issued);

  mutable std::mutex mutex_;             // SMs of different clusters run on different host threads
  std::map<uint64_t, uint64_t> issued_;  // by operation
  std::map<Moment, uint64_t> moments_;   // of operations: when that one was issued
  uint64_t start_ = 0;
  bool beside_ = false;
};

}  // namespace tinygpu::observe
