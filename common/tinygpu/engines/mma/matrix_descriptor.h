// What the tensor cores read out of a matrix descriptor: fields, their limits, and where each operand byte lies in
// shared memory. PTX ISA 9.7.16.4.1 (tcgen05), 9.7.15.5 (wgmma); address formulas confirmed on an H200
// (notes/evidence.md). The encoding side is common/layout; the two share no code.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tinygpu {

/// A field that holds something illegal: what a diagnosis prints.
struct FieldProblem {
  std::string field;  // "swizzle (bits 63:61)"
  std::string holds;
  std::string legal;
  std::string sentence() const;  // "the … field holds …; legal: …"
};

enum class SwizzleMode : uint8_t { none, b32, b64, b128, b128_atom32 };
const char* name_of(SwizzleMode m);
/// Bytes of one row of the swizzle pattern: 16 without swizzle.
uint32_t span_of(SwizzleMode m);

/// A 64-bit shared-memory matrix descriptor taken apart. Offsets in bytes.
struct MatrixDescriptor {
  uint64_t raw = 0;
  uint32_t start = 0;    // 18-bit offset in the CTA's shared window
  uint32_t leading = 0;  // leading-dimension byte offset (LBO)
  uint32_t stride = 0;   // stride-dimension byte offset (SBO)
  uint8_t constant = 0;  // bits 48:46 of a tcgen05 descriptor, 1
  uint8_t base_offset = 0;
  bool absolute_leading = false;  // bit 52, sm_103a only
  uint8_t swizzle_code = 0;
  SwizzleMode swizzle = SwizzleMode::none;

  /// Of tcgen05: constant 0b001 in 48:46, swizzle in 63:61.
  static MatrixDescriptor tcgen05(uint64_t raw);
  /// Of wgmma: swizzle in 63:62.
  static MatrixDescriptor wgmma(uint64_t raw);
};

/// The first field of a tcgen05 descriptor that no instruction could use, on sm_100.
std::optional<FieldProblem> check(const MatrixDescriptor& d);
/// Likewise for wgmma.
std::optional<FieldProblem> check_wgmma(const MatrixDescriptor& d);

/// One operand as an instruction reads it: rows are M (of A) or N (of B).
struct OperandLayout {
  MatrixDescriptor descriptor;
  bool mn_major = false;
  uint32_t element_bytes = 2;
  uint32_t k_bytes = 32;  // along K that an instruction reads of each row; 64 of B with .sp

  static constexpr uint32_t kMostChunks = 4;     // of 16 bytes, in k_bytes
  static constexpr uint32_t kWindow = 1u << 18;  // where offsets begin anew

  /// Offset in the shared window of the 16-byte chunk `chunk` (along K) of `row`; K-major only.
  uint32_t k_major_chunk(uint32_t row, uint32_t chunk) const;
  /// The same of eight rows from `row`, a multiple of eight.
  void k_major_chunks(uint32_t row, uint32_t chunk, uint32_t (&offsets)[8]) const;
  /// Each eight rows lie as the eight before them do, descriptor.stride further on; K-major only.
  bool eights_lie_alike() const;
  /// Offset of the 16 bytes that hold rows `chunk` * 16/element_bytes … of column `k`; MN-major only.
  uint32_t mn_major_chunk(uint32_t chunk, uint32_t k) const;
  /// Offset of the element's first byte.
  uint32_t element(uint32_t row, uint32_t k) const;
  /// Calls f(offset) for each 16-byte chunk of `rows` rows of k_bytes along K, until it returns false.
  template <class F>
  void each_chunk(uint32_t rows, F&& f) const;

 private:
  uint32_t swizzled(uint32_t address) const;
};

template <class F>
void OperandLayout::each_chunk(uint32_t rows, F&& f) const {
  if (mn_major) {
    const uint32_t per_chunk = 16 / element_bytes;
    for (uint32_t k = 0; k < k_bytes / element_bytes; ++k)
      for (uint32_t row = 0; row < rows; row += per_chunk)
        if (!f(mn_major_chunk(row / per_chunk, k))) return;
    return;
  }
  for (uint32_t row = 0; row < rows; row += 8)
    for (uint32_t chunk = 0; chunk < k_bytes / 16; ++chunk) {
      uint32_t offsets[8];
      k_major_chunks(row, chunk, offsets);
      for (const uint32_t offset : offsets)
        if (!f(offset)) return;
    }
}

/// The combination rules of a major-ness, an element size and a swizzle mode (PTX ISA 9.7.16.3).
std::optional<FieldProblem> check_operand(const OperandLayout& o, const char* name);

}  // namespace tinygpu
