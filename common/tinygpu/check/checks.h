// The checks of a run: quick ones, which every run has, or the whole happens-before check in place of those that it
// makes superfluous.
#pragma once
#include <memory>
#include <vector>

#include "common/tinygpu/machine/observe.h"

namespace tinygpu::checks {

enum class Level : uint8_t {
  quick,  // what costs next to nothing and is wrong in every schedule
  races,  // every order that is missing (check/races)
};

class AllChecks {
 public:
  explicit AllChecks(Level level = Level::quick);
  ~AllChecks();
  AllChecks(AllChecks&&) noexcept;
  AllChecks& operator=(AllChecks&&) noexcept;
  /// To be attached to launches one after the other, and to those that run beside each other; they live as long as
  /// this.
  const std::vector<Observer*>& observers() const { return observers_; }

 private:
  std::vector<std::unique_ptr<Observer>> owned_;
  std::vector<Observer*> observers_;
};

}  // namespace tinygpu::checks
