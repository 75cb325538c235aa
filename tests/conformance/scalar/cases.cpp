#include "tests/conformance/scalar/cases.h"

#include <bit>
#include <cctype>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "tests/conformance/hash.h"

namespace conformance {
namespace {

// ---- Random words

struct Random {
  uint64_t state;
  uint64_t operator()() {  // splitmix64
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t n) { return (*this)() % n; }
};

// ---- Edge values

using Words = std::vector<uint64_t>;

void with_negatives(Words& w, int bits) {
  const size_t n = w.size();
  for (size_t i = 0; i < n; ++i) w.push_back(w[i] | uint64_t(1) << (bits - 1));
}

/// Zeros, subnormals, the limits, infinity, NaNs with payloads, numbers around one, powers of two, and integers.
Words float_edges(int exponent_bits, int fraction_bits) {
  const int bits = 1 + exponent_bits + fraction_bits;
  const uint64_t one = uint64_t(1) << fraction_bits;
  const uint64_t bias = (uint64_t(1) << (exponent_bits - 1)) - 1;
  const uint64_t infinity = ((uint64_t(1) << exponent_bits) - 1) << fraction_bits;
  const auto power = [&](int e) { return uint64_t(int64_t(bias) + e) << fraction_bits; };
  Words w = {0,
             1,
             2,
             one / 2,
             one - 1,
             one,
             one + 1,
             2 * one - 1,
             power(0) - 1,
             power(0),
             power(0) + 1,
             power(0) + one / 2,
             power(1),
             power(1) + one / 2,
             power(-1),
             power(-1) - 1,
             power(-1) + 1,
             power(2) + one / 4,
             infinity - 1,
             infinity,
             infinity + 1,
             infinity + one / 2,
             infinity + one / 2 + one / 8 + 1,
             infinity + one - 1,
             power(int(bias)),
             power(-fraction_bits),
             power(-fraction_bits - 1),
             power(fraction_bits),
             power(fraction_bits + 1) - 1};
  with_negatives(w, bits);
  return w;
}
Words int_edges(int bits) {
  const uint64_t all = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  Words w = {0,
             1,
             2,
             3,
             7,
             10,
             all,
             all - 1,
             all >> 1,
             (all >> 1) + 1,
             (all >> 1) + 2,
             all >> 2,
             all / 3,
             all / 3 * 2,
             all / 255 * 0x80,
             0x7f,
             0x80,
             0xff,
             0x100,
             all - 0x7f,
             all - 0x80,
             all - 0xff};
  for (int k = 4; k < bits; k += bits / 8) w.push_back(uint64_t(1) << k), w.push_back((uint64_t(1) << k) - 1);
  for (uint64_t& x : w) x &= all;
  return w;
}
uint64_t f32(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t f64(double x) { return std::bit_cast<uint64_t>(x); }

/// Values at, just below and just above ties and limits of a conversion, as doubles.
std::vector<double> integer_boundaries() {
  std::vector<double> v = {0.25,      0.5,   0.75,  1.5,   2.5,   3.5,   0.49999997, 0.50000006, 1.4999999,
                           1.5000001, 100.5, 101.5, 126.5, 127.5, 128.5, 254.5,      255.5,      256.5};
  for (int k : {7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64}) {
    const double p = std::bit_cast<double>(uint64_t(1023 + k) << 52);
    v.insert(v.end(), {p, p - 1, p - 0.5, p + 1, p * (1 - 0x1p-24), p * (1 - 0x1p-53), p * (1 + 0x1p-23)});
  }
  return v;
}
std::vector<double> narrowing_boundaries(int fraction_bits, int smallest_exponent, double largest) {
  std::vector<double> v;
  const auto power = [](int e) {
    double p = 1;
    for (int i = 0; i < (e < 0 ? -e : e); ++i) p = e < 0 ? p / 2 : p * 2;
    return p;
  };
  const double ulp = power(-fraction_bits), tiny = power(smallest_exponent - fraction_bits), near = power(-24);
  for (double base : {1.0, 1.0 + ulp, 1.5, 2.0 - ulp, power(smallest_exponent) * 4})
    for (double step : {0.0, 0.5, 1.0, 0.25, 0.75})
      v.insert(v.end(),
               {base * (1 + step * ulp), base * (1 + step * ulp) * (1 + near), base * (1 + step * ulp) * (1 - near)});
  for (double n : {0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.5})
    v.insert(v.end(), {n * tiny, n * tiny * (1 + near), n * tiny * (1 - near)});
  for (double n : {1.0, 1.0 + ulp / 4, 1.0 + ulp / 2, 1 + ulp, 2.0, 4.0})
    v.insert(v.end(), {largest * n, largest * n * (1 - near), largest * n * (1 + near)});
  return v;
}
Words as_format(const std::vector<double>& v, const std::string& type) {
  Words w;
  for (double x : v) {
    if (type == "f64")
      w.push_back(f64(x));
    else if (type == "f32")
      w.push_back(f32(float(x)));
    else if (type == "bf16")
      w.push_back(f32(float(x)) >> 16);
    else {  // f16, cut
      const uint32_t u = uint32_t(f32(float(x)));
      const int e = int(u >> 23) - 127 + 15;
      w.push_back(e <= 0   ? (e > -10 ? (0x400u | (u >> 13 & 0x3ff)) >> (1 - e) : 0)
                  : e > 30 ? 0x7bff
                           : uint64_t(e) << 10 | (u >> 13 & 0x3ff));
    }
  }
  return w;
}

Words format_edges(const std::string& type) {
  if (type == "f64") return float_edges(11, 52);
  if (type == "f32") return float_edges(8, 23);
  if (type == "bf16") return float_edges(8, 7);
  return float_edges(5, 10);
}
int format_bits(const std::string& type) { return type == "f64" ? 64 : type == "f32" ? 32 : 16; }

Words join(Words a, const Words& b, int bits) {
  Words more = b;
  with_negatives(more, bits);
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

struct Class {
  int bits = 0;
  Words edges;
  int exponent_bits = 0, fraction_bits = 0;  // floats: for operands of nearly equal magnitude
  int parts = 1;                             // packed: edges are those of one part
  bool only_edges = false;                   // other values are not defined for the instruction, or not of interest
};

Class make_class(const std::string& name) {
  Class c;
  const auto scalar_float = [&](const std::string& type) {
    c.bits = format_bits(type);
    c.edges = format_edges(type);
    c.fraction_bits = type == "f64" ? 52 : type == "f32" ? 23 : type == "bf16" ? 7 : 10;
    c.exponent_bits = c.bits - 1 - c.fraction_bits;
  };
  if (name == "pred") {
    c.edges = {0, 1};
  } else if (name == "shift" || name == "field") {
    c.bits = 32;
    for (uint64_t i = 0; i <= 70; ++i) c.edges.push_back(i);
    for (uint64_t x : {127, 128, 255, 256, 257, 260, 288}) c.edges.push_back(x);
    for (uint64_t x : {0x80000000ull, 0xffffffffull, 0x80000005ull}) c.edges.push_back(x);
  } else if (name == "lane") {
    c.bits = 32;
    for (uint64_t i = 0; i < 32; ++i) c.edges.push_back(i);  // fns: other bases are undefined
    c.only_edges = true;
  } else if (name == "offset") {
    c.bits = 32;
    for (int i = -34; i <= 34; ++i) c.edges.push_back(uint32_t(i));
  } else if (name == "u8" || name == "s8") {
    c.bits = 16;
    c.edges = int_edges(16);
  } else if (name == "narrow_f32") {
    scalar_float("f32");
    for (auto [fraction, smallest, largest] : {std::tuple{3, -6, 448.0}, {2, -14, 57344.0}})
      c.edges = join(c.edges, as_format(narrowing_boundaries(fraction, smallest, largest), "f32"), 32);
  } else if (name == "root32" || name == "exponent32" || name == "angle32") {
    scalar_float("f32");
    std::vector<double> v;
    if (name == "exponent32")
      v = {-150, -149.5, -149, -148.3, -126.5, -126, -125.7, -3.25,     -0.3, 0.1,
           0.7,  1.9,    10.3, 100.1,  126.9,  127,  127.9,  127.99999, 128,  129};
    if (name == "angle32")
      v = {0.1,          0.5,          0.7853981634, 1,  1.5707963268, 2,   2.5,
           3.1415926536, 4.7123889804, 6.2831853072, 10, 31.4,         100, 1000};
    if (name == "root32") v = {0.1, 0.3, 0.7, 3, 5, 7, 9, 10, 16, 100, 1e-30, 1e30};
    c.edges = join(c.edges, as_format(v, "f32"), 32);
  } else if (name.rfind("tiny_", 0) == 0) {
    // Around 1, 1/2 and the smallest normal numbers: their products lie about the smallest normal number.
    const std::string type = name.substr(5);
    scalar_float(type);
    const uint64_t one = f32(1.0f), smallest = uint64_t(1) << 23;
    c.edges.clear();
    for (uint64_t base : {one, one - smallest, smallest, 2 * smallest})
      for (uint64_t k = 0; k < 7; ++k) {
        const uint64_t w = base + k - 3;
        if (type == "f32")
          c.edges.push_back(w);
        else if (type == "f64")
          c.edges.insert(c.edges.end(),
                         {f64(std::bit_cast<float>(uint32_t(w))), f64(std::bit_cast<float>(uint32_t(w))) - 1,
                          f64(std::bit_cast<float>(uint32_t(w))) + 1});
        else
          c.edges.push_back(base == one              ? 0x3c00 + k - 3
                            : base == one - smallest ? 0x3800 + k - 3
                            : base == smallest       ? 0x400 + k - 3
                                                     : 0x800 + k - 3);
      }
    if (type == "f64")
      for (int k = 0; k < 16; ++k) c.edges.push_back(f64(0x1p-126) - (uint64_t(1) << (k * 2)));
    with_negatives(c.edges, c.bits);
  } else if (name.rfind("nan_", 0) == 0) {
    const std::string type = name.substr(4);
    scalar_float(type);
    c.edges.clear();
    for (uint64_t w = type == "f16" ? 0x7c00 : 0x7f80; w < 0x8000; ++w) c.edges.push_back(w);
    with_negatives(c.edges, 16);
    c.only_edges = true;
  } else if (name.rfind("to_int_", 0) == 0) {
    const std::string type = name.substr(7);
    scalar_float(type);
    c.edges = join(c.edges, as_format(integer_boundaries(), type), c.bits);
  } else if (name.rfind("to_", 0) == 0) {
    const size_t split = name.find('_', 3);
    const std::string to = name.substr(3, split - 3), from = name.substr(split + 1);
    scalar_float(from);
    const auto boundaries = to == "f16"    ? narrowing_boundaries(10, -14, 65504)
                            : to == "bf16" ? narrowing_boundaries(7, -126, 0x1.fep127)
                            : to == "tf32" ? narrowing_boundaries(10, -126, 0x1.ffcp127)
                                           : narrowing_boundaries(23, -126, 0x1.fffffep127);
    c.edges = join(c.edges, as_format(boundaries, from), c.bits);
  } else if (name == "f32" || name == "f64" || name == "f16" || name == "bf16") {
    scalar_float(name);
  } else if (name == "f32x2" || name == "f16x2" || name == "bf16x2") {
    scalar_float(name.substr(0, name.size() - 2));
    c.parts = 2;
    c.bits *= 2;
  } else if (name == "u16x2" || name == "s16x2") {
    c.bits = 32;
    c.parts = 2;
    c.edges = int_edges(16);
  } else {
    const size_t digit = name.find_first_of("0123456789");
    if (digit == std::string::npos) throw std::runtime_error("unknown operand class " + name);
    c.bits = std::stoi(name.substr(digit));
    c.edges = int_edges(c.bits);
  }
  return c;
}
const Class& class_of(const std::string& name) {
  static std::map<std::string, Class> known;
  auto it = known.find(name);
  if (it == known.end()) it = known.emplace(name, make_class(name)).first;
  return it->second;
}

uint64_t mask_of(int bits) { return bits == 0 ? 1 : bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

uint64_t edge(const Class& c, Random& random) {
  const int width = c.parts ? c.bits / c.parts : 0;
  uint64_t w = c.edges[random.below(c.edges.size())];
  for (int p = 1; p < c.parts; ++p) w |= c.edges[random.below(c.edges.size())] << (p * width);
  return w;
}
/// Random fraction and sign, exponent within two of `like`'s: sums that cancel, products near the limits.
uint64_t near(const Class& c, uint64_t like, Random& random) {
  const int width = c.bits / c.parts;
  uint64_t w = 0;
  for (int p = 0; p < c.parts; ++p) {
    const uint64_t part = like >> (p * width) & mask_of(width);
    const uint64_t field = part >> c.fraction_bits & mask_of(c.exponent_bits);
    const uint64_t moved = (field + random.below(5) - 2) & mask_of(c.exponent_bits);
    const uint64_t r = random();
    w |= ((r & mask_of(c.fraction_bits)) | moved << c.fraction_bits | (r >> 63) << (width - 1)) << (p * width);
  }
  return w;
}
/// A float of moderate exponent (around one), so that functions and conversions see ordinary numbers.
uint64_t moderate(const Class& c, Random& random) {
  const int width = c.bits / c.parts;
  uint64_t w = 0;
  for (int p = 0; p < c.parts; ++p) {
    const uint64_t bias = mask_of(c.exponent_bits - 1);
    const uint64_t r = random();
    const uint64_t field = bias + random.below(c.exponent_bits == 5 ? 12 : 48) - (c.exponent_bits == 5 ? 6 : 24);
    w |= ((r & mask_of(c.fraction_bits)) | field << c.fraction_bits | (r >> 63) << (width - 1)) << (p * width);
  }
  return w;
}
uint64_t random_word(const Class& c, Random& random) {
  if (c.only_edges) return edge(c, random);
  if (c.exponent_bits && random.below(3) == 0) return moderate(c, random);
  return random() & mask_of(c.bits);
}

int register_bits(const std::string& name) { return class_of(name).bits; }

std::string reg_type(int bits) { return bits == 0 ? "pred" : "b" + std::to_string(bits); }

}  // namespace

Case parse_case(const std::string& line) {
  Case c;
  c.line = line;
  const size_t first = line.find(" | "), second = line.find(" | ", first + 3);
  // `$0|$1` has bars without spaces, so " | " separates fields.
  if (first == std::string::npos || second == std::string::npos)
    throw std::runtime_error("cannot read the case " + line);
  c.text = line.substr(0, first);
  const auto operands = [](const std::string& words) {
    std::vector<Operand> v;
    std::istringstream s(words);
    for (std::string w; s >> w;) v.push_back({w, register_bits(w)});
    return v;
  };
  c.dst = operands(line.substr(first + 3, second - first - 3));
  c.src = operands(line.substr(second + 3));
  return c;
}

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Case> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) out.push_back(parse_case(line));
  return out;
}

std::vector<uint64_t> operands_of(const Case& c) {
  const size_t n = c.inputs();
  Random random{0xcbf29ce484222325};
  for (char ch : c.line) random.state = (random.state ^ uint8_t(ch)) * 0x100000001b3;
  std::vector<const Class*> classes;
  size_t product = 1;
  for (const Operand& o : c.src) {
    classes.push_back(&class_of(o.name));
    product = classes.back()->parts > 1 ? SIZE_MAX
              : product > (1u << 20)    ? product
                                        : product * classes.back()->edges.size();
  }
  // Every combination of edge values where the kept tuples have room for them, else a sample first and all later.
  constexpr size_t kEdgeTuples = kKept - kKept / 4;
  std::vector<uint64_t> words(kTuples * n);
  for (size_t t = 0; t < kTuples; ++t) {
    uint64_t* w = &words[t * n];
    const size_t later = t - kKept;
    const bool enumerated = product <= kEdgeTuples
                                ? t < product
                                : t >= kKept && product != SIZE_MAX && later < product && later < kTuples / 2;
    size_t rest = product <= kEdgeTuples ? t : later;
    for (size_t k = 0; k < n; ++k) {
      const Class& cl = *classes[k];
      if (enumerated) {
        w[k] = cl.edges[rest % cl.edges.size()];
        rest /= cl.edges.size();
      } else if (t < kEdgeTuples) {
        w[k] = edge(cl, random);
      } else {
        const uint64_t kind = random.below(8);
        if (kind == 0)
          w[k] = edge(cl, random);
        else if (kind <= 4 && k > 0 && cl.exponent_bits && !cl.only_edges &&
                 classes[k - 1]->exponent_bits == cl.exponent_bits && classes[k - 1]->parts == cl.parts)
          w[k] = near(cl, w[k - 1], random);
        else
          w[k] = random_word(cl, random);
      }
      w[k] &= mask_of(cl.bits);
    }
  }
  return words;
}

std::string kernel_name(size_t index) { return "case_" + std::to_string(index); }

std::string module_text(const std::vector<Case>& cases, const std::string& target) {
  std::ostringstream s;
  s << ".version 9.0\n.target " << target << "\n.address_size 64\n";
  for (size_t n = 0; n < cases.size(); ++n) {
    const Case& c = cases[n];
    std::vector<Operand> all = c.dst;
    all.insert(all.end(), c.src.begin(), c.src.end());
    s << "\n// " << c.text << "\n.visible .entry " << kernel_name(n)
      << "(.param .u64 inputs, .param .u64 outputs)\n{\n";
    s << "  .reg .b32 %thread, %block, %index, %word;\n  .reg .b64 %in, %out, %wide;\n";
    for (size_t i = 0; i < all.size(); ++i) s << "  .reg ." << reg_type(all[i].bits) << " %x" << i << ";\n";
    s << "  mov.u32 %thread, %tid.x;\n  mov.u32 %block, %ctaid.x;\n  mad.lo.s32 %index, %block, 256, %thread;\n"
      << "  ld.param.u64 %in, [inputs];\n  ld.param.u64 %out, [outputs];\n"
      << "  mad.wide.u32 %in, %index, " << 8 * c.inputs() << ", %in;\n"
      << "  mad.wide.u32 %out, %index, " << 8 * c.outputs() << ", %out;\n";
    for (size_t k = 0; k < c.src.size(); ++k) {
      const size_t i = c.dst.size() + k;
      s << "  ld.global.u64 %wide, [%in+" << 8 * k << "];\n";
      switch (all[i].bits) {
        case 0: s << "  cvt.u32.u64 %word, %wide;\n  setp.ne.u32 %x" << i << ", %word, 0;\n"; break;
        case 16: s << "  cvt.u16.u64 %x" << i << ", %wide;\n"; break;
        case 32: s << "  cvt.u32.u64 %x" << i << ", %wide;\n"; break;
        default: s << "  mov.b64 %x" << i << ", %wide;\n";
      }
    }
    s << "  ";
    for (size_t i = 0; i < c.text.size(); ++i) {
      if (c.text[i] == '$' && i + 1 < c.text.size() && std::isdigit(uint8_t(c.text[i + 1])))
        s << "%x";
      else
        s << c.text[i];
    }
    s << "\n";
    for (size_t k = 0; k < c.dst.size(); ++k) {
      switch (all[k].bits) {
        case 0: s << "  selp.u64 %wide, 1, 0, %x" << k << ";\n"; break;
        case 16: s << "  cvt.u64.u16 %wide, %x" << k << ";\n"; break;
        case 32: s << "  cvt.u64.u32 %wide, %x" << k << ";\n"; break;
        default: s << "  mov.b64 %wide, %x" << k << ";\n";
      }
      s << "  st.global.u64 [%out+" << 8 * k << "], %wide;\n";
    }
    s << "  ret;\n}\n";
  }
  return s.str();
}

uint64_t hash(const uint64_t* words, size_t count) { return hash_words(words, count); }

}  // namespace conformance
