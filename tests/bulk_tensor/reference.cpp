#include "tests/bulk_tensor/reference.h"

#include <cmath>
#include <cstring>

namespace tinygpu::test {
namespace {

int element_bytes(int type) {
  constexpr int bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2};
  return bytes[type];
}

uint32_t swizzled(uint32_t a, int swizzle, int atomicity) {
  // The pattern tables of PTX ISA 5.5.7 in words: which address bits select the row, which they flip.
  const auto bit = [&](int i) { return a >> i & 1; };
  if (swizzle == 1) return a ^ (bit(7) << 4);
  if (swizzle == 2) return a ^ (bit(7) << 4) ^ (bit(8) << 5);
  if (swizzle != 3) return a;
  if (atomicity == 0) return a ^ (bit(7) << 4) ^ (bit(8) << 5) ^ (bit(9) << 6);
  if (atomicity == 1) return a ^ (bit(7) << 5) ^ (bit(8) << 6);
  if (atomicity == 2) return a ^ (bit(7) << 5) ^ (bit(8) << 6) ^ (bit(7) << 3);
  return a ^ (bit(7) << 6);
}

/// The element at tensor position g; with interleave g[0] counts slices.
Element element(const MapFields& m, const int64_t* g) {
  Element e{true, g[0] * unit_bytes(m)};
  for (int i = 0; i < m.rank; ++i) {
    e.inside = e.inside && g[i] >= 0 && g[i] < int64_t(m.dim[i]);
    if (i) e.address += g[i] * int64_t(m.stride[i]);
  }
  return e;
}

/// A row of `n` elements that begins at g.
Row row_at(const MapFields& m, const int64_t* g, int n) {
  Row row;
  int64_t at[5];
  std::memcpy(at, g, sizeof at);
  for (int i = 0; i < n; ++i, ++at[0]) row.push_back(element(m, at));
  return row;
}

void tile_rows(const Case& c, std::vector<Row>& rows) {
  const MapFields& m = c.map;
  int n[5];
  for (int i = 0; i < 5; ++i) {
    n[i] = i < m.rank ? (m.box[i] + m.step[i] - 1) / m.step[i] : 1;
    if (m.interleave && i == m.rank - 2) n[i] = 1;  // one slice of channels
  }
  for (int k4 = 0; k4 < n[4]; ++k4)
    for (int k3 = 0; k3 < n[3]; ++k3)
      for (int k2 = 0; k2 < n[2]; ++k2)
        for (int k1 = 0; k1 < n[1]; ++k1)
          for (int k0 = 0; k0 < (m.interleave ? n[0] : 1); ++k0) {
            const int k[5] = {k0, k1, k2, k3, k4};
            int64_t g[5];
            for (int i = 0; i < 5; ++i) g[i] = c.at[i] + int64_t(k[i]) * m.step[i];
            if (!m.interleave) g[0] = c.at[0];
            rows.push_back(row_at(m, g, m.interleave ? 1 : m.box[0]));
          }
}

void gathered_rows(const Case& c, std::vector<Row>& rows) {
  for (int j = 1; j <= 4; ++j) {
    const int64_t g[5] = {c.at[0], c.at[j], 0, 0, 0};
    rows.push_back(row_at(c.map, g, c.map.box[0]));
  }
}

void im2col_rows(const Case& c, std::vector<Row>& rows) {
  const MapFields& m = c.map;
  int64_t at[5];
  for (int i = 0; i < 5; ++i) at[i] = c.at[i];
  for (int p = 0; p < m.pixels; ++p) {
    int64_t g[5];
    for (int i = 0; i < 5; ++i) g[i] = at[i];
    for (int i = 0; i < 3 && i < m.rank - 2; ++i) g[i + 1] += c.offset[i];
    rows.push_back(row_at(m, g, m.channels));
    // The next base: W first; past its upper corner back to the lower one, and on with H, D, the image.
    int i = 1;
    for (; i <= m.rank - 2; ++i) {
      at[i] += m.step[i];
      if (at[i] < int64_t(m.dim[i]) + m.upper[i - 1]) break;
      at[i] = m.lower[i - 1];
    }
    if (i == m.rank - 1) at[i] += m.step[i];
  }
}

/// im2col::w and ::w::128: along W alone, the halo behind the last pixel or behind every 32 (inferred from the manual).
void wide_rows(const Case& c, std::vector<Row>& rows) {
  const MapFields& m = c.map;
  const int blocks = c.mode == Mode::im2col_w128 ? 4 : 1, pixels = c.mode == Mode::im2col_w128 ? 32 : m.pixels;
  for (int b = 0; b < blocks; ++b)
    for (int p = 0; p < pixels + c.offset[0]; ++p) {
      int64_t g[5];
      for (int i = 0; i < 5; ++i) g[i] = c.at[i];
      g[1] += c.offset[1] + int64_t(b * pixels + p) * m.step[1];
      rows.push_back(row_at(m, g, m.channels));
    }
}

/// The element as it arrives: f32 as tf32 where the map says so.
void arrive(const MapFields& m, uint8_t* element) {
  if (!m.tf32) return;
  uint32_t x;
  std::memcpy(&x, element, 4);
  const uint32_t exponent = x >> 23 & 0xff, fraction = x & 0x7fffff;
  if (exponent == 255 && fraction) {
    x = 0x7fffe000;
  } else if (exponent != 255) {
    const uint32_t low = x & 0x1fff, keep = x & ~0x1fffu;
    const bool up = low > 0x1000 || (low == 0x1000 && (x & 0x2000));
    x = keep + (up ? 0x2000 : 0);
  }
  std::memcpy(element, &x, 4);
}

// ---- Reductions

/// The value of a 16-bit float with `fraction` bits of fraction.
double widen(uint16_t h, int fraction) {
  const int exponent_bits = 15 - fraction, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = h >> fraction & ((1 << exponent_bits) - 1), low = h & ((1 << fraction) - 1);
  const double magnitude = exponent ? std::ldexp(double((1 << fraction) + low), exponent - bias - fraction)
                                    : std::ldexp(double(low), 1 - bias - fraction);
  return h & 0x8000 ? -magnitude : magnitude;
}

/// The nearest 16-bit float to a sum that no double has rounded yet (or not where it matters); ties to even.
uint16_t narrow(double x, int fraction) {
  const int bias = (1 << (14 - fraction)) - 1;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  int exponent = x == 0 ? 1 - bias : std::max(std::ilogb(x), 1 - bias);
  double units = std::nearbyint(std::ldexp(x, fraction - exponent));
  if (units == std::ldexp(1.0, fraction + 1)) units /= 2, ++exponent;
  if (exponent > bias) return uint16_t(sign | ((2 * bias + 1) << fraction));
  const bool normal = units >= std::ldexp(1.0, fraction);
  const int field = normal ? exponent + bias : 0;
  return uint16_t(sign | (field << fraction) | (int(units) & ((1 << fraction) - 1)));
}

template <class U, class S>
void reduce_integer(const std::string& op, uint8_t* to, const uint8_t* from) {
  U a, b;
  std::memcpy(&a, to, sizeof a);
  std::memcpy(&b, from, sizeof b);
  if (op == "add") a += b;
  if (op == "min") a = U(std::min(S(a), S(b)));
  if (op == "max") a = U(std::max(S(a), S(b)));
  if (op == "inc") a = a >= b ? 0 : a + 1;
  if (op == "dec") a = a == 0 || a > b ? b : a - 1;
  if (op == "and") a &= b;
  if (op == "or") a |= b;
  if (op == "xor") a ^= b;
  std::memcpy(to, &a, sizeof a);
}

void reduce_small(const std::string& op, uint8_t* to, const uint8_t* from, int fraction) {
  uint16_t a, b;
  std::memcpy(&a, to, 2);
  std::memcpy(&b, from, 2);
  const double x = widen(a, fraction), y = widen(b, fraction);
  const bool less = x < y || (x == y && std::signbit(x));
  if (op == "add")
    a = narrow(x + y, fraction);
  else
    a = less == (op == "min") ? a : b;
  std::memcpy(to, &a, 2);
}

void reduce_element(int type, const std::string& op, uint8_t* to, const uint8_t* from) {
  switch (type) {
    case 2: return reduce_integer<uint32_t, uint32_t>(op, to, from);
    case 3: return reduce_integer<uint32_t, int32_t>(op, to, from);
    case 4: return reduce_integer<uint64_t, uint64_t>(op, to, from);
    case 5: return reduce_integer<uint64_t, int64_t>(op, to, from);
    case 6: return reduce_small(op, to, from, 10);
    case 10: return reduce_small(op, to, from, 7);
    case 9: {
      double a, b;
      std::memcpy(&a, to, 8);
      std::memcpy(&b, from, 8);
      a += b;
      std::memcpy(to, &a, 8);
      return;
    }
    default: {
      float a, b;
      std::memcpy(&a, to, 4);
      std::memcpy(&b, from, 4);
      a = float(double(a) + double(b));
      std::memcpy(to, &a, 4);
    }
  }
}

}  // namespace

int unit_bytes(const MapFields& m) { return m.interleave ? 16 * m.interleave : element_bytes(m.type); }

uint32_t pitch_of(const MapFields& m) {
  constexpr uint32_t spans[] = {0, 32, 64, 128};
  if (m.interleave) return uint32_t(unit_bytes(m));
  return m.swizzle ? spans[m.swizzle] : uint32_t((m.im2col ? m.channels : m.box[0]) * unit_bytes(m));
}

std::vector<Row> rows_of(const Case& c) {
  std::vector<Row> rows;
  switch (c.mode) {
    case Mode::tile: tile_rows(c, rows); break;
    case Mode::gather4: gathered_rows(c, rows); break;
    case Mode::im2col: im2col_rows(c, rows); break;
    default: wide_rows(c, rows); break;
  }
  return rows;
}

uint32_t placed(const Case& c, uint32_t logical) {
  return swizzled(kBufferOffset + c.box_offset + logical, c.map.swizzle, c.map.atomicity) - kBufferOffset;
}

Expected expected_load(const Case& c, const std::vector<uint8_t>& memory) {
  Expected e;
  const int size = unit_bytes(c.map);
  uint32_t line = 0;
  for (const Row& row : rows_of(c)) {
    for (size_t i = 0; i < row.size(); ++i) {
      uint8_t bytes[32];
      if (row[i].inside) {
        std::memcpy(bytes, memory.data() + row[i].address, size_t(size));
        arrive(c.map, bytes);
      } else {
        for (int k = 0; k < size; ++k) bytes[k] = !c.map.nan_fill ? 0 : k % 2 ? 0x7f : 0xf7;
      }
      for (int k = 0; k < size; ++k)
        e.shared[placed(c, line * pitch_of(c.map) + uint32_t(i) * uint32_t(size) + uint32_t(k))] = bytes[k];
    }
    e.bytes += row.size() * size_t(size);
    ++line;
  }
  return e;
}

void expected_store(const Case& c, const std::vector<uint8_t>& shared, std::vector<uint8_t>& memory,
                    const std::string& operation) {
  const int size = unit_bytes(c.map), each = c.map.interleave ? 1 : 16 / size;
  uint32_t line = 0;
  for (const Row& row : rows_of(c)) {
    for (size_t i = 0; i < row.size(); i += size_t(each)) {
      if (!row[i].inside) continue;
      for (int k = 0; k < each * size; ++k) {
        const auto from = [&](int byte) {
          return shared[placed(c, line * pitch_of(c.map) + uint32_t(i) * uint32_t(size) + uint32_t(byte))];
        };
        uint8_t* to = memory.data() + row[i].address;
        const int element = element_bytes(c.map.type);
        if (operation.empty()) {
          to[k] = from(k);
        } else if (k % element == 0) {
          uint8_t value[8];
          for (int b = 0; b < element; ++b) value[b] = from(k + b);
          reduce_element(c.map.type, operation, to + k, value);
        }
      }
    }
    ++line;
  }
}

}  // namespace tinygpu::test
