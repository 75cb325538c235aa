#include "common/tinygpu/engines/tma/tensor_map.h"

#include <fmt/format.h>

#include <cstring>

namespace tinygpu {
namespace {

/// Bit field [low, low + count) of the little-endian object; count ≤ 32.
uint32_t field(const uint8_t* object, uint32_t low, uint32_t count) {
  uint64_t word;
  std::memcpy(&word, object + (low / 32) * 4, 8);
  return uint32_t(word >> (low % 32) & ((1ull << count) - 1));
}

int32_t sign_extend(uint32_t value, uint32_t bits) { return int32_t(value << (32 - bits)) >> (32 - bits); }

constexpr uint32_t kBits[16] = {8, 16, 32, 32, 64, 64, 16, 32, 32, 64, 16, 4, 4, 6, 8, 8};
constexpr uint32_t kCodes = 14;

uint32_t span_of(Swizzle s) {
  constexpr uint32_t spans[] = {0, 32, 64, 128, 96};
  return spans[int(s)];
}

}  // namespace

TensorMap TensorMap::decode(const uint8_t* o, bool hopper) {
  TensorMap m;
  m.hopper = hopper;
  std::memcpy(&m.base, o, 8);
  m.im2col = field(o, 64, 1);
  m.wide = m.im2col && !hopper && field(o, 65, 1);
  m.rank = field(o, 68, 3) + 1;
  m.code = field(o, 71, 4);
  m.tf32 = field(o, 80, 1);
  m.element = TensorElement(m.code);
  m.bits = kBits[m.code];
  const bool single = m.element == TensorElement::f32 || m.element == TensorElement::f32_ftz;
  m.known_element = m.tf32 ? single : m.code < kCodes;
  if (m.tf32 && single) m.element = m.element == TensorElement::f32 ? TensorElement::tf32 : TensorElement::tf32_ftz;
  m.interleave = field(o, 75, 2);
  m.swizzle = field(o, 86, 1) && !hopper ? Swizzle::b96 : Swizzle(field(o, 77, 2));
  m.nan_fill = field(o, 79, 1);
  m.l2_promotion = field(o, 81, 2);
  m.atomicity = hopper ? 0 : field(o, 83, 2);
  for (uint32_t i = 0; i < 5; ++i) {
    m.dim[i] = uint64_t(field(o, 256 + 32 * i, 32)) + 1;
    m.step[i] = field(o, 416 + 3 * i, 3) + 1;
    if (i)
      m.stride[i] = (uint64_t(field(o, 96 + 32 * (i - 1), 32)) | uint64_t(field(o, 224 + 4 * (i - 1), 4)) << 32) << 4;
  }
  m.box[0] = field(o, 440, 8) + 1;
  if (!m.im2col) {
    for (uint32_t i = 1; i < 5; ++i) m.box[i] = field(o, 440 + 8 * i, 8) + 1;
  } else {
    // The corners share 32 bits: one, two or three pairs, of 16, 8 or 5 bits each. Wide maps have those of W alone.
    const uint32_t spatial = m.rank >= 3 && !m.wide ? m.rank - 2 : 1;
    const uint32_t width = spatial == 1 ? 16 : spatial == 2 ? 8 : 5;
    for (uint32_t i = 0; i < spatial && i < 3; ++i) {
      m.lower[i] = sign_extend(field(o, 448 + width * i, width), width);
      m.upper[i] = sign_extend(field(o, 464 + width * i, width), width);
    }
    m.pixels = field(o, 480, 10) + 1;
  }
  return m;
}

std::string TensorMap::misalignment() const {
  const uint64_t align = interleave == 2 ? 32 : 16;
  if (base % align == 0) return {};
  return fmt::format("its global address {:#x} is not a multiple of {}", base, align);
}

std::string TensorMap::defect() const {
  if (base == 0) return "its global address is 0: it was never encoded";
  if (rank > 5) return fmt::format("its rank is {}", rank);
  if (interleave == 3) return "its interleave layout is 3";
  if (interleave && rank < 3) return fmt::format("it is interleaved and has rank {}, not 3 to 5", rank);
  if (im2col && rank < 3) return fmt::format("it is an im2col map of rank {}, not 3 to 5", rank);
  if (!known_element || (hopper && packed()))
    return fmt::format("its element type has code {}{}, which is none that this machine has", code,
                       tf32 ? " as tf32" : "");
  if (nan_fill && (element < TensorElement::f16 || packed()))
    return fmt::format("it fills with NaN and has {} elements", name_of(element));
  if (swizzle == Swizzle::b96) return "its swizzle is 96 B, which only sm_103 has";
  if (!interleave && box[0] * bits % 128)
    return fmt::format("a row of its box is {} elements of {} bits, not a multiple of 16 bytes", box[0], bits);
  if (!interleave && swizzle != Swizzle::none && inner_bytes() > span_of(swizzle))
    return fmt::format("a row of its box has {} bytes, more than the {} that the swizzle spans", inner_bytes(),
                       span_of(swizzle));
  if (packed() && interleave) return "packed elements cannot be interleaved";
  if (padded() && box[0] != 128)
    return fmt::format("a row of its box has {} packed elements, it must have 128", box[0]);
  return {};
}

uint32_t TensorMap::inner_bytes() const { return padded() ? box[0] : box[0] * bits / 8; }

uint32_t TensorMap::pitch() const { return swizzle == Swizzle::none ? inner_bytes() : span_of(swizzle); }

const char* name_of(TensorElement e) {
  if (e == TensorElement::tf32) return "TFLOAT32";
  if (e == TensorElement::tf32_ftz) return "TFLOAT32_FTZ";
  constexpr const char* names[16] = {
      "UINT8",       "UINT16",  "UINT32",   "INT32",        "UINT64",        "INT64",         "FLOAT16", "FLOAT32",
      "FLOAT32_FTZ", "FLOAT64", "BFLOAT16", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B", "?",       "?"};
  return names[int(e) & 15];
}

}  // namespace tinygpu
