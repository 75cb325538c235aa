// The order and the times in which ptxas would issue a straight run of instructions: it moves loads up as far as
// addresses and other accesses allow, and interleaves chains. The machine executes PTX in PTX's order and takes only
// the times from here.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/program/op.h"

namespace tinygpu {

/// One instruction of the run.
struct IssueNode {
  std::vector<uint32_t> uses, defs;  // registers
  uint32_t issue = 1;                // cycles of the issue port; 0: it is no instruction on the chip
  uint32_t latency = 0;              // of its result, from its issue, if that is known
  uint32_t expected = 0;             // of its result, if only its arrival tells; what a compiler reckons with
  uint32_t words = 0;                // registers that wait for such a result
  Pipe pipe = Pipe::none;
  uint8_t occupies = 0;  // cycles of the pipe
  enum Memory : uint8_t { reads_shared = 1, writes_shared = 2, reads_other = 4, writes_other = 8 };
  uint8_t memory = 0;
  bool in_turn = false;  // keeps its place among all that have this mark
};

/// Places in the run, first to last.
std::vector<uint32_t> issue_order(const std::vector<IssueNode>& run);

/// When the nodes issue in `order`, from 0 on, for a warp that is alone and waits for no result of unknown latency: by
/// place in the order. `ready`: by register, when results from before the run are there; those of the run come
/// into it. The last element is when the run is over.
class RegisterTimes {
 public:
  explicit RegisterTimes(size_t registers) : times_(registers), since_(registers) {}
  uint64_t at(uint32_t r) const { return since_[r] == clears_ ? times_[r] : 0; }
  void set(uint32_t r, uint64_t time) {
    times_[r] = time;
    since_[r] = clears_;
  }
  /// All results are there. It costs nothing: a function has many blocks.
  void clear() { ++clears_; }

 private:
  std::vector<uint64_t> times_;
  std::vector<uint32_t> since_;  // how many clears there had been when the time was set
  uint32_t clears_ = 0;
};
std::vector<uint64_t> issue_times(const std::vector<IssueNode>& run, const std::vector<uint32_t>& order, uint64_t begin,
                                  RegisterTimes& ready);

}  // namespace tinygpu
