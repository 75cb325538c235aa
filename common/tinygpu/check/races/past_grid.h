// What a grid has touched in global memory that lets the next one of its stream start before it is over
// (griddepcontrol). Kept beyond its launch, so places are written out.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/check/races/shadow.h"

namespace tinygpu::races {

class PastGrid {
 public:
  /// Of every cluster the component whose first epoch says that the grid before is over.
  static constexpr Component kOver = 1;
  static bool over(const Sight& known);

  struct Touch {
    LabelledPlace place;
    bool writes = false;
  };
  PastGrid() = default;
  explicit PastGrid(std::string kernel) : kernel_(std::move(kernel)) {}
  bool empty() const { return cells_.empty(); }
  const std::string& kernel() const { return kernel_; }
  /// What has touched the cells from `base` on.
  void add(uint64_t base, const std::vector<uint32_t>& handles, const Histories& histories);
  /// Somebody who has touched these bytes, one of the two writing; null: nobody.
  const Touch* met(uint64_t address, uint64_t bytes, bool writes) const;

 private:
  struct Cell {
    uint16_t write = 0, read = 0;       // number and one of the last touch
    uint16_t written = 0, touched = 0;  // bytes
  };
  std::string kernel_;
  std::vector<Touch> touches_;
  std::map<std::pair<const Op*, bool>, uint16_t> numbers_;
  std::unordered_map<uint64_t, Cell> cells_;  // by address / kCell
};

}  // namespace tinygpu::races
