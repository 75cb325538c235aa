// Device memory as both APIs see it: allocation, copies in any direction, fills.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "common/tinygpu/api/memory.h"
#include "common/tinygpu/base/checked.h"

namespace tinygpu::cuda {

class State;

/// Which side a copy's pointer must be on. `either`: found out from the address (unified addressing).
enum class Side : uint8_t { host, device, either };

/// INVALID_VALUE for size 0, OUT_OF_MEMORY (with a diagnosis).
CUresult allocate(State& s, uint64_t& address, size_t size, MemoryKind kind);
/// INVALID_VALUE unless `address` is the start of a live allocation of this kind.
CUresult release(State& s, uint64_t address, MemoryKind kind);
/// The same when the device has done what it was given. Nothing is done for address 0.
CUresult free_memory(State& s, uint64_t address, MemoryKind kind);
/// The program ends: what was never freed.
void tell_leaks(const State& s);

inline uint64_t address_of(uint64_t p) { return p; }
inline uint64_t address_of(const void* p) { return reinterpret_cast<uint64_t>(p); }
/// Pinned, or made known to the device.
inline bool is_host_memory(const Allocation& a) {
  return a.kind == MemoryKind::pinned || a.kind == MemoryKind::registered;
}
/// The host may use its address: is_host_memory(), or managed.
inline bool host_sees(const Allocation& a) { return is_host_memory(a) || a.kind == MemoryKind::managed; }

/// Rows of `width` bytes, padded to a pitch: INVALID_VALUE if no pitch holds such a row. Nothing is allocated, and the
/// address is 0, if any extent is 0.
CUresult allocate_pitched(State& s, uint64_t& address, size_t& pitch, size_t width, size_t height, size_t depth = 1);
/// Makes host memory known to the device. INVALID_VALUE if any of it isn't there or cannot be written.
CUresult register_host(State& s, void* p, size_t size);

/// One operand of a copy: `pitch` bytes from row to row, `slice` bytes from plane to plane. It begins `offset` bytes
/// behind `base`.
struct CopyEnd {
  const void* base = nullptr;
  Side side = Side::either;
  CheckedSize pitch = 0, slice = 0, offset = 0;
};
/// Copies width bytes × height rows × depth planes. INVALID_VALUE if any byte is outside an allocation, on the wrong
/// side, or not there, and for rows or planes that overlap. Overlapping operands give unspecified bytes.
CUresult copy(State& s, const CopyEnd& dst, const CopyEnd& src, size_t width, size_t height = 1, size_t depth = 1);

/// Fills width elements of `bytes` (1, 2, 4) × height × depth with `value`.
CUresult fill(State& s, uint64_t dst, uint32_t value, uint32_t bytes, size_t width, size_t height = 1,
              CheckedSize pitch = 0, size_t depth = 1, CheckedSize slice = 0);

/// A pointer through which tinygpu may read (or write) [p, p+size); nullptr if the range is not what `side` asks for,
/// or not there.
uint8_t* reach(State& s, const void* p, size_t size, Side side, bool write);

}  // namespace tinygpu::cuda
