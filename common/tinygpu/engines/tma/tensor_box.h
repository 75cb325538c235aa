// What a tensor copy moves: the rows of a box (tile, gather4/scatter4, im2col) between global memory and swizzled
// shared memory. Pure data movement; when it happens is bulk_engine's business.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/engines/tma/reduction.h"
#include "common/tinygpu/engines/tma/tensor_map.h"
#include "common/tinygpu/machine/memory/access.h"

namespace tinygpu {

/// Where in the tensor, and how the box is walked (PTX ISA 5.5.3 to 5.5.5).
struct TensorTile {
  enum class Mode : uint8_t { tile, gather4, im2col, im2col_w, im2col_w128 } mode = Mode::tile;
  int32_t at[5] = {};       // coordinates, dimension 0 first; gather4: column and four rows
  uint32_t offset[3] = {};  // im2col: offsets W, H, D; im2col::w: halo and W offset
};

/// A box bound to its map: everything that can be known at issue.
struct TensorBox {
  TensorMap map;
  TensorTile tile;

  /// Rows in shared memory: runs along dimension 0, pixels, or interleaved slices.
  uint64_t rows() const;
  /// Bytes of one row in shared memory without padding.
  uint32_t row_bytes() const { return map.interleave ? 16 * map.interleave : map.inner_bytes(); }
  uint32_t pitch() const { return map.interleave ? 16 * map.interleave : map.pitch(); }
  /// Extent in shared memory from the box's first byte.
  uint64_t extent() const { return rows() ? (rows() - 1) * pitch() + row_bytes() : 0; }
  /// Whether it fills all of that, at `offset` of shared memory.
  bool shared_without_gaps(uint32_t offset) const;
  /// Faults if the box does not fit into the shared memory of `cta` behind `offset`.
  void check_fits(const Cta& cta, uint32_t offset, const Origin& who, const char* verb) const;
  /// What a load adds to the mbarrier's transactions: the whole box, out of bounds or not, padding not counted.
  uint64_t transfer_bytes() const;

  /// The bytes of global memory that it reads or writes, and those of shared memory with the box at `offset`:
  /// f(address, bytes), neighbours in the order of the walk together.
  void each_global(bool load, MemoryAccess::Range f) const;
  void each_shared(uint32_t offset, bool load, MemoryAccess::Range f) const;

  /// What lies at a byte of shared memory, with the box at `offset`: its row and byte in the box; the tensor's elements
  /// along dimension 0 from there on, in bytes of shared memory, and its coordinates in the others, as far as the mode
  /// tells them. Nothing where the box does not reach, or where no row is a run along dimension 0 (interleaved).
  struct Place {
    uint32_t row = 0, byte = 0;
    int64_t along = 0;
    int64_t at[5] = {};  // [0] unused
  };
  std::optional<Place> place_of(uint32_t offset, uint32_t address) const;
  /// "row 5, columns 32 to 39 of the box": so many bytes from there on.
  std::string name_of(const Place& p, uint32_t bytes) const;

  /// The lines of global memory that it touches are those of the request that is made next.
  void add_lines(MemoryRequests& memory) const;
  /// Global → shared memory of `cta`, at `offset`. Faults through `who`.
  void load(const GlobalMemory& memory, Cta& cta, uint32_t offset, const Origin& who) const;
  /// Shared memory → a dense copy of the rows, in order.
  std::vector<uint8_t> gather_shared(Cta& cta, uint32_t offset, const Origin& who) const;
  /// Rows → global memory, whole 16-byte chunks of those that begin inside the tensor.
  void store(const GlobalMemory& memory, const std::vector<uint8_t>& rows, const Origin& who) const;
  void reduce(const GlobalMemory& memory, const std::vector<uint8_t>& rows, ReduceOperation operation,
              const Origin& who) const;
};

/// Global memory of one engine operation: remembers the last allocation.
class GlobalView {
 public:
  GlobalView(const GlobalMemory& memory, const Origin& who, const char* verb)
      : memory_(memory), who_(who), verb_(verb) {}
  /// Host pointer of [address, address+bytes), or a fault.
  uint8_t* at(uint64_t address, uint64_t bytes) {
    if (inside(base_, end_ - base_, address, bytes)) return host_ + (address - base_);
    return find(address, bytes);
  }
  /// Of `bytes` that follow what at() returned last, as many as its allocation holds.
  uint64_t rest(uint64_t address, uint64_t bytes) const { return address + bytes <= end_ ? bytes : end_ - address; }

 private:
  uint8_t* find(uint64_t address, uint64_t bytes);
  const GlobalMemory& memory_;
  const Origin& who_;
  const char* verb_;
  uint64_t base_ = 0, end_ = 0;
  uint8_t* host_ = nullptr;
};

}  // namespace tinygpu
