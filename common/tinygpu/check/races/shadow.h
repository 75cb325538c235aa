// What is remembered of memory, in cells of 16 bytes. Cells that have seen the same share one history, so that an
// access to a tile costs a look at each cell and little more.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "common/tinygpu/base/function_ref.h"
#include "common/tinygpu/check/races/record.h"

namespace tinygpu::races {

constexpr uint64_t kCell = 16;  // bytes

/// Accesses to a cell that may still race with later ones: the last writes, and the reads since.
struct History {
  struct Entry {
    uint32_t record = 0;
    uint16_t bytes = 0;  // of the cell
  };
  static constexpr uint32_t kMost = 12;
  uint8_t size = 0;
  bool marked = false;
  uint16_t written = 0;  // bytes
  std::array<Entry, kMost> entry;
};

struct Verdict {
  bool over = false;    // a write may take the earlier access's place
  bool placed = false;  // it holds for this cell only
};
/// Asked of each pair of accesses that may be a race: the earlier one, the cell's address, its bytes that both touch.
/// Reports by itself.
using Judge = FunctionRef<Verdict(const Record& earlier, uint64_t cell, uint16_t bytes)>;
/// Called with bytes of a cell that are read and were not written.
using Unwritten = FunctionRef<void(uint64_t cell, uint16_t bytes)>;

/// Histories and the records that they name.
class Histories {
 public:
  /// The history of the cell at `address`, whose one is `handle`, after `now` has touched `bytes` of it. `record`: its
  /// number and one, once it has one. `placed`: it holds for this cell only.
  uint32_t touched(uint32_t handle, const Record& now, uint32_t& record, uint64_t address, uint16_t bytes, Judge judge,
                   bool& placed, Unwritten unwritten);
  /// The accesses that a history has, and which bytes of the cell each has touched.
  template <class F>
  void each(uint32_t handle, F&& f) const {
    const History& h = histories_[handle];
    for (uint32_t i = 0; i < h.size; ++i) f(records_[h.entry[i].record], h.entry[i].bytes);
  }
  /// So much has been allocated that looking for what is not named any more pays.
  bool full() const {
    return (free_histories_.empty() && histories_.size() > limit_) ||
           (free_records_.empty() && records_.size() > limit_);
  }
  /// Frees what is not named by a cell; `each` calls its argument with the handle of every cell.
  void collect(FunctionRef<void(FunctionRef<void(uint32_t)>)> each);

 private:
  uint32_t keep(const Record& r);
  uint32_t make(const History& h);
  std::vector<History> histories_{1};
  std::vector<Record> records_;
  std::vector<uint32_t> free_histories_, free_records_;
  size_t limit_ = 1 << 13;
};

/// One access going over cells: what has been found for one history holds for all cells that have it.
class Touch {
 public:
  Touch(Histories& histories, const Record& now, Judge judge, Unwritten unwritten)
      : histories_(histories), now_(now), judge_(judge), unwritten_(unwritten) {}
  /// [address, address + bytes) in `cells`, whose first one lies at `base`.
  void range(std::vector<uint32_t>& cells, uint64_t base, uint64_t address, uint64_t bytes);

 private:
  uint32_t after(uint32_t handle, uint64_t address, uint16_t bytes);
  Histories& histories_;
  const Record& now_;
  Judge judge_;
  Unwritten unwritten_;
  uint32_t record_ = 0;
  struct Memo {
    uint32_t before = ~0u, after = 0;
  };
  std::array<Memo, 64> memo_;  // of whole cells
};

}  // namespace tinygpu::races
