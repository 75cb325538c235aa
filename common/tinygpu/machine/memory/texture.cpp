// The rules are the CUDA programming guide's ("Texture Fetching"); what it leaves open, rounding above all, is an
// H200's (tests/textures, notes/evidence.md).
#include "common/tinygpu/machine/memory/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tinygpu {

namespace {

/// One dimension of a read: one texel, or two and the second one's weight in 256ths.
struct Along {
  int64_t index[2];
  uint32_t weight = 0;
};

constexpr int64_t kFar = int64_t(1) << 31;  // beyond every texture, whatever the mode makes of it

/// Wrapping and mirroring are for normalized coordinates alone; without them the edge goes on.
TextureObject::Address mode_of(const TextureObject& t, int d) {
  using Address = TextureObject::Address;
  const bool repeats = t.mode[d] == Address::wrap || t.mode[d] == Address::mirror;
  return repeats && !t.normalized ? Address::clamp : t.mode[d];
}

Along along(const TextureObject& t, int d, float x) {
  double at = x;
  if (mode_of(t, d) == TextureObject::Address::wrap || mode_of(t, d) == TextureObject::Address::mirror)
    at = std::isinf(x) ? 0 : at - 2 * std::floor(at / 2);
  if (std::isnan(x)) at = 0;
  // A normalized coordinate is cut to 21 bits behind the point first.
  if (t.normalized) at = std::floor(at * 0x1p21) * 0x1p-21 * t.size[d];
  at = std::clamp<double>(at, -kFar, kFar);
  if (!t.filter) return {{int64_t(std::floor(at)), 0}, 0};
  const int64_t fixed = int64_t(std::floor(at * 256 + 0.5)) - 128;
  return {{fixed >> 8, (fixed >> 8) + 1}, uint32_t(fixed & 255)};
}

/// The texel that an index stands for; -1: the border.
int64_t addressed(const TextureObject& t, int d, int64_t i) {
  const int64_t n = t.size[d];
  switch (mode_of(t, d)) {
    case TextureObject::Address::wrap: return ((i % n) + n) % n;
    case TextureObject::Address::mirror: {
      const int64_t in_two = ((i % (2 * n)) + 2 * n) % (2 * n);
      return in_two < n ? in_two : 2 * n - 1 - in_two;
    }
    case TextureObject::Address::border: return i < 0 || i >= n ? -1 : i;
    case TextureObject::Address::clamp: break;
  }
  return std::clamp<int64_t>(i, 0, n - 1);
}

float half_value(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const float sign = h >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? std::nanf("") : sign * INFINITY;
  return sign * (exponent ? std::ldexp(float(1024 + fraction), exponent - 25) : std::ldexp(float(fraction), -24));
}

/// Channel c of a texel: a float's value, or an integer.
double channel(const TexelFormat& f, const uint8_t* texel, int c) {
  uint32_t word = 0;
  std::memcpy(&word, texel + c * f.bits / 8, f.bits / 8);
  switch (f.kind) {
    case TexelFormat::Kind::floating: return f.bits == 16 ? half_value(uint16_t(word)) : std::bit_cast<float>(word);
    case TexelFormat::Kind::signed_integer: return int32_t(word << (32 - f.bits)) >> (32 - f.bits);
    case TexelFormat::Kind::unsigned_integer: return word;
  }
  return 0;
}

/// An integer as a fraction of its largest value; the most negative one is -1 too.
double as_fraction(const TexelFormat& f, double v) {
  const bool is_signed = f.kind == TexelFormat::Kind::signed_integer;
  return std::max(-1.0, v / double((1u << (f.bits - is_signed)) - 1));
}

/// Half of the unit goes up, or down.
uint32_t half_up(uint32_t product) { return (product + 128) >> 8; }
uint32_t half_down(uint32_t product) { return (product + 127) >> 8; }

/// The weights of a plane's four texels, of `whole` in all: x takes its part first, then y of each part.
void split(uint32_t whole, uint32_t x, uint32_t y, uint32_t* weight) {
  const uint32_t right = half_up(x * whole), left = whole - right;
  weight[3] = half_up(right * y);
  weight[1] = right - weight[3];
  weight[2] = half_down(left * y);
  weight[0] = left - weight[2];
}

Taps filtered(const TextureObject& t, const float* at) {
  int64_t index[3][2] = {};
  uint32_t weight[3] = {};
  const int dims = std::max<int>(t.dims, 2);  // a line is one row, of which the read takes its upper edge
  const float line = t.layers ? 0.5f : 0;     // and its middle where there are layers
  for (int d = 0; d < dims; ++d) {
    const Along a = along(t, d, d < t.dims ? at[d] : line);
    for (int side : {0, 1}) index[d][side] = addressed(t, d, a.index[side]);
    // Twice the same texel is one.
    weight[d] = index[d][0] == index[d][1] ? 0 : a.weight;
  }
  Taps out;
  out.count = 1u << dims;
  split(256 - weight[2], weight[0], weight[1], out.weight);
  split(weight[2], weight[0], weight[1], out.weight + 4);
  const uint64_t step[3] = {t.format.bytes(), t.pitch, t.slice};
  for (uint32_t corner = 0; corner < out.count; ++corner) {
    out.inside[corner] = true;
    out.offset[corner] = 0;
    for (int d = 0; d < dims; ++d) {
      const int64_t i = index[d][corner >> d & 1];
      out.inside[corner] &= i >= 0;
      out.offset[corner] += uint64_t(i) * step[d];
    }
  }
  return out;
}

/// A sum of products, scaled by a power of two.
struct Scaled {
  int64_t sum = 0;
  int exponent = 0;
};

/// The weighted sum of a plane's texels. They are cut at 28 bits below the largest that has a weight.
Scaled plane_sum(const double* value, const uint32_t* weight, uint32_t count) {
  int top = INT32_MIN;
  for (uint32_t k = 0; k < count; ++k)
    if (weight[k] && value[k] != 0) top = std::max(top, std::ilogb(value[k]) + 1);
  if (top == INT32_MIN) return {};
  Scaled out{0, top - 28};
  for (uint32_t k = 0; k < count; ++k) out.sum += int64_t(std::ldexp(value[k], -out.exponent)) * weight[k];
  out.exponent -= 8;  // weights are 256ths
  return out;
}

/// The sum of both with so many significant bits, none of them below 2 ** least; halves away from zero.
float rounded_sum(Scaled a, Scaled b, int significant, int least) {
  if (!b.sum || (a.sum && a.exponent < b.exponent)) std::swap(a, b);
  // a has the larger exponent now, or is zero. What lies far below it only says whether there is more.
  constexpr int kFarBelow = 64;
  if (a.sum && b.sum && a.exponent - b.exponent > kFarBelow) b = {b.sum > 0 ? 1 : -1, a.exponent - kFarBelow};
  if (!a.sum) a.exponent = b.exponent;
  if (!b.sum) b.exponent = a.exponent;
  const int low = std::min(a.exponent, b.exponent);
  __int128 sum = (__int128(a.sum) << (a.exponent - low)) + (__int128(b.sum) << (b.exponent - low));
  const bool negative = sum < 0;
  unsigned __int128 size = negative ? -sum : sum;
  const uint64_t upper = uint64_t(size >> 64);
  const int bits = upper ? 64 + std::bit_width(upper) : std::bit_width(uint64_t(size));
  const int drop = std::max({bits - significant, least - low, 0});
  if (drop > 0) size = drop > 127 ? 0 : (size + ((unsigned __int128)(1) << (drop - 1))) >> drop;
  const float magnitude = std::ldexp(float(uint32_t(size)), low + drop);
  return negative ? -magnitude : magnitude;
}

/// Between floats. Of what is no number, or infinite, nothing was seen on a chip: it is multiplied and added as usual.
float between(const double* value, const Taps& taps, bool half) {
  double usual = 0;
  bool finite = true;
  for (uint32_t k = 0; k < taps.count; ++k) {
    if (taps.weight[k]) usual += value[k] * taps.weight[k];
    finite &= !taps.weight[k] || std::isfinite(value[k]);
  }
  if (!finite) return float(usual);
  const uint32_t first = std::min(taps.count, 4u);
  const Scaled near = plane_sum(value, taps.weight, first),
               far = plane_sum(value + 4, taps.weight + 4, taps.count - first);
  return half ? rounded_sum(near, far, 11, -24) : rounded_sum(near, far, 24, -149);
}

/// Between integers that are read as fractions: they have 16 bits by then.
float between_integers(const TexelFormat& f, const double* value, const Taps& taps) {
  int64_t sum = 0;
  for (uint32_t k = 0; k < taps.count; ++k) sum += int64_t(value[k]) * (f.bits == 8 ? 257 : 1) * taps.weight[k];
  return float(as_fraction({f.kind, 16, 1}, double((sum + 128) >> 8)));
}

Taps nearest(const TextureObject& t, const float* at) {
  Taps out;
  out.count = 1;
  out.inside[0] = true;
  out.offset[0] = 0;
  out.weight[0] = 256;
  const uint64_t step[3] = {t.format.bytes(), t.pitch, t.slice};
  for (int d = 0; d < t.dims; ++d) {
    const int64_t i = addressed(t, d, along(t, d, at[d]).index[0]);
    out.inside[0] &= i >= 0;
    out.offset[0] += uint64_t(i) * step[d];
  }
  return out;
}

/// The face that a direction meets, and where: 0 to 1 along each edge. Ties, zero, infinity and what is no number are
/// an H200's: the direction is multiplied by the reciprocal of its largest part, which is zero below the normal
/// numbers; then z goes before y, and y before x, and what is no number is a middle.
uint32_t face_of(const float* direction, float* at) {
  const auto largest = [](const float* p) {
    return std::fmax(std::fmax(std::fabs(p[0]), std::fabs(p[1])), std::fabs(p[2]));
  };
  float scale = 1 / largest(direction);
  if (scale < 0x1p-126f) scale = 0;
  const float p[3] = {direction[0] * scale, direction[1] * scale, direction[2] * scale};
  const float most = largest(p);
  const auto is_most = [&](int d) { return std::fabs(p[d]) == most; };
  const uint32_t axis = is_most(2) ? 2 : is_most(1) ? 1 : is_most(0) ? 0 : 2;
  const bool minus = p[axis] < 0;
  const float s = axis == 0 ? (minus ? p[2] : -p[2]) : axis == 1 ? p[0] : (minus ? -p[0] : p[0]);
  const float t = axis == 1 ? (minus ? -p[2] : p[2]) : -p[1];
  at[0] = std::isnan(s) ? 0.5f : (s + 1) / 2;
  at[1] = std::isnan(t) ? 0.5f : (t + 1) / 2;
  return 2 * axis + minus;
}

}  // namespace

Taps taps_of(const TextureObject& t, const float* at, uint32_t layer) {
  float on_face[2];
  uint64_t plane = t.layers ? std::min(layer, t.layers - 1) : 0;
  if (t.cube) {
    plane = plane * 6 + face_of(at, on_face);
    at = on_face;
  }
  Taps out = t.filter ? filtered(t, at) : nearest(t, at);
  for (uint32_t k = 0; k < out.count; ++k) out.offset[k] += plane * t.slice;
  return out;
}

Taps taps_of(const TextureObject& t, int32_t index) {
  Taps out;
  out.count = 1;
  out.inside[0] = index >= 0 && uint32_t(index) < t.size[0];
  out.offset[0] = out.inside[0] ? uint64_t(index) * t.format.bytes() : 0;
  out.weight[0] = 256;
  return out;
}

void read_texture(const TextureObject& t, const Taps& taps, const uint8_t* const* texel, uint32_t out[4]) {
  const bool floats = reads_floats(t);
  for (int c = 0; c < 4; ++c) {
    out[c] = 0;
    if (c >= t.format.channels) continue;
    double value[8] = {};
    for (uint32_t k = 0; k < taps.count; ++k) {
      if (!taps.inside[k]) continue;
      value[k] = channel(t.format, texel[k], c);
    }
    const bool filtered = taps.count > 1;
    if (!floats)
      out[c] = uint32_t(int64_t(value[0]));
    else if (t.as_float)
      out[c] = std::bit_cast<uint32_t>(filtered ? between_integers(t.format, value, taps)
                                                : float(as_fraction(t.format, value[0])));
    else
      out[c] = std::bit_cast<uint32_t>(filtered ? between(value, taps, t.format.bits == 16) : float(value[0]));
  }
}

}  // namespace tinygpu
