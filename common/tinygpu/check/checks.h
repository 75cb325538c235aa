// The checks of a run: quick ones, which every run has, or the whole happens-before check in place of those that it
// makes superfluous. A run with the quick ones has that check of the first cluster of each grid, which most mistakes of
// a kernel are in: so it costs a grid of many clusters next to nothing.
#pragma once
#include <memory>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::checks {

enum class Level : uint8_t {
  quick,          // what costs next to nothing
  races,          // every order that is missing (check/races)
  without_races,  // the quick ones without that of the first cluster: what watches the other clusters watches all
  clock_alone,  // of a timing-only run, which leaves accesses out: what follows mbarriers, whose accesses are all there
  none,
};

/// Of the check for races: its notes say what is kept though no manual promises it, and what it does not follow. A run
/// with the quick checks leaves them out.
bool is_of_order(const Diagnosis& d);

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
