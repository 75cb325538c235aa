#include "common/tinygpu/engines/mma/operand_planes.h"

#include <emmintrin.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/engines/mma/packed_elements.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {
namespace {

using numerics::kPlane;

/// Where eight rows begin.
struct EightRows {
  const uint8_t* base;
  const uint32_t* offsets;
  const uint8_t* operator[](uint32_t i) const { return base + offsets[i]; }
};

/// Eight rows of eight 16-bit elements to eight planes.
void transpose_8x8(const EightRows& rows, uint16_t* out) {
  __m128i r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i]));
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
    s[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
  }
  for (int h = 0; h < 2; ++h) {  // rows 0–3 and 4–7
    r[4 * h] = _mm_unpacklo_epi32(s[4 * h], s[4 * h + 2]);
    r[4 * h + 1] = _mm_unpackhi_epi32(s[4 * h], s[4 * h + 2]);
    r[4 * h + 2] = _mm_unpacklo_epi32(s[4 * h + 1], s[4 * h + 3]);
    r[4 * h + 3] = _mm_unpackhi_epi32(s[4 * h + 1], s[4 * h + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (2 * i) * kPlane), _mm_unpacklo_epi64(r[i], r[4 + i]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (2 * i + 1) * kPlane), _mm_unpackhi_epi64(r[i], r[4 + i]));
  }
}

/// Eight rows of 16 bytes to 16 planes.
void transpose_8x16(const EightRows& rows, uint8_t* out) {
  __m128i r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i]));
  // Rows 0 and 4, 1 and 5 … interleaved, three times over: byte 8 k + row.
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = _mm_unpacklo_epi8(r[i], r[i + 4]);
    s[2 * i + 1] = _mm_unpackhi_epi8(r[i], r[i + 4]);
  }
  for (int h = 0; h < 2; ++h) {  // bytes 0–7 and 8–15 of each row
    const __m128i even_low = _mm_unpacklo_epi8(s[h], s[4 + h]), even_high = _mm_unpackhi_epi8(s[h], s[4 + h]);
    const __m128i odd_low = _mm_unpacklo_epi8(s[2 + h], s[6 + h]), odd_high = _mm_unpackhi_epi8(s[2 + h], s[6 + h]);
    const __m128i planes[4] = {_mm_unpacklo_epi8(even_low, odd_low), _mm_unpackhi_epi8(even_low, odd_low),
                               _mm_unpacklo_epi8(even_high, odd_high), _mm_unpackhi_epi8(even_high, odd_high)};
    for (int i = 0; i < 4; ++i) {
      uint8_t* to = out + (8 * h + 2 * i) * kPlane;
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), planes[i]);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to + kPlane), _mm_unpackhi_epi64(planes[i], planes[i]));
    }
  }
}

/// 16 bytes of eight rows each to planes from `k` on.
void to_planes(const EightRows& rows, ElementPacking packing, uint32_t element_bytes, uint32_t k, uint32_t row,
               OperandPlanes& out) {
  if (packing != ElementPacking::natural) {
    uint8_t elements[8][32];
    for (uint32_t i = 0; i < 8; ++i) {
      if (packing == ElementPacking::padded_b6)
        unpack_b6x16(rows[i], elements[i]);
      else
        unpack_b4(rows[i], packing == ElementPacking::nibbles ? 16 : 8, elements[i]);
    }
    static constexpr uint32_t kOffsets[] = {0, 32, 64, 96, 128, 160, 192, 224};
    transpose_8x16({elements[0], kOffsets}, out.bytes + k * kPlane + row);
    if (packing != ElementPacking::nibbles) return;
    transpose_8x16({elements[0] + 16, kOffsets}, out.bytes + (k + 16) * kPlane + row);
  } else if (element_bytes == 1) {
    transpose_8x16(rows, out.bytes + k * kPlane + row);
  } else if (element_bytes == 2) {
    transpose_8x8(rows, reinterpret_cast<uint16_t*>(out.bytes) + k * kPlane + row);
  } else {
    uint32_t* planes = reinterpret_cast<uint32_t*>(out.bytes) + k * kPlane + row;
    for (uint32_t i = 0; i < 8; ++i) {
      uint32_t e[4];
      std::memcpy(e, rows[i], 16);
      for (uint32_t j = 0; j < 4; ++j) planes[j * kPlane + i] = e[j];
    }
  }
}

/// The host prefetches what lies `ahead` of there.
void fetch(const uint8_t* from, uint32_t ahead) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + ahead));
}

/// One 16-byte chunk along K of eight rows, and of each eight rows behind them if all lie alike.
class ChunkOfEight {
 public:
  ChunkOfEight(const OperandLayout& layout, uint32_t first, uint32_t chunk) : step_(layout.descriptor.stride) {
    if (first % 8 != 0 || !layout.eights_lie_alike()) return;
    alike_ = true;
    layout.k_major_chunks(first, chunk, offsets_);
    const auto [low, high] = std::minmax_element(offsets_, offsets_ + 8);
    low_ = *low, bytes_ = *high - *low + 16;
    for (uint32_t& o : offsets_) o -= low_;
  }
  /// Those that lie `row` rows from the first. False: not known where, or not all in the CTA's shared memory.
  [[gnu::always_inline]] bool at(Cta& cta, uint32_t row, EightRows& out) const {
    const uint32_t low = low_ + row / 8 * step_;
    if (!alike_ || low + bytes_ > OperandLayout::kWindow) return false;
    out = {cta.shared_at(low, bytes_), offsets_};
    return out.base;
  }

 private:
  uint32_t step_, low_ = 0, bytes_ = 0;
  bool alike_ = false;
  uint32_t offsets_[8] = {};
};

int64_t gather_k_major(Cta& cta, const OperandLayout& layout, ElementPacking packing, uint32_t first, uint32_t rows,
                       OperandPlanes& out) {
  const uint32_t elements = per_chunk(packing, layout.element_bytes), chunks = layout.k_bytes / 16;
  constexpr uint32_t kAhead = 4;  // eights of rows
  const auto of = [&](uint32_t chunk) { return ChunkOfEight(layout, first, chunk); };
  const ChunkOfEight eights[OperandLayout::kMostChunks] = {of(0), of(1), of(2), of(3)};
  for (uint32_t row = 0; row < rows; row += 8)
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      EightRows eight;
      uint32_t offsets[8];
      if (!eights[chunk].at(cta, row, eight)) {
        for (uint32_t i = 0; i < 8; ++i) {
          offsets[i] = layout.k_major_chunk(first + row + i, chunk);
          if (!cta.shared_at(offsets[i], 16)) return offsets[i];
        }
        eight = {cta.shared.data(), offsets};
      }
      // Its neighbours lie in the same line of the host's cache, and the next rows as this one lies in its eight.
      if (chunk == 0)
        for (uint32_t i = 0; i < 8; ++i) fetch(eight[i], kAhead * layout.descriptor.stride);
      to_planes(eight, packing, layout.element_bytes, chunk * elements, row, out);
    }
  return -1;
}

int64_t gather_mn_major(Cta& cta, const OperandLayout& layout, ElementPacking packing, uint32_t first, uint32_t rows,
                        OperandPlanes& out) {
  const uint32_t in_chunk = 16 / layout.element_bytes, k_count = layout.k_bytes / layout.element_bytes;
  for (uint32_t k = 0; k < k_count; ++k)
    for (uint32_t row = 0; row < rows;) {
      // The first and the last chunk may hold rows that are not the operand's.
      const uint32_t skip = (first + row) % in_chunk, count = std::min(in_chunk - skip, rows - row);
      const uint32_t offset = layout.mn_major_chunk((first + row) / in_chunk, k);
      const uint8_t* from = cta.shared_at(offset, 16);
      if (!from) return offset;
      // 16 rows of 6 or 4 bits are packed into one chunk, as 16 terms of K are in K-major order.
      uint8_t elements[16];
      if (packing == ElementPacking::padded_b6) unpack_b6x16(from, elements), from = elements;
      if (packing == ElementPacking::padded_b4) unpack_b4(from, 8, elements), from = elements;
      std::memcpy(out.bytes + (k * kPlane + row) * layout.element_bytes, from + skip * layout.element_bytes,
                  count * layout.element_bytes);
      row += count;
    }
  return -1;
}

}  // namespace

int64_t gather(Cta& cta, const OperandLayout& layout, ElementPacking packing, uint32_t first, uint32_t rows,
               OperandPlanes& out) {
  return layout.mn_major ? gather_mn_major(cta, layout, packing, first, rows, out)
                         : gather_k_major(cta, layout, packing, first, rows, out);
}

void tell_read(Cta& cta, const OperandLayout& layout, uint32_t rows, const Origin& who, const char* operand,
               uint64_t now) {
  tell_operation(cta.cluster.partition, AccessKind::read, Proxy::async, who, &cta, now,
                 [&](MemoryAccess::Range f) {
                   layout.each_chunk(rows, [&](uint32_t offset) {
                     f(offset, 16);
                     return true;
                   });
                 },
                 {operand, &layout, rows, nullptr, 0});
}

namespace {

/// Row r's element i of each cell to plane first + i, `of(cell, i)` being the pattern.
template <class Element, class Of>
void cells_to_planes(const uint32_t* cells, const uint32_t* lanes, uint32_t rows, uint32_t first, uint32_t elements,
                     OperandPlanes& out, const Of& of) {
  Element* planes = reinterpret_cast<Element*>(out.bytes) + first * kPlane;
  for (uint32_t r = 0; r < rows; ++r) {
    const uint32_t cell = cells[lanes[r / 16] + r % 16];
    for (uint32_t i = 0; i < elements; ++i) planes[i * kPlane + r] = Element(of(cell, i));
  }
}

}  // namespace

void gather(const TensorMemory& memory, const uint32_t* lanes, uint32_t column, uint32_t rows, ElementPacking packing,
            uint32_t element_bytes, OperandPlanes& out) {
  const uint32_t elements = per_cell(packing, element_bytes);
  for (uint32_t w = 0; w < 8; ++w) {
    const uint32_t* cells = memory.column(column + w);
    const uint32_t k = w * elements;
    if (packing == ElementPacking::nibbles)
      cells_to_planes<uint8_t>(cells, lanes, rows, k, 8, out, [](uint32_t v, uint32_t i) { return v >> 4 * i & 15; });
    else if (packing == ElementPacking::padded_b4)
      cells_to_planes<uint8_t>(cells, lanes, rows, k, 4, out,
                               [](uint32_t v, uint32_t i) { return v >> (8 * i + 2) & 15; });
    else if (packing == ElementPacking::padded_b6)
      cells_to_planes<uint8_t>(cells, lanes, rows, k, 4, out, [](uint32_t v, uint32_t i) { return v >> 8 * i & 63; });
    else if (element_bytes == 1)
      cells_to_planes<uint8_t>(cells, lanes, rows, k, 4, out, [](uint32_t v, uint32_t i) { return v >> 8 * i; });
    else if (element_bytes == 2)
      cells_to_planes<uint16_t>(cells, lanes, rows, k, 2, out, [](uint32_t v, uint32_t i) { return v >> 16 * i; });
    else
      cells_to_planes<uint32_t>(cells, lanes, rows, k, 1, out, [](uint32_t v, uint32_t) { return v; });
  }
}

}  // namespace tinygpu
