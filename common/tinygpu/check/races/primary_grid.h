// Global memory that two grids touch at the same time: one that lets its dependents start (griddepcontrol), and one
// that depends on it and has not waited for its end. The dependent one notes what it touches before its waits, and when
// both are over that is held against all that the primary has touched. Both outlive their launches, so places are
// written out.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/check/races/shadow.h"

namespace tinygpu::races {

class PrimaryGrid {
 public:
  /// Of every cluster the component whose first epoch says that the primary grid is over.
  static constexpr Component kOver = 1;
  static bool over(const Sight& known);

  struct Touch {
    LabelledPlace place;
    bool writes = false;
  };
  explicit PrimaryGrid(std::string kernel) : kernel_(std::move(kernel)) {}
  const std::string& kernel() const { return kernel_; }
  /// It has executed griddepcontrol.launch_dependents. From any host thread.
  void launches_dependents() { launches_ = true; }
  bool has_launched_dependents() const { return launches_; }
  /// What has touched the cells from `base` on.
  void add(uint64_t base, const std::vector<uint32_t>& handles, const Histories& histories);
  /// An access that touches these bytes, one of the two writing; null: there is none.
  const Touch* met(uint64_t address, uint64_t bytes, bool writes) const;

 private:
  struct Cell {
    uint16_t write = 0, read = 0;       // number and one of the last touch
    uint16_t written = 0, touched = 0;  // bytes
  };
  const std::string kernel_;
  std::atomic<bool> launches_ = false;
  std::vector<Touch> touches_;
  std::map<std::pair<const Op*, bool>, uint16_t> numbers_;
  std::unordered_map<uint64_t, Cell> cells_;  // by address / kCell
};

/// Grids that others may depend on, by %gridid, as long as a check of one of them keeps it.
class PrimaryGrids {
 public:
  std::shared_ptr<PrimaryGrid> add(uint64_t grid, const std::string& kernel);
  std::shared_ptr<PrimaryGrid> find(uint64_t grid) const;

 private:
  std::map<uint64_t, std::weak_ptr<PrimaryGrid>> grids_;
};

/// What a grid touches while the one on which it depends may not be over.
class EarlyTouches {
 public:
  /// From any host thread.
  void add(const Record& record, uint64_t address, uint64_t bytes);
  void clear() { touches_.clear(); }
  /// Calls f(record, address, bytes) for each.
  template <class F>
  void each(F&& f) const {
    for (const Touch& t : touches_) f(t.record, t.address, t.bytes);
  }

 private:
  struct Touch {
    Record record;
    uint64_t address, bytes;
  };
  std::mutex mutex_;
  std::vector<Touch> touches_;
};

}  // namespace tinygpu::races
