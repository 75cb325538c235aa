// The tensor core of one SM: a queue of tcgen05.mma, .cp and .shift between issue and completion, and the commits that
// wait for them. Ordering rules: PTX ISA 9.7.16.6 (pipelined instruction pairs); times: the machine profile. The two
// tensor cores of a CTA pair work as one under cta_group::2: its operations queue in the even CTA's.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"

namespace tinygpu {

/// One asynchronous tcgen05 operation as the queue sees it.
struct TensorWork {
  enum class Kind : uint8_t { mma, copy, copy_4x256b, shift } kind = Kind::mma;
  uint8_t cta_group = 1;
  Origin origin;              // of its issue
  const Cta* peer = nullptr;  // cta_group::2: the other CTA of the pair
  uint64_t issued = 0;        // when, SM cycles
  uint64_t interval = 1;      // cycles until the unit can start the next operation of this kind
  uint64_t latency = 1;       // cycles from its start until its results are in place
  /// Cells of Tensor Memory that it touches.
  struct Cells {
    const Sm* sm;
    TmemRect rect;
    bool writes;
    const char* what;  // "tcgen05.cp", "A of tcgen05.mma" …
  };
  std::vector<Cells> cells;
  MmaPipeline pipeline;  // of an MMA
  /// Does all of it, reads and writes, when the unit executes it: never before `issued`, at the latest possible moment
  /// at `start + latency`.
  /// `who` is the operation.
  std::function<void(uint64_t now, const Origin& who)> execute;
};

/// One fill of a collector buffer, shared by the MMAs that name it: a fingerprint of the operand that the first of them
/// to execute has read, to tell when another sees other data.
using CollectorFill = std::shared_ptr<std::optional<uint64_t>>;

class TensorCore final : public Extension {
 public:
  static TensorCore& of(Sm& sm) { return sm.extensions.get<TensorCore>(sm.index); }
  explicit TensorCore(uint32_t sm) : sm_(sm) {}
  /// Where an operation of this cta_group that `cta` issues queues.
  static TensorCore& of(Cta& cta, uint32_t cta_group);

  /// Queues `work` behind what was issued before it. Returns the time at which it will be complete if
  /// nothing is reordered.
  uint64_t enqueue(SmPartition& partition, TensorWork work);

  /// When the next MMA can be issued after one at `now`: at most `depth` may wait for the unit.
  uint64_t room_at(uint64_t now, size_t depth);

  /// tcgen05.commit: calls `arrive` `latency` cycles after everything that this thread has issued with this cta_group
  /// is complete, or after `now` if there is nothing.
  void commit(SmPartition& partition, const Origin& origin, uint8_t cta_group, uint64_t now, uint64_t latency,
              std::function<void(uint64_t now, const Origin& who)> arrive);

  /// What a collector buffer holds for MMAs that are issued now; null: nothing. Buffer 0 is A's, 1 to 4 are B's b0 to
  /// b3 (.ws).
  CollectorFill& collector(uint32_t buffer) { return collectors_[buffer]; }

  /// A CTA that exits with operations under way: "tensor-core-busy-at-exit"; they have no further effect.
  void on_cta_exit(Cta& cta) override;

  /// Operations issued and not complete.
  size_t in_flight() const { return pending_.size(); }
  uint64_t executed() const { return executed_; }

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  void cancel(const Cta& cta);
  void release(SmPartition& partition, const NodePtr& node);
  void finish(SmPartition& partition, const NodePtr& node, uint64_t now);
  static bool promised(const TensorWork& first, const TensorWork& second);
  static bool overwrites(const TensorWork& first, const TensorWork& second);

  const uint32_t sm_;                // %smid
  std::deque<NodePtr> pending_;      // in issue order; commits too
  uint64_t mma_free_ = 0;            // when the matrix unit can start again
  std::deque<uint64_t> mma_starts_;  // when MMAs begin that have not begun, in order
  uint64_t mma_done_ = 0;            // when the latest MMA is planned to complete
  uint64_t copy_free_ = 0;           // when the shared-memory-to-Tensor-Memory path can
  uint64_t executed_ = 0;
  CollectorFill collectors_[5];
};

}  // namespace tinygpu
