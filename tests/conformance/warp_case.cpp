#include "tests/conformance/warp_case.h"

#include <algorithm>
#include <sstream>

#include "tests/conformance/hash.h"
#include "tests/conformance/random.h"

namespace conformance::warp {
namespace {

struct FloatFormat {
  int exponent_bits, fraction_bits;
  bool infinities;  // e4m3 has none, and one NaN pattern
};

uint64_t compose(const FloatFormat& f, uint64_t sign, int64_t exponent, uint64_t fraction) {
  const int64_t most = (1 << f.exponent_bits) - 1;
  exponent = std::clamp<int64_t>(exponent, 0, most);
  return sign << (f.exponent_bits + f.fraction_bits) | uint64_t(exponent) << f.fraction_bits |
         (fraction & ((uint64_t(1) << f.fraction_bits) - 1));
}

/// One element. Classes: 0 any bits; 1 around one; 2 few values that cancel; 3 any exponent; 4 subnormal; 5 huge;
/// 6 special values; 7 tiny, so that products lie near the accumulator's smallest exponents; 8 around one with sparse
/// zeros; 9 any exponent in a band of 24; 10 subnormal or huge; 11 finite, any bits.
uint64_t element(Random& r, const FloatFormat& f, int cls, bool accumulator) {
  const int64_t bias = (1 << (f.exponent_bits - 1)) - 1, most = (1 << f.exponent_bits) - 1;
  const int64_t top = f.infinities ? most - 1 : most;  // largest exponent of finite values
  const uint64_t sign = r.next() & 1, fraction = r.next();
  const uint64_t ones = (uint64_t(1) << f.fraction_bits) - 1;
  switch (cls) {
    case 0: return r.next() & ((uint64_t(2) << (f.exponent_bits + f.fraction_bits)) - 1);
    case 1: return compose(f, sign, bias + r.between(-2, 2), fraction);
    case 2: {
      const uint64_t few[] = {0, 1, ones};
      return compose(f, sign, bias + r.between(0, 1), few[r.below(3)]);
    }
    case 3:
      return r.one_in(8) ? 0 : compose(f, sign, r.between(1, top), f.infinities ? fraction : fraction & ones >> 1);
    case 4: return compose(f, sign, r.one_in(8) ? 1 : 0, fraction);
    case 5: return compose(f, sign, top - r.between(0, 1), f.infinities ? fraction : fraction & ones >> 1);
    case 6: {
      const uint64_t specials[] = {0,
                                   compose(f, 0, most, f.infinities ? 0 : ones),
                                   compose(f, 0, most, f.infinities ? fraction | 1 : ones),
                                   compose(f, 0, top, f.infinities ? ones : ones - 1),
                                   1,
                                   compose(f, 0, bias, 0),
                                   compose(f, 0, 1, 0),
                                   compose(f, 0, bias, fraction)};
      return specials[r.below(8)] | sign << (f.exponent_bits + f.fraction_bits);
    }
    case 7:
      if (accumulator) return compose(f, sign, r.between(0, f.exponent_bits == 8 ? 20 : 4), fraction);
      return compose(f, sign, f.exponent_bits == 8 ? bias - 70 + r.between(-8, 8) : r.between(0, 2), fraction);
    case 8:
      return r.one_in(3) ? sign << (f.exponent_bits + f.fraction_bits)
                         : compose(f, sign, bias + r.between(-4, 4), fraction);
    case 9: return compose(f, sign, bias + r.between(-12, 12), f.infinities ? fraction : fraction & ones >> 1);
    case 10: return r.one_in(2) ? compose(f, sign, 0, fraction) : compose(f, sign, top, f.infinities ? fraction : 0);
    default: return compose(f, sign, r.between(0, top), f.infinities ? fraction : fraction & ones >> 1);
  }
}

uint32_t packed(Random& r, const FloatFormat& f, int cls, int count, bool accumulator) {
  uint32_t w = 0;
  for (int i = 0; i < count; ++i) w |= uint32_t(element(r, f, cls, accumulator)) << (32 / count * i);
  return w;
}

constexpr FloatFormat kF16{5, 10, true}, kBf16{8, 7, true}, kF32{8, 23, true}, kE4m3{4, 3, false}, kE5m2{5, 2, true},
    kF64{11, 52, true};

uint32_t word_of(Random& r, Fill fill, int cls) {
  switch (fill) {
    case Fill::f16x2: return packed(r, kF16, cls, 2, false);
    case Fill::bf16x2: return packed(r, kBf16, cls, 2, false);
    case Fill::f32: return packed(r, kF32, cls, 1, true);
    case Fill::e4m3x4: return packed(r, kE4m3, cls, 4, false);
    case Fill::e5m2x4: return packed(r, kE5m2, cls, 4, false);
    case Fill::small: return uint32_t(r.below(8));
    case Fill::sparse:
    case Fill::sparse_f32: {
      const uint32_t pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, ones[] = {0x4, 0xe};
      uint32_t w = 0;
      for (int i = 0; i < 32; i += 4) w |= (fill == Fill::sparse ? r.pick(pairs) : r.pick(ones)) << i;
      return w;
    }
    case Fill::bytes: {
      if (cls == 0) return uint32_t(r.next());
      const uint32_t extremes[] = {0x80, 0x7f, 0xff, 0x00, 0x01, 0x81};
      uint32_t w = 0;
      for (int i = 0; i < 4; ++i) w |= extremes[r.below(cls == 1 ? 6 : 3)] << (8 * i);
      return w;
    }
    case Fill::bits:
      // Accumulators near the ends of s32 show whether a sum wraps or clamps.
      if (cls) return uint32_t(0x7fffffff + r.between(-300000, 300000)) ^ (r.one_in(4) ? uint32_t(r.next()) : 0);
      return uint32_t(r.next());
    default: return uint32_t(r.next());
  }
}

}  // namespace

std::string list(const char* reg, int first, int count) {
  std::string s = "{";
  for (int i = 0; i < count; ++i) s += (i ? "," : "") + std::string(reg) + std::to_string(first + i);
  return s + "}";
}

Fill fill_of(const std::string& type) {
  if (type == "f16") return Fill::f16x2;
  if (type == "bf16") return Fill::bf16x2;
  if (type == "tf32" || type == "f32") return Fill::f32;
  if (type == "e4m3") return Fill::e4m3x4;
  if (type == "e5m2") return Fill::e5m2x4;
  if (type == "s8" || type == "u8") return Fill::bytes;
  return Fill::bits;
}

std::vector<uint32_t> operands_of(const Case& c) {
  uint64_t seed = 0xcbf29ce484222325;
  for (char ch : c.name) seed = (seed ^ uint8_t(ch)) * 0x100000001b3;
  Random r(seed);
  std::vector<uint32_t> words;
  words.reserve(size_t(kCtas) * size_t(c.threads) * c.inputs.size());
  for (int cta = 0; cta < kCtas; ++cta) {
    uint32_t rows[128];
    for (uint32_t i = 0; i < 128; ++i) rows[i] = i;
    for (uint32_t i = 127; i > 0; --i) std::swap(rows[i], rows[r.below(i + 1)]);
    for (int t = 0; t < c.threads; ++t)
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        if (c.inputs[i] == Fill::row) {
          words.push_back(rows[t] * 16);
        } else if (c.inputs[i] == Fill::f64) {
          // Accumulators of f64 take the class as any operand does.
          const uint64_t v = element(r, kF64, c.operand_class, false);
          words.push_back(uint32_t(v));
          words.push_back(uint32_t(v >> 32));
          ++i;
        } else {
          words.push_back(word_of(r, c.inputs[i], c.operand_class));
        }
      }
  }
  return words;
}

std::string kernel_name(size_t index) { return "case_" + std::to_string(index); }

std::string module_text(const std::vector<Case>& cases, size_t first, size_t last, const std::string& target) {
  std::ostringstream s;
  s << ".version 9.0\n.target " << target << "\n.address_size 64\n";
  for (size_t n = first; n < last; ++n) {
    const Case& c = cases[n];
    const size_t in = c.inputs.size();
    s << ".visible .entry " << kernel_name(n) << "(.param .u64 pin, .param .u64 pout)\n{\n"
      << "  .reg .b32 %a<64>, %d<64>, %r<32>, %t, %index, %block;\n  .reg .b64 %rd<16>, %in, %mine;\n  .reg .b16 "
         "%h<64>;\n"
      << "  .reg .f64 %fd<64>;\n  .reg .b128 %q<8>;\n  .reg .pred %p<8>;\n  .shared .align 128 .b8 smem[4096];\n"
      << "  mov.u32 %t, %tid.x;\n  mov.u32 %block, %ctaid.x;\n  mad.lo.u32 %index, %block, " << c.threads << ", %t;\n"
      << "  ld.param.u64 %in, [pin];\n  ld.param.u64 %mine, [pout];\n"
      << "  mul.wide.u32 %rd0, %index, " << 4 * in << ";\n  add.s64 %in, %in, %rd0;\n"
      << "  mul.wide.u32 %rd0, %index, " << 4 * c.outputs << ";\n  add.s64 %mine, %mine, %rd0;\n";
    for (size_t i = 0; i < in; ++i) s << "  ld.global.b32 %a" << i << ", [%in+" << 4 * i << "];\n";
    s << c.text;
    for (int i = 0; i < c.outputs; ++i) s << "  st.global.b32 [%mine+" << 4 * i << "], %d" << i << ";\n";
    s << "  ret;\n}\n";
  }
  return s.str();
}

uint32_t hash(const uint32_t* words, size_t count) {
  const uint64_t h = hash_words(words, count);
  return uint32_t(h ^ h >> 32);
}

}  // namespace conformance::warp
