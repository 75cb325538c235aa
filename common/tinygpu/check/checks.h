// The checks that every run has.
#pragma once
#include <memory>
#include <vector>

#include "common/tinygpu/machine/observe.h"

namespace tinygpu::checks {

class AllChecks {
 public:
  AllChecks();
  ~AllChecks();
  /// To be attached to launches one after the other, each to one at a time; they live as long as this.
  const std::vector<Observer*>& observers() const { return observers_; }

 private:
  std::vector<std::unique_ptr<Observer>> owned_;
  std::vector<Observer*> observers_;
};

}  // namespace tinygpu::checks
