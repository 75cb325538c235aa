// Tensor Memory of one SM: 128 lanes x 512 columns of 32-bit cells, its allocator, and the rules that tcgen05 accesses
// obey. PTX ISA 9.7.16.1 (geometry), 9.7.16.7 (allocation); checks as ptxas -g-tmem-access-check decodes
// them.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"

namespace tinygpu {

inline constexpr uint32_t kTmemLanes = 128;
inline constexpr uint32_t kTmemColumns = 512;
inline constexpr uint32_t kTmemUnit = 32;  // columns that are allocated together
inline constexpr uint32_t kTmemUnits = kTmemColumns / kTmemUnit;

/// A Tensor Memory address: lane in bits 31:16, column in bits 15:0 (PTX ISA 9.7.16.1.1). Both may be out of range.
struct TmemAddress {
  uint32_t lane = 0, column = 0;
  static TmemAddress from(uint32_t taddr) { return {taddr >> 16, taddr & 0xffff}; }
};

/// What freshly allocated cells hold: no document says what hardware leaves there, so tinygpu leaves a value that names
/// the cell and that no test would expect.
constexpr uint32_t tmem_poison(uint32_t lane, uint32_t column) {
  return 0xDEAD0000u | (column & 511) << 7 | (lane & 127);
}

class TensorMemory final : public Extension {
 public:
  static TensorMemory& of(Sm& sm) { return sm.extensions.get<TensorMemory>(); }

  TensorMemory();
  ~TensorMemory() override;

  // ---- Cells
  // A column's 128 lanes are contiguous: register r of a 32x32b access is 128 bytes of one column, and an MMA that is
  // vectorised over its rows (lanes) writes accumulator column n with plain stores. Indices must be in range.

  /// The 128 lanes of a column, 64-byte aligned; column c+1 follows at +128.
  uint32_t* column(uint32_t c) { return cells_ + c * kTmemLanes; }
  const uint32_t* column(uint32_t c) const { return cells_ + c * kTmemLanes; }
  uint32_t cell(uint32_t lane, uint32_t c) const { return cells_[c * kTmemLanes + lane]; }
  /// Writes one cell and marks it written.
  void set_cell(uint32_t lane, uint32_t c, uint32_t value) {
    cells_[c * kTmemLanes + lane] = value;
    written_[c][lane >> 5] |= 1u << (lane & 31);
  }
  /// Rows to and from cells, for engines that work in rows: out[i*stride + j] = cell(rect.lane+i, rect.column+j).
  void read_rows(const TmemRect& rect, uint32_t* out, size_t stride) const;
  void write_rows(const TmemRect& rect, const uint32_t* in, size_t stride);

  /// Cells written since their columns were allocated, 32 lanes of partition p per word.
  uint32_t written(uint32_t c, uint32_t partition) const { return written_[c][partition]; }
  void mark_written(uint32_t c, uint32_t partition, uint32_t lanes) { written_[c][partition] |= lanes; }
  void mark_written(const TmemRect& rect);
  /// Replaces the marks of a partition: cells that moved take theirs along.
  void set_written(uint32_t c, uint32_t partition, uint32_t lanes) {
    written_[c][partition] = lanes;
    marked_ = {};
  }
  bool all_written(const TmemRect& rect) const;
  bool any_written(const TmemRect& rect) const;

  // ---- Allocation: units of 32 columns, blocks aligned to their own size, lowest first
  struct Block {
    Cta* owner = nullptr;
    uint32_t first = 0, units = 0;  // in units
    uint32_t cta_group = 1;
    Origin who;  // the alloc
  };
  /// The owner of a column's unit, or nullptr.
  const Cta* owner(uint32_t c) const { return unit_owner_[c / kTmemUnit]; }
  /// Bit u: unit u is taken.
  uint32_t taken() const { return taken_; }
  /// First unit of the lowest free aligned block of `units` (a power of two) in a map of taken units; −1 if there is
  /// none.
  static int find_free(uint32_t taken, uint32_t units);
  /// Takes a block: poisons its cells. The units must be free.
  void take(Cta& owner, uint32_t first, uint32_t units, uint32_t cta_group, const Origin& who);
  /// The block of `owner` that starts at unit `first`, or nullptr.
  const Block* block_at(const Cta& owner, uint32_t first) const;
  /// Frees the units [first, first+units) that `owner` has; what is left of a block that began there can't be freed any
  /// more, as in the code that ptxas generates.
  void release(const Cta& owner, uint32_t first, uint32_t units);
  const std::vector<Block>& blocks() const { return blocks_; }

  /// An alloc or dealloc that a warp is blocked in; also one half of a cta_group::2 handshake.
  struct Request {
    enum class Kind : uint8_t { alloc, dealloc } kind = Kind::alloc;
    enum class Stage : uint8_t { waiting, answering, done } stage = Stage::waiting;
    Warp* warp = nullptr;
    uint32_t columns = 0, address = 0;
    uint64_t since = 0;
    Place slot;  // alloc: where the address goes
    Origin who;
  };
  /// What an SM knows of a CTA that used the allocator.
  struct CtaState {
    bool relinquished = false;
    uint32_t last_columns = 0;  // of the CTA's latest alloc, 0: none yet
    uint32_t cta_group = 0;     // of the CTA's first tcgen05 instruction that has one
    std::list<Request> requests;

    Request* request_of(const Warp& w);
    /// The oldest request of this kind that waits for the peer CTA or for columns.
    Request* waiting(Request::Kind kind);
  };
  CtaState& state_of(const Cta& cta) { return states_[&cta]; }

  // ---- Time
  /// Takes a partition's read or write port for `cycles` from `now` on, or from when it is free; returns when that
  /// ends.
  double use_port(uint32_t partition, bool write, uint64_t now, double cycles) {
    double& free = port_free_[write][partition];
    free = std::max(free, double(now)) + cycles;
    return free;
  }

  /// Leak and pair checks: "tmem-leak", "cta-pair-exited".
  void on_cta_exit(Cta& cta) override;

 private:
  std::unique_ptr<uint32_t[]> storage_;
  uint32_t* cells_ = nullptr;                                    // [column][lane]
  std::array<std::array<uint32_t, 4>, kTmemColumns> written_{};  // [column][partition], bit = lane % 32
  std::array<TmemRect, 4> marked_{};                             // as written, last; in turns
  uint32_t next_mark_ = 0;
  std::array<const Cta*, kTmemUnits> unit_owner_{};
  uint32_t taken_ = 0;
  std::vector<Block> blocks_;
  std::unordered_map<const Cta*, CtaState> states_;
  double port_free_[2][4] = {};  // [write][partition]
};

/// One broken Tensor Memory rule that hardware does not enforce: a warning, or an error with RunOptions::strict_tmem.
void tmem_violation(const Origin& who, std::string code, std::string message, std::string help);

/// The rules that ld, st, cp, shift and mma share: "tmem-out-of-bounds" (columns within 0..511, lanes within 0..127)
/// and "tmem-unallocated" (every touched unit is owned by `cta`). `what` names the operand: "the accumulator",
/// "tcgen05.ld". Returns the rectangle to use: as asked, or moved into range (columns and lanes modulo the geometry;
/// inferred) when the rule is only a warning. `owned`: the generated code itself traps on columns that the CTA does not
/// own, so that is an error always.
TmemRect tmem_check(TensorMemory& memory, const Cta& cta, TmemAddress at, uint32_t lanes, uint32_t columns,
                    const Origin& who, const char* what, bool owned = false);

/// tcgen05 instructions of one kernel all have the same .cta_group: "cta-group-mixed".
void tmem_check_cta_group(Cta& cta, uint32_t cta_group, const Origin& who);

/// The other CTA of a cta_group::2 pair (%cluster_ctarank differs in bit 0). Faults "cta-pair-missing" in a cluster
/// that has none, "cta-pair-exited" if it is gone.
Cta& tmem_peer(Cta& cta, const Origin& who, const char* what);

}  // namespace tinygpu
