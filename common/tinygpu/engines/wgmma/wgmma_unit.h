// Hopper's warpgroup MMA as an asynchronous engine (PTX ISA 9.7.15): operations of a warpgroup execute in issue order,
// operands are read when they execute, results reach registers when an instruction may read them.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "common/tinygpu/engines/mma/matrix_descriptor.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"
#include "common/tinygpu/numerics/formats.h"

namespace tinygpu {

/// What one wgmma.mma_async says, the same in all four warps.
struct WgmmaForm {
  enum class Result : uint8_t { f32, f16, s32 } d = Result::f32;
  numerics::Format a = numerics::Format::f16, b = numerics::Format::f16;
  uint32_t n = 8;
  bool a_in_registers = false;
  bool accumulate = false, negate_a = false, negate_b = false, saturate = false;
  bool a_mn_major = false, b_mn_major = false;
  bool binary = false;   // elements are bits (a and b: the bytes that hold them), whose products are added
  bool sparse = false;   // A has half of its elements, metadata behind A's registers says which
  uint8_t selector = 0;  // of the threads whose metadata count
  uint64_t a_descriptor = 0, b_descriptor = 0;
  uint32_t element_bytes() const;
  uint32_t k() const { return (sparse ? 64 : 32) / element_bytes(); }
  /// Of operands in shared memory.
  OperandLayout a_layout() const { return {MatrixDescriptor::wgmma(a_descriptor), a_mn_major, element_bytes(), 32}; }
  OperandLayout b_layout() const {
    return {MatrixDescriptor::wgmma(b_descriptor), b_mn_major, element_bytes(), sparse ? 64u : 32u};
  }
  bool operator==(const WgmmaForm&) const = default;
};

/// The work of one warpgroup of a CTA.
class Warpgroup {
 public:
  /// The warpgroup that `w` belongs to, made on first use.
  static Warpgroup& of(Warp& w);

  /// One warp's part of the next operation. `d`, `a`: slots of its registers, relative to the frame; of a sparse one
  /// the last of `a` is the metadata's. The operation is
  /// queued when all four warps have issued theirs.
  void issue(Warp& w, const WgmmaForm& form, const std::vector<uint32_t>& d, const std::vector<uint32_t>& a);
  /// The tensor core's queue has places for a few operations. Whether it is known when the next one of `w` has a place:
  /// the other warps may have to issue theirs first. Where it is not, the warp is to be blocked, and is woken.
  bool place_known(const Warp& w);
  /// When the operation that `w` has issued last has a place; until then the warp waits.
  uint64_t placed_at(const Warp& w) const;
  void commit(Warp& w);
  /// How many operations of this warp all but its latest `pending` groups hold.
  uint64_t through(const Warp& w, uint32_t pending) const;
  /// True if all but the latest `pending` groups of this warp have completed; `when` is the time at which they had.
  bool completed(Warp& w, uint32_t pending, uint64_t& when) const;
  /// Puts results that have landed into the warp's registers.
  void settle(Warp& w);
  /// The warp has waited for all but its latest `pending` groups: their values may be used.
  void waited(const Warp& w, uint32_t pending);
  /// True if nothing that the warp issued is still to execute.
  bool idle(const Warp& w) const { return done_ >= warps_[w.index() % 4].issued; }
  enum class Conflict : uint8_t {
    none,
    accumulator,  // touches what a wgmma that still runs writes
    operand,      // overwrites what a wgmma that still runs reads
    taken         // touches what a mov has taken of a wgmma that has ended, and for which no wait has been executed
  };
  /// What an op of `w` that reads and writes these slots (relative to its frame) would disturb. Accumulators that have
  /// landed are settled on the way.
  Conflict conflict(Warp& w, const std::vector<uint32_t>& reads, const std::vector<uint32_t>& writes);
  /// A mov waits for these slots. What uses the value that it takes has yet to wait for the wgmma.
  void take(const Warp& w, const std::vector<uint32_t>& reads);
  /// Bytes [begin, end) of the warp's register file are no longer a frame of the operations' own: what they would put
  /// there is lost.
  void forget(Warp& w, uint32_t begin, uint32_t end);
  /// Fills the registers of operations in flight with a pattern that is a NaN: what an instruction without a wait may
  /// read.
  void poison(Warp& w);

 private:
  static constexpr uint32_t kRows = 64;
  /// D of one or more operations: 64 rows by up to 256 columns, word (row, column) at [column * 64 + row].
  struct Accumulator {
    std::vector<uint32_t> words;
    WgmmaForm::Result type = WgmmaForm::Result::f32;
    uint32_t n = 0;
    std::array<std::vector<uint32_t>, 4> slots;  // absolute, by warp
    std::array<bool, 4> here{};                  // the warp's rows live in `words`, its registers are stale
    std::array<bool, 4> orphan{};                // the warp's registers are no longer the operation's
    std::array<bool, 4> taken{};                 // a mov of the warp has the value, and the warp has not waited
    uint32_t running = 0;                        // operations queued or executing
    uint64_t last = 0;                           // number of the latest of them
  };
  struct Operation {
    WgmmaForm form;
    Origin who;
    uint32_t arrived = 0;  // warps
    std::array<std::vector<uint32_t>, 4> d, a;
    std::array<bool, 4> orphan{}, taken{};  // as of an accumulator
    std::shared_ptr<Accumulator> accumulator;
    uint64_t issued = 0;
    bool opens_batch = false;  // it comes behind a commit
  };
  struct WarpState {
    Warp* warp = nullptr;
    uint64_t issued = 0;
    std::vector<uint64_t> groups;  // operations issued when each was committed
    bool ahead = false;            // it waits until the other warps have issued theirs
  };

  void enqueue(std::shared_ptr<Operation> o);
  void execute(const Operation& o, uint64_t now);
  /// Calls f(register, half of it, word of the accumulator) for each value of the warp's rows.
  template <class F>
  void each_value(Accumulator& a, uint32_t warp, F&& f);
  void load(Accumulator& a, uint32_t warp);
  void store(Accumulator& a, uint32_t warp);

  Cta* cta_ = nullptr;
  uint64_t channel_ = 0;
  std::array<WarpState, 4> warps_;
  std::deque<std::shared_ptr<Operation>> gathering_;
  std::deque<std::shared_ptr<Operation>> queue_;  // not yet executed
  uint64_t queued_ = 0, done_ = 0;
  uint64_t last_visible_ = 0;  // of the operation queued last
  std::vector<uint64_t> done_at_;
  std::vector<std::shared_ptr<Accumulator>> accumulators_;
};

}  // namespace tinygpu
