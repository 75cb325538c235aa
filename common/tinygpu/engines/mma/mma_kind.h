// The kinds of tcgen05.mma as data: element types and their codes, K, scale factors, how elements lie in memory.
// PTX ISA 9.7.16.2 (shapes, types), 9.7.16.4.2 (codes), 9.7.16.10 (scale vectors, sparsity).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/tinygpu/numerics/formats.h"
#include "common/tinygpu/timing/mma.h"

namespace tinygpu {

enum class MmaKind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// The type of D's elements.
enum class MmaAccumulator : uint8_t { f16, f32, s32 };

struct MmaKindInfo {
  std::string_view name;
  uint32_t k;  // of a dense instruction; .sp doubles it
  uint32_t
      element_bytes;  // of an element in shared memory as descriptors count; 1 for nibbles too, which have no MN-major
  struct Type {
    uint8_t code;  // in the instruction descriptor
    numerics::Format format;
  };
  std::span<const Type> types;
  struct Result {
    uint8_t code;
    MmaAccumulator type;
  };
  std::span<const Result> results;  // block-scaled kinds have no field for it: f32
  uint32_t metadata_span;           // .sp: elements of K that four bits of metadata speak of
  MmaShape::Kind timed_as;
  uint8_t scale_vectors;  // block-scaled kinds: the sum of the legal counts of scales a row: 1, 2, 4
  bool block_scaled() const { return scale_vectors != 0; }
  /// mxf4 and mxf4nvf4: all elements are e2m1, two to a byte.
  bool nibbles() const { return k == 64; }
};
const MmaKindInfo& info(MmaKind k);
const char* name_of(MmaKind k);
std::optional<MmaKind> mma_kind_from(std::string_view name);

/// How an operand's elements lie in 16 bytes of shared memory, and in cells of Tensor Memory.
enum class ElementPacking : uint8_t {
  natural,    // 4, 2 or 1 bytes each
  padded_b6,  // shared memory: 16 x 6 bits, then 4 bytes of padding; Tensor Memory: a byte each, in bits 5:0
  padded_b4,  // shared memory: 16 x 4 bits, then 8 bytes of padding; Tensor Memory: a byte each, in bits 5:2
  nibbles     // two to a byte, the first in the low half
};
ElementPacking packing_of(MmaKind kind, numerics::Format f);
/// Elements in 16 bytes of shared memory, and in a 32-bit cell of Tensor Memory.
uint32_t per_chunk(ElementPacking p, uint32_t element_bytes);
uint32_t per_cell(ElementPacking p, uint32_t element_bytes);

}  // namespace tinygpu
