#include "common/tinygpu/engines/mma/operand_planes.h"

#include <emmintrin.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {
namespace {

using numerics::kPlane;

/// Eight rows of eight 16-bit elements to eight planes.
void transpose_8x8(const uint8_t* const* rows, uint16_t* out) {
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

template <class Element>
void scatter(const uint8_t* chunk, uint32_t row, uint32_t first_k, OperandPlanes& out) {
  Element e[16 / sizeof(Element)];
  std::memcpy(e, chunk, 16);
  Element* planes = reinterpret_cast<Element*>(out.bytes);
  for (uint32_t i = 0; i < 16 / sizeof(Element); ++i) planes[(first_k + i) * kPlane + row] = e[i];
}

int64_t gather_k_major(Cta& cta, const OperandLayout& layout, uint32_t rows, OperandPlanes& out) {
  const uint32_t per_chunk = 16 / layout.element_bytes;
  for (uint32_t row = 0; row < rows; row += 8)
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      const uint8_t* from[8];
      uint32_t offsets[8];
      layout.k_major_chunks(row, chunk, offsets);
      for (uint32_t i = 0; i < 8; ++i) {
        from[i] = cta.shared_at(offsets[i], 16);
        if (!from[i]) return offsets[i];
      }
      if (layout.element_bytes == 2) {
        transpose_8x8(from, reinterpret_cast<uint16_t*>(out.bytes) + chunk * 8 * kPlane + row);
        continue;
      }
      for (uint32_t i = 0; i < 8; ++i) {
        if (layout.element_bytes == 4)
          scatter<uint32_t>(from[i], row + i, chunk * per_chunk, out);
        else
          scatter<uint8_t>(from[i], row + i, chunk * per_chunk, out);
      }
    }
  return -1;
}

int64_t gather_mn_major(Cta& cta, const OperandLayout& layout, uint32_t rows, OperandPlanes& out) {
  const uint32_t per_chunk = 16 / layout.element_bytes, k_count = 32 / layout.element_bytes;
  for (uint32_t k = 0; k < k_count; ++k)
    for (uint32_t row = 0; row < rows; row += per_chunk) {
      const uint32_t offset = layout.mn_major_chunk(row / per_chunk, k);
      const uint8_t* from = cta.shared_at(offset, 16);
      if (!from) return offset;
      // The last chunk of 8-bit elements may hold rows beyond the operand's.
      const uint32_t count = std::min(per_chunk, rows - row);
      std::memcpy(out.bytes + (k * kPlane + row) * layout.element_bytes, from, count * layout.element_bytes);
    }
  return -1;
}

}  // namespace

int64_t gather(Cta& cta, const OperandLayout& layout, uint32_t rows, OperandPlanes& out) {
  return layout.mn_major ? gather_mn_major(cta, layout, rows, out) : gather_k_major(cta, layout, rows, out);
}

void tell_read(Cta& cta, const OperandLayout& layout, uint32_t rows, const Origin& who, const char* operand,
               uint64_t now) {
  tell_operation(
      cta.cluster.domain, AccessKind::read, Proxy::async, who, &cta, now,
      [&](MemoryAccess::Range f) {
        layout.each_chunk(rows, [&](uint32_t offset) {
          f(offset, 16);
          return true;
        });
      },
      operand);
}

void gather(const TensorMemory& memory, const uint32_t* lanes, uint32_t column, uint32_t rows, uint32_t element_bytes,
            OperandPlanes& out) {
  for (uint32_t w = 0; w < 8; ++w) {
    const uint32_t* cells = memory.column(column + w);
    if (element_bytes == 4) {
      uint32_t* plane = reinterpret_cast<uint32_t*>(out.bytes) + w * kPlane;
      for (uint32_t r = 0; r < rows; ++r) plane[r] = cells[lanes[r / 16] + r % 16];
    } else {
      uint16_t* plane = reinterpret_cast<uint16_t*>(out.bytes) + 2 * w * kPlane;
      for (uint32_t r = 0; r < rows; ++r) {
        const uint32_t word = cells[lanes[r / 16] + r % 16];
        plane[r] = uint16_t(word);
        plane[kPlane + r] = uint16_t(word >> 16);
      }
    }
  }
}

}  // namespace tinygpu
