// Tensor copies element by element, from the text of the manual and of the H200's measurements: shares no code with the
// engine. A box is a list of rows as they lie in shared memory; each knows where its elements lie in global memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tests/bulk_tensor/map_bits.h"

namespace tinygpu::test {

inline constexpr uint32_t kShared = 64 * 1024;
// Where `buffer` of the test kernels lies: the first multiple of 1024 behind the window's reserved KiB and the
// mbarrier.
inline constexpr uint32_t kBufferOffset = 2048;

enum class Mode { tile, gather4, im2col, im2col_w, im2col_w128 };

struct Case {
  MapFields map;
  Mode mode = Mode::tile;
  int at[5] = {0, 0, 0, 0, 0};
  int offset[3] = {0, 0, 0};  // im2col: W, H, D; im2col::w: halo, offset
  uint32_t box_offset = 0;    // of the box in `buffer`
};

/// One element, or with interleave one slice: inside the tensor or not, and its address from the tensor's base.
struct Element {
  bool inside;
  int64_t address;
};
using Row = std::vector<Element>;

/// Bytes of an element, of a slice with interleave.
int unit_bytes(const MapFields& m);
/// Distance of two rows in shared memory.
uint32_t pitch_of(const MapFields& m);
std::vector<Row> rows_of(const Case& c);

/// Place in `buffer` of byte `logical` of the box.
uint32_t placed(const Case& c, uint32_t logical);

struct Expected {
  std::vector<uint8_t> shared = std::vector<uint8_t>(kShared, 0xee);
  uint64_t bytes = 0;
};
/// What a load leaves in a buffer of 0xee bytes, and what the mbarrier counts.
Expected expected_load(const Case& c, const std::vector<uint8_t>& memory);

/// What a store, or the reduction `operation`, leaves in `memory`; `shared` is the buffer. Chunks of 16 bytes whose
/// first element is inside are written whole.
void expected_store(const Case& c, const std::vector<uint8_t>& shared, std::vector<uint8_t>& memory,
                    const std::string& operation = {});

}  // namespace tinygpu::test
