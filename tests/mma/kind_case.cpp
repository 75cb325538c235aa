#include "tests/mma/kind_case.h"

#include <fmt/format.h>

#include <algorithm>

namespace gen5::test {
namespace {

uint32_t bits_of(Type t) {
  switch (t) {
    case Type::tf32: return 32;
    case Type::f16:
    case Type::bf16: return 16;
    case Type::e2m3:
    case Type::e3m2: return 6;
    case Type::e2m1: return 4;
    default: return 8;
  }
}

const char* name_of(Type t) {
  static constexpr const char* kNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "s8", "u8"};
  return kNames[int(t)];
}

/// A row of elements as bytes of shared memory, 16 bytes after 16 bytes: whole elements; 16 of 6 or 4 bits with padding
/// behind them; nibbles without.
std::vector<uint8_t> in_shared(const KindCase& c, Type t, const uint32_t* e, uint32_t count, Random& noise) {
  const uint32_t width = bits_of(t);
  std::vector<uint8_t> out;
  if (width >= 8) {
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t b = 0; b < width; b += 8) out.push_back(uint8_t(e[i] >> b));
    return out;
  }
  const uint32_t together = c.nibbles() ? 32 : 16;
  for (uint32_t i = 0; i < count; i += together) {
    uint8_t chunk[16];
    for (auto& b : chunk) b = uint8_t(noise());
    for (uint32_t bit = 0; bit < together * width; ++bit) {
      const bool set = e[i + bit / width] >> bit % width & 1;
      chunk[bit / 8] = uint8_t((chunk[bit / 8] & ~(1u << bit % 8)) | unsigned(set) << bit % 8);
    }
    out.insert(out.end(), chunk, chunk + 16);
  }
  return out;
}

/// Word w of a row of A in Tensor Memory.
uint32_t in_cell(const KindCase& c, Type t, const uint32_t* e, uint32_t w, Random& noise) {
  if (c.nibbles()) {
    uint32_t v = 0;
    for (uint32_t i = 0; i < 8; ++i) v |= e[8 * w + i] << 4 * i;
    return v;
  }
  const uint32_t width = bits_of(t);
  if (width == 32) return e[w];
  if (width == 16) return (e[2 * w] & 0xffff) | e[2 * w + 1] << 16;
  uint32_t v = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    // What lies around a narrow element in its byte does not count.
    const uint32_t byte = width == 8   ? e[4 * w + i]
                          : width == 6 ? e[4 * w + i] | (noise() & 0xc0)
                                       : e[4 * w + i] << 2 | (noise() & 0xc3);
    v |= (byte & 0xff) << 8 * i;
  }
  return v;
}

uint32_t type_code(const KindCase& c, Type t) {
  if (c.nibbles()) return 1;
  switch (t) {
    case Type::bf16:
    case Type::e5m2:
    case Type::s8: return 1;
    case Type::tf32: return 2;
    case Type::e2m3: return 3;
    case Type::e3m2: return 4;
    case Type::e2m1: return 5;
    default: return 0;
  }
}

}  // namespace

uint32_t KindCase::idesc() const {
  uint32_t d = uint32_t(sparse) << 2 | type_code(*this, a_type) << 7 | type_code(*this, b_type) << 10 |
               uint32_t(negate_a) << 13 | uint32_t(negate_b) << 14 | uint32_t(a.mn_major) << 15 |
               uint32_t(b.mn_major) << 16 | (n / 8) << 17;
  if (block_scaled()) return d | sfb_id << 4 | uint32_t(ue8m0) << 23 | (m / 128) << 27 | sfa_id << 29;
  const uint32_t result_code = result == Result::f32 ? 1 : result == Result::f16 ? 0 : 2;
  return d | selector | uint32_t(saturate) << 3 | result_code << 4 | (m / 16) << 24 | max_shift << 30;
}

std::string KindCase::instruction() const {
  std::string text = fmt::format("tcgen05.mma{}{}.GROUP.kind::{}", ws ? ".ws" : "", sparse ? ".sp" : "", kind);
  if (block_scaled()) text += ".block_scale" + scale_vector;
  text += collector + " [%d], " + (a_in_tmem ? "[%at]" : "%adesc") + ", %bdesc, " + (sparse ? "[%meta], " : "") +
          "%idesc, ";
  if (block_scaled()) text += "[%sfa], [%sfb], ";
  if (masked) text += pair ? "{%m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7}, " : "{%m0, %m1, %m2, %m3}, ";
  return text + "%en" + (zero_columns ? ", %zero;" : ";");
}

std::string KindCase::describe() const {
  return fmt::format(
      "{} {}x{} {}*{} result {} acc {} neg {}{} sat {} ids {}/{} scales {}{} selector {} A {} swizzle {} slice {} B "
      "{} swizzle {} slice {} lane {} mask {} zero {:#x}",
      instruction(), m, n, name_of(a_type), name_of(b_type), int(result), accumulate, negate_a, negate_b, saturate,
      sfa_id, sfb_id, scales, ue8m0 ? " ue8m0" : " ue4m3", selector, a.mn_major ? "M" : "K", a.swizzle, a.slice,
      b.mn_major ? "N" : "K", b.swizzle, b.slice, lane, masked, zero_columns);
}

// Data-path layouts. A: rows of the CTA are lanes. B: 64 rows twice, the right half of D in the upper lanes. C and F:
// 16 lanes of every 32. D: rows are lanes. E, G: .ws, two or four banks of lanes with as many parts of D's columns.
KindCase::Element KindCase::element_of(uint32_t cta, uint32_t l, uint32_t column) const {
  const uint32_t own = m / ctas();
  if (own == 128) return {true, cta * 128 + l, column};
  if (ws || (pair && !sparse)) return {true, cta * own + l % own, column + l / own * (n / (128 / own))};
  const uint32_t within = l % 32 - lane;
  if (l % 32 < lane || within > 15) return {};
  return {true, cta * 64 + l / 32 * 16 + within, column};
}

uint32_t KindCase::width() const {
  const uint32_t own = m / ctas();
  return ws || (pair && !sparse) ? n / (128 / own) : n;
}

bool KindCase::zeroed(uint32_t column) const {
  if (!(zero_columns >> 39 & 1)) return false;
  const uint32_t masks = 128 / m, part = column / (n / masks);
  // The sequence written out run by run.
  std::vector<bool> sequence;
  bool ones = zero_columns >> (32 + part) & 1;
  while (sequence.size() < 1024) {
    const uint32_t run = 1 + (ones ? zero_columns >> 40 & 0xff : zero_columns >> 48 & 0xff);
    sequence.insert(sequence.end(), run, ones);
    ones = !ones;
  }
  return sequence[(zero_columns >> 8 * part & 0xff) + column % (n / masks)];
}

void KindCase::pick_values(Random& random, uint32_t flavour, uint32_t c_flavour) {
  for (uint32_t i = 0; i < m * terms(); ++i) a_bits.push_back(pattern(random, a_type, flavour, i));
  for (uint32_t i = 0; i < n * k(); ++i) b_bits.push_back(pattern(random, b_type, random.chance(64) ? 7 : flavour, 0));
  if (sparse)
    for (uint32_t row = 0; row < m; ++row)
      for (uint32_t at = 0; at < k();) {
        if (kind == "tf32") {
          a_position.push_back(uint8_t(at + random.below(2)));
          at += 2;
          continue;
        }
        // Two of four, a pair of elements each for fp4; the second may lie before the first only as 2, 1.
        static constexpr uint8_t kKept[7][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 1}, {2, 3}};
        const auto& kept = kKept[random.below(7)];
        for (const uint8_t p : kept)
          for (uint32_t i = 0; i < (nibbles() ? 2u : 1u); ++i)
            a_position.push_back(uint8_t(at + (nibbles() ? 2 * p + i : p)));
        at += nibbles() ? 8 : 4;
      }
  const auto scale = [&] {
    if (!ue8m0) return random.chance(32) ? random() & 0xff : flavour == 0 ? 0x30 + random.below(16) : random() & 0x7e;
    if (flavour == 3 && random.chance(512)) return 0xffu;
    if (flavour == 1) return 127 - 20 + random.below(40);
    if (flavour == 2) return 20 + random.below(60);
    if (flavour == 7) return random() & 0xff;
    return 127 - 3 + random.below(6);
  };
  for (uint32_t i = 0; i < m * scales; ++i) a_scale.push_back(scale());
  for (uint32_t i = 0; i < n * scales; ++i) b_scale.push_back(scale());
  for (uint32_t c = 0; c < ctas(); ++c) {
    pick_image(random, image[c]);
    tmem[c].resize(kLanes * kColumns);
    for (auto& w : tmem[c])
      w = result == Result::f16   ? pattern(random, Type::f16, c_flavour, 0) | random() << 16
          : result == Result::s32 ? (random.chance(3) ? 0x7ffffff0u + random.below(32) : random())
                                  : pattern(random, Type::tf32, c_flavour, 0);
  }
}

void KindCase::place() {
  Random noise(7);
  const auto lay = [&](const Placement& p, Type t, const std::vector<uint32_t>& bits, uint32_t rows, uint32_t count,
                       uint32_t shift) {
    for (uint32_t row = 0; row < rows; ++row) {
      const uint32_t cta = row / (rows / ctas()), r = row % (rows / ctas()) + shift;
      const uint32_t width = bits_of(t);
      if (p.mn_major && width >= 8) {
        for (uint32_t i = 0; i < count; ++i)
          std::memcpy(image[cta].data() + p.at(r, i), &bits[row * count + i], p.element_bytes);
        continue;
      }
      if (p.mn_major) {  // 16 rows in 16 bytes, with padding behind them
        for (uint32_t i = 0; i < count; ++i)
          for (uint32_t bit = 0; bit < width; ++bit) {
            const uint32_t place = r % 16 * width + bit;
            uint8_t& byte = image[cta][p.at(r - r % 16, i) + place / 8];
            byte = uint8_t((byte & ~(1u << place % 8)) | (bits[row * count + i] >> bit & 1) << place % 8);
          }
        continue;
      }
      const auto bytes = in_shared(*this, t, &bits[row * count], count, noise);
      Placement by_byte = p;
      by_byte.element_bytes = 1;
      for (uint32_t i = 0; i < bytes.size(); ++i) image[cta][by_byte.at(r, i)] = bytes[i];
    }
  };
  lay(b, b_type, b_bits, n, k(), uint32_t(zero_columns >> 56 & 63));
  if (!a_in_tmem) lay(a, a_type, a_bits, m, terms(), 0);
  for (uint32_t cta = 0; cta < ctas(); ++cta) {
    const auto cell = [&](uint32_t column, uint32_t l) -> uint32_t& { return tmem[cta][column * kLanes + l]; };
    for (uint32_t l = 0; l < kLanes; ++l) {
      const Element e = element_of(cta, l, 0);
      if (!e.here) continue;
      for (uint32_t w = 0; w < 8 && a_in_tmem; ++w)
        cell(kAColumn + w, l) = in_cell(*this, a_type, &a_bits[e.row * terms()], w, noise);
      if (!sparse) continue;
      // Metadata: a row's nibbles along K. Of 16- and 32-bit kinds there are eight: rows 8 apart are the halves of one
      // cell, and the second four nibbles lie 8 lanes below. Of the others sixteen, in two cells.
      const uint32_t each = kind == "tf32" ? 2 : nibbles() ? 8 : 4, nibble_count = k() / each;
      for (uint32_t i = 0; i < nibble_count; ++i) {
        uint32_t nibble;
        if (kind == "tf32") {
          nibble = a_position[e.row * terms() + i] % 2 ? 0xe : 0x4;
        } else {
          const uint32_t per = each / 2, scale = nibbles() ? 2 : 1;
          const uint8_t* p = &a_position[e.row * terms() + i * per];
          nibble = p[0] % each / scale | p[per / 2] % each / scale << 2;
        }
        const bool wide = element_bytes() > 1;
        const uint32_t r16 = e.row % 16, to_lane = wide ? l - r16 + r16 % 8 + i / 4 * 8 : l;
        const uint32_t column = kMetadataColumn + (wide ? selector : i / 8);
        const uint32_t shift = wide ? 16 * (r16 / 8) + 4 * (i % 4) : 4 * (i % 8);
        uint32_t& to = cell(column, to_lane);
        to = (to & ~(15u << shift)) | nibble << shift;
      }
    }
    // Scale factors: row r in lane r % 32 of each partition, column r / 32, byte id + j. With M = 128 in a pair, B's
    // left half is for partitions 0 and 1, its right half for 2 and 3.
    const auto put = [&](uint32_t first, uint32_t row, uint32_t partition, uint32_t id, uint32_t j, uint32_t value) {
      uint32_t& to = cell(first + row / 32, 32 * partition + row % 32);
      to = (to & ~(0xffu << 8 * (id + j))) | (value & 0xff) << 8 * (id + j);
    };
    for (uint32_t j = 0; j < scales; ++j)
      for (uint32_t p = 0; p < 4; ++p) {
        const uint32_t own = m / ctas();
        for (uint32_t r = 0; r < own; ++r) put(kScaleAColumn, r, p, sfa_id, j, a_scale[(cta * own + r) * scales + j]);
        const bool split = pair && m == 128;
        for (uint32_t c = 0; c < (split ? n / 2 : n); ++c)
          put(kScaleBColumn, c, p, sfb_id, j, b_scale[(split && p >= 2 ? n / 2 + c : c) * scales + j]);
      }
  }
}

std::vector<std::vector<uint32_t>> KindCase::expected() const {
  const auto decode = [&](Type t, const std::vector<uint32_t>& bits, uint32_t row, uint32_t count, bool negate) {
    return decode_row(t, {bits.begin() + row * count, bits.begin() + (row + 1) * count}, negate);
  };
  std::vector<Row> rows, columns;
  for (uint32_t r = 0; r < m; ++r) rows.push_back(decode(a_type, a_bits, r, terms(), negate_a));
  for (uint32_t c = 0; c < n; ++c) {
    columns.push_back(decode(b_type, b_bits, c, k(), negate_b));
    if (zeroed(c)) {
      columns.back().value.assign(k(), 0);
      columns.back().exponent.assign(k(), 0);
    }
  }
  const auto scales_of = [&](const std::vector<uint32_t>& from, uint32_t row) {
    std::vector<Scale> out;
    for (uint32_t j = 0; j < scales; ++j) out.push_back(scale_of(ue8m0, from[row * scales + j]));
    return out;
  };
  std::vector<std::vector<uint32_t>> out;
  for (uint32_t cta = 0; cta < ctas(); ++cta) {
    out.push_back(tmem[cta]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (masked && (mask[4 * cta + l / 32] >> l % 32 & 1)) continue;
      for (uint32_t w = 0; w < width(); ++w) {
        const Element e = element_of(cta, l, w);
        if (!e.here) continue;
        Row y = columns[e.column];
        if (sparse) {
          Row kept;
          for (uint32_t i = 0; i < terms(); ++i) {
            const uint32_t at = a_position[e.row * terms() + i];
            kept.value.push_back(y.value[at]);
            kept.exponent.push_back(y.exponent[at]);
          }
          y = kept;
        }
        uint32_t& cell = out[cta][(d_column + w) * kLanes + l];
        const Row& x = rows[e.row];
        if (kind == "i8")
          cell = reference_i8(x, y, accumulate, cell, saturate);
        else if (kind == "mxf8f6f4")
          cell = reference_mxf8(x, y, scales_of(a_scale, e.row)[0], scales_of(b_scale, e.column)[0], accumulate, cell);
        else if (nibbles())
          cell = reference_fp4(ue8m0, x, y, scales_of(a_scale, e.row), scales_of(b_scale, e.column), accumulate, cell);
        else
          cell = reference_element(x, y, accumulate, result == Result::f16 ? cell & 0xffff : cell, 0,
                                   result == Result::f16);
      }
    }
  }
  return out;
}

CtaInput KindCase::input(uint32_t cta) const {
  CtaInput in{image[cta], tmem[cta]};
  in.a = a_in_tmem ? uint64_t(lane) << 16 | kAColumn : a.descriptor(kImageOffset);
  in.b = b.descriptor(kImageOffset);
  in.idesc = idesc();
  in.accumulate = accumulate;
  in.mask = mask;
  in.d = lane << 16 | d_column;
  in.metadata = lane << 16 | kMetadataColumn;
  in.scale_a = kScaleAColumn;
  in.scale_b = kScaleBColumn;
  in.zero_columns = zero_columns;
  in.issuer = issuer;
  return in;
}

KindCase random_kind_case(Random& random, const std::string& kind, bool sparse, bool ws, bool pair, uint32_t index) {
  KindCase c;
  c.kind = kind;
  c.sparse = sparse;
  c.ws = ws;
  c.pair = pair;
  c.a_in_tmem = random.chance(3);
  c.accumulate = !random.chance(3);
  c.issuer = pair ? random.below(2) : 0;
  const Type narrow[] = {Type::e4m3, Type::e5m2, Type::e2m3, Type::e3m2, Type::e2m1};
  if (kind == "f16") {
    c.result = random.chance(3) ? KindCase::Result::f16 : KindCase::Result::f32;
    c.a_type = c.b_type = c.result == KindCase::Result::f32 && random.chance(2) ? Type::bf16 : Type::f16;
  } else if (kind == "tf32") {
    c.a_type = c.b_type = Type::tf32;
  } else if (kind == "f8f6f4" || kind == "mxf8f6f4") {
    c.a_type = narrow[index % 5];
    c.b_type = narrow[index / 5 % 5];
    if (kind == "f8f6f4" && random.chance(3)) c.result = KindCase::Result::f16;
  } else if (kind == "i8") {
    c.a_type = random.chance(2) ? Type::s8 : Type::u8;
    c.b_type = random.chance(2) ? Type::s8 : Type::u8;
    c.result = KindCase::Result::s32;
    c.saturate = random.chance(2);
  } else {
    c.a_type = c.b_type = Type::e2m1;
  }
  if (kind != "i8") {
    c.negate_a = random.chance(4);
    c.negate_b = random.chance(4);
  }
  if (kind == "mxf8f6f4") {
    const char* spellings[] = {"", ".scale_vec::1X", ".block32"};
    c.scale_vector = spellings[random.below(3)];
    c.scales = 1;
  } else if (kind == "mxf4") {
    const char* spellings[] = {"", ".scale_vec::2X", ".block32"};
    c.scale_vector = spellings[random.below(3)];
    c.scales = 2;
  } else if (kind == "mxf4nvf4") {
    const char* spellings[] = {".scale_vec::2X", ".block32", ".scale_vec::4X", ".block16"};
    const uint32_t i = random.below(4);
    c.scale_vector = spellings[i];
    c.scales = i < 2 ? 2 : 4;
    c.ue8m0 = c.scales == 2 || random.chance(3);
  }
  if (c.scales == 1) c.sfa_id = random.below(4), c.sfb_id = random.below(4);
  if (c.scales == 2) c.sfa_id = 2 * random.below(2), c.sfb_id = 2 * random.below(2);
  if (sparse && (kind == "f16" || kind == "tf32")) c.selector = random.below(2);

  // Shape.
  c.m = ws                   ? 32u << random.below(3)
        : !pair              ? (c.scales || random.chance(2) ? 128 : 64)
        : c.scales && sparse ? 256
                             : 128u << random.below(2);
  c.a = random_placement(random, c.element_bytes(), 32, !c.a_in_tmem && !c.nibbles(), c.m / c.ctas(), 0);
  const uint32_t step = pair ? 32 : 16;  // also where B is N-major in bytes, and for i8
  c.n =
      ws ? 64u << random.below(sparse ? 2 : 3) : step * (1 + (random.chance(4) ? random.below(256 / step) : index % 2));
  // The column shift of .ws takes up to 16 columns behind N.
  c.b = random_placement(random, c.element_bytes(), sparse ? 64 : 32, !c.nibbles(), c.n / c.ctas() + (ws ? 16 : 0),
                         40 * 1024);
  if (!ws && !pair && !c.b.mn_major && kind != "i8" && random.chance(2)) c.n = std::max(8u, c.n - 8);
  c.lane = (!ws && c.m / c.ctas() == 64 && (!pair || sparse)) && random.chance(2) ? 16 : 0;
  c.d_column = c.width() < 256 ? random.below(256 - c.width()) : 0;
  if (!ws && !c.scales && random.chance(4)) {
    c.masked = true;
    for (auto& w : c.mask) w = random.chance(3) ? random() : 0;
  }
  if (ws) {
    const char* uses[] = {"fill", "discard"};
    if (random.chance(2)) c.collector = fmt::format(".collector::b{}::{}", random.below(4), uses[random.below(2)]);
    if (random.chance(2)) {
      for (uint32_t i = 0; i < 4; ++i) c.zero_columns |= uint64_t(random.below(12)) << 8 * i;
      c.zero_columns |= uint64_t(random() & 15) << 32 | uint64_t(1) << 39 | uint64_t(random.below(8)) << 40 |
                        uint64_t(random.below(8)) << 48;
      if (random.chance(2)) {
        c.max_shift = 1 + random.below(2);
        c.zero_columns |= uint64_t(random.below((4u << c.max_shift) + 1)) << 56;
      }
    }
  } else if (random.chance(6)) {
    c.collector = random.chance(2) ? ".collector::a::fill" : ".collector::a::discard";
  }
  const uint32_t flavours[] = {0, 0, 1, 2, 3, 4, 5, 6, 7};
  c.pick_values(random, flavours[random.below(9)], flavours[random.below(9)]);
  c.place();
  return c;
}

std::vector<std::vector<std::vector<uint32_t>>> run_kinds(tinygpu::test::RunPtx& gpu,
                                                          const std::vector<KindCase>& cases) {
  std::vector<CtaInput> ctas;
  for (const KindCase& c : cases)
    for (uint32_t cta = 0; cta < c.ctas(); ++cta) ctas.push_back(c.input(cta));
  const auto cells = run_ctas(gpu, ctas, cases[0].pair);
  std::vector<std::vector<std::vector<uint32_t>>> out;
  for (size_t i = 0; i < cells.size(); i += cases[0].ctas())
    out.emplace_back(cells.begin() + i, cells.begin() + i + cases[0].ctas());
  return out;
}

}  // namespace gen5::test
