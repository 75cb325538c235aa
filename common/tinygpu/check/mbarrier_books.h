// Who arrives on each mbarrier, who expects bytes there and whose copies bring them. It explains deadlocks, and tells
// of a phase that more bytes have reached than it expects (PTX ISA 9.7.13.15.5).
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/check/books.h"
#include "common/tinygpu/machine/chip/mbarrier_acts.h"

namespace tinygpu::checks {

class MbarrierBooks final : public Observer, public MbarrierActs {
 public:
  MbarrierBooks() : Observer(operations | synchronisation) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<MbarrierBooks>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_complete(const AsyncOperation&) override;
  void on_sync(const Sync&) override;
  std::vector<MbarrierAct> acts_on(const Cta& cta, uint32_t offset) const override;

 private:
  struct Act {
    MbarrierAct::Kind kind;
    Origin who;
    uint64_t phase, amount, time;
  };
  struct Book {
    uint64_t phase = 0;  // in progress
    std::vector<Act> acts;
  };
  using Books = std::unordered_map<uint32_t, Book>;                               // of a CTA, by offset
  using Boxes = std::unordered_map<const Op*, std::shared_ptr<const TensorBox>>;  // the last one of a tensor copy

  static void note(Book& book, MbarrierAct::Kind kind, const Sync& s);
  /// The last arrival of a phase has come, and more bytes have landed than are expected.
  void tell_excess(const Book& book, const Sync& arrive, int64_t excess) const;
  MbarrierAct told(const Act& act, const Boxes& boxes) const;

  CtaBooks<Books> books_;
  std::vector<Boxes> boxes_;  // by SmPartition::index
};

}  // namespace tinygpu::checks
