// Accesses to memory as observers see them: which agent reads or writes what, when, in which proxy, how strongly.
#pragma once
#include <cstdint>
#include <memory>

#include "common/tinygpu/base/function_ref.h"
#include "common/tinygpu/machine/origin.h"
#include "common/tinygpu/ptx/memory_order.h"
#include "common/tinygpu/ptx/types.h"

namespace tinygpu {

class Cta;
class SmPartition;
class Warp;
struct OperandLayout;
struct TensorBox;

enum class AccessKind : uint8_t { read, write, atomic };

/// What an access goes through (PTX ISA 8.6).
enum class Proxy : uint8_t { generic, async, tensormap };

/// The lanes of one warp instruction that reach one memory.
struct LaneAccess {
  const Warp& warp;
  uint32_t lanes = 0;
  uint32_t bytes = 0;  // a lane
  // By lane, one of the two:
  const uint32_t* offset = nullptr;   // shared
  const uint64_t* address = nullptr;  // global
  uint64_t low = 0, high = 0;         // around all of them; `high` is behind the last byte
  bool dense = false;                 // 32 lanes, one behind the other
};

/// What the bytes of an operation's access are, where that is known.
struct Tile {
  const char* operand = "";               // of one that reads several: "A", "B"
  const OperandLayout* layout = nullptr;  // how an operand of so many rows lies (engines/mma/matrix_descriptor.h)
  uint32_t rows = 0;
  std::shared_ptr<const TensorBox> box;  // of a tensor copy (engines/tma/tensor_box.h), and where it begins
  uint32_t box_offset = 0;
  uint32_t lanes = 0;  // of cp.async: each range is one of these lanes', in their order, and all are of one size
};

/// An access to shared or global memory, at the moment when it happens: what a warp instruction's lanes do is told
/// before the bytes change, what an operation does is told before or behind them. Local memory, parameters and
/// constants are left out: no other thread writes them.
struct MemoryAccess {
  const SmPartition& partition;
  AccessKind kind = AccessKind::read;
  ptx::Space space = ptx::Space::shared;  // shared or global
  Proxy proxy = Proxy::generic;
  ptx::MemoryOrder order;
  const Cta* cta = nullptr;  // shared: whose memory; addresses are offsets in its window
  uint64_t time = 0;
  // Who: the lanes of a warp, or an asynchronous operation (of st.bulk and the like: a thread at once).
  const LaneAccess* lanes = nullptr;
  const Origin* operation = nullptr;
  const Tile* tile = nullptr;  // of an operation; may be null
  using Range = FunctionRef<void(uint64_t address, uint64_t bytes)>;
  const FunctionRef<void(Range)>* ranges = nullptr;  // of an operation: worked out when asked for

  Origin who() const;
  /// Calls f(address, bytes, lane) for each piece; the lane is −1 of an operation's.
  template <class F>
  void each(F&& f) const {
    if (ranges) return (*ranges)([&](uint64_t address, uint64_t bytes) { f(address, bytes, -1); });
    for (uint32_t m = lanes->lanes; m; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      f(lanes->offset ? lanes->offset[lane] : lanes->address[lane], uint64_t(lanes->bytes), lane);
    }
  }
};

/// A rectangle of cells of Tensor Memory. Never wraps: who makes one checks bounds first.
struct TmemRect {
  uint32_t lane = 0, lanes = 0, column = 0, columns = 0;
  bool overlaps(const TmemRect& o) const {
    return lane < o.lane + o.lanes && o.lane < lane + lanes && column < o.column + o.columns &&
           o.column < column + columns;
  }
  bool operator==(const TmemRect&) const = default;
};

/// An operation reads or writes cells of an SM's Tensor Memory.
struct TmemAccess {
  const SmPartition& partition;
  AccessKind kind = AccessKind::read;
  const Origin& who;
  uint32_t sm = 0;  // %smid
  TmemRect cells;
  uint64_t time = 0;
};

/// Columns of Tensor Memory change hands: told when tcgen05.alloc is answered, and when tcgen05.dealloc is issued.
struct TmemAllocation {
  const SmPartition& partition;
  const Origin& who;
  uint32_t sm = 0;  // %smid
  TmemRect cells;
  bool taken = false;
  uint64_t time = 0;
};

/// What an instruction or an operation takes of the ways to memory, told when it is issued.
struct MemoryTraffic {
  const SmPartition& partition;
  const Origin& who;
  uint32_t sm = 0;  // %smid
  uint64_t time = 0;
  uint64_t shared_bytes = 0;  // that shared memory gives and takes
  uint64_t l2_bytes = 0;      // that L2 gives or takes; accesses of warps move whole sectors of 32 bytes
  uint32_t missed = 0;        // lines of 128 bytes that device memory gives first; nothing is told of writing back
  uint32_t passes = 0;        // of the banks of shared memory that a warp instruction needs
  uint32_t ideal = 0;         // and would need if no bank were asked for two words at once
};

/// An observer asks for accesses to `space` (shared, global).
bool wanted(const SmPartition& partition, ptx::Space space);
void tell(const MemoryAccess& access);

/// An operation reads or writes what `ranges` hands to its argument, as (address, bytes). Costs a branch if no observer
/// wants to know.
template <class F>
void tell_operation(const SmPartition& partition, AccessKind kind, Proxy proxy, const Origin& who, const Cta* cta,
                    uint64_t time, F&& ranges, const Tile& tile = {}) {
  const ptx::Space space = cta ? ptx::Space::shared : ptx::Space::global;
  if (!wanted(partition, space)) return;
  const FunctionRef<void(MemoryAccess::Range)> each(ranges);
  tell(MemoryAccess{partition, kind, space, proxy, {}, cta, time, nullptr, &who, &tile, &each});
}
/// The same of bytes that lie one behind the other.
inline void tell_operation(const SmPartition& partition, AccessKind kind, Proxy proxy, const Origin& who,
                           const Cta* cta, uint64_t time, uint64_t address, uint64_t bytes) {
  tell_operation(partition, kind, proxy, who, cta, time, [&](MemoryAccess::Range f) {
    if (bytes) f(address, bytes);
  });
}
void tell(const TmemAccess& access);
void tell(const TmemAllocation& allocation);
void tell(const MemoryTraffic& traffic);

}  // namespace tinygpu
