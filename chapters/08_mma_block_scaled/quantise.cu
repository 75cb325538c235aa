// What block scaling is good for: matrices with a few large numbers, quantised in five ways, and multiplied.
#include <fmt/core.h>

#include <algorithm>

#include "chapters/08_mma_block_scaled/parts.h"
#include "chapters/08_mma_block_scaled/run.cuh"
#include "common/harness/inputs.h"

namespace {

using namespace gen5::harness;
using namespace scaled;

constexpr uint32_t kRows = 128, kDepth = 256;

/// Numbers as layers of a trained network have them: nearly normal, and a few channels (columns) far larger than the
/// rest. Deterministic.
std::vector<double> activations(uint64_t seed) {
  Random random(seed);
  std::vector<double> channel(kDepth), m(size_t(kRows) * kDepth);
  for (double& c : channel) c = random.below(40) == 0 ? 30 : std::exp2(random.unit());
  for (uint32_t i = 0; i < m.size(); ++i) {
    double sum = 0;  // of twelve uniform numbers: nearly normal
    for (int j = 0; j < 12; ++j) sum += random.unit();
    m[i] = sum / 2 * channel[i % kDepth];
  }
  return m;
}

double largest_of(const double* from, uint32_t count) {
  double largest = 0;
  for (uint32_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(from[i]));
  return largest;
}

/// A quantised matrix, and a factor for all of it that the kernel's epilogue multiplies with.
struct Quantised {
  Matrix matrix;
  double factor = 1;
};

/// One scale for all: the largest number becomes the format's largest.
Quantised with_one_scale(const std::vector<double>& m, Narrow format) {
  Quantised q{{format, false, kRows, kDepth, 32, {}, {}}, 1};
  q.factor = largest_of(m.data(), uint32_t(m.size())) / shape_of(format).largest;
  for (const double x : m) q.matrix.codes.push_back(narrow_of(format, x / q.factor));
  q.matrix.scales.assign(size_t(kRows) * q.matrix.blocks(), 127);
  return q;
}

/// OCP MX: a power of two for 32 numbers, that of the largest over that of the format's largest.
Quantised with_mx_scales(const std::vector<double>& m, Narrow format) {
  Quantised q{{format, false, kRows, kDepth, 32, {}, {}}, 1};
  const int top = int(std::floor(std::log2(shape_of(format).largest)));
  for (size_t i = 0; i < m.size(); i += 32) {
    const double largest = largest_of(&m[i], 32);
    const int exponent = largest > 0 ? int(std::floor(std::log2(largest))) - top : -127;
    q.matrix.scales.push_back(uint8_t(exponent + 127));
    for (size_t k = i; k < i + 32; ++k) q.matrix.codes.push_back(narrow_of(format, std::ldexp(m[k], -exponent)));
  }
  return q;
}

/// NVFP4: an e4m3 number for 16, and a factor for all that brings the largest scale to 448.
Quantised with_nv_scales(const std::vector<double>& m) {
  Quantised q{{Narrow::e2m1, true, kRows, kDepth, 16, {}, {}}, 1};
  q.factor = largest_of(m.data(), uint32_t(m.size())) / (6 * 448);
  for (size_t i = 0; i < m.size(); i += 16) {
    const uint8_t scale = narrow_of(Narrow::e4m3, largest_of(&m[i], 16) / 6 / q.factor);
    q.matrix.scales.push_back(scale);
    const double by = ue4m3_value(scale) * q.factor;
    for (size_t k = i; k < i + 16; ++k) q.matrix.codes.push_back(narrow_of(Narrow::e2m1, by > 0 ? m[k] / by : 0));
  }
  return q;
}

/// √(Σ (x − y)² / Σ y²).
template <class X>
double error_of(const std::vector<X>& x, double factor, const std::vector<double>& y) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    difference += (double(x[i]) * factor - y[i]) * (double(x[i]) * factor - y[i]);
    size += y[i] * y[i];
  }
  return std::sqrt(difference / size);
}

std::vector<double> values_of(const Matrix& m) {
  std::vector<double> v(m.codes.size());
  for (uint32_t i = 0; i < v.size(); ++i) v[i] = m.value(i / m.depth, i % m.depth);
  return v;
}

void part_quantise(Report& r) {
  const auto a = activations(91), b = activations(92);
  std::vector<double> exact(size_t(kRows) * kRows);
  for (uint32_t m = 0; m < kRows; ++m)
    for (uint32_t n = 0; n < kRows; ++n)
      for (uint32_t k = 0; k < kDepth; ++k) exact[m * kRows + n] += a[m * kDepth + k] * b[n * kDepth + k];
  r.say(fmt::format(
      "Two matrices of {} x {}, nearly normal, but one channel in forty is far larger than the rest, as in the "
      "activations of trained networks. The program quantises each in five ways, and multiplies them by the kind for "
      "that format. Errors are root mean squares, as a share of the matrix's own:",
      kRows, kDepth));
  Table t({"format", "scale", "bits an element", "error of A", "error of A B", "kind"});
  bool right = true;
  double errors[5];
  size_t at = 0;
  const auto row = [&](const char* format, const char* scale, double bits, const char* kind, const Quantised& qa,
                       const Quantised& qb, const std::vector<float>& d) {
    // The tensor core's sums against those of the quantised matrices in double.
    const auto want = multiply(qa.matrix, qb.matrix);
    right &= error_of(d, 1, want) < 1e-6;
    errors[at++] = error_of(d, qa.factor * qb.factor, exact);
    t.row({format, scale, fmt::format("{:.2f}", bits),
           fmt::format("{:.2f} %", 100 * error_of(values_of(qa.matrix), qa.factor, a)),
           fmt::format("{:.2f} %", 100 * errors[at - 1]), kind});
  };
  const auto both = [&](auto quantise) { return std::pair(quantise(a), quantise(b)); };
  {
    const auto [qa, qb] = both([](const auto& m) { return with_one_scale(m, Narrow::e4m3); });
    row("e4m3", "one for all", 8, "mxf8f6f4", qa, qb, run_product<ScaledKind::mxf8f6f4>(qa.matrix, qb.matrix, kMxf8));
  }
  {
    const auto [qa, qb] = both([](const auto& m) { return with_mx_scales(m, Narrow::e4m3); });
    row("e4m3", "ue8m0 for 32", 8.25, "mxf8f6f4", qa, qb,
        run_product<ScaledKind::mxf8f6f4>(qa.matrix, qb.matrix, kMxf8));
  }
  {
    const auto [qa, qb] = both([](const auto& m) { return with_one_scale(m, Narrow::e2m1); });
    row("e2m1", "one for all", 4, "mxf4", qa, qb, run_product<ScaledKind::mxf4>(qa.matrix, qb.matrix, kMxf4));
  }
  {
    const auto [qa, qb] = both([](const auto& m) { return with_mx_scales(m, Narrow::e2m1); });
    row("e2m1", "ue8m0 for 32", 4.25, "mxf4", qa, qb, run_product<ScaledKind::mxf4>(qa.matrix, qb.matrix, kMxf4));
  }
  {
    const auto [qa, qb] = both([](const auto& m) { return with_nv_scales(m); });
    row("e2m1", "ue4m3 for 16", 4.5, "mxf4nvf4", qa, qb,
        run_product<ScaledKind::mxf4nvf4>(qa.matrix, qb.matrix, kNvf4));
  }
  r.table(t);
  r.check("each product is that of the quantised matrices", right, "within f32 of their sums in double");
  r.check("four bits with scales are better than four without, finer scales better than coarse ones",
          errors[4] < errors[3] && errors[3] < errors[2]);
  r.say(
      "What to see: 4 bits have fifteen values. With one scale for the whole matrix most numbers round to zero; a "
      "scale for each block keeps them. nvf4's scales have a fraction, so a block's largest number is met exactly, and "
      "its blocks are shorter. 8 bits have enough range here, so a power of two for 32 elements only costs: a block's "
      "largest number may lie anywhere between half of the format's largest and a little above it. (With one scale for "
      "the matrix, all block scales are 1.)");
}

// ---- Edges

void part_edges(Report& r) {
  // One scale of A is changed; everything else is 1, K is 32.
  const auto with = [](uint8_t scale, uint8_t code) {
    Matrix a{Narrow::e4m3, false, kM, 32, 32, {}, {}}, b = a;
    a.codes.assign(kM * 32, code);
    a.scales.assign(kM, scale);
    b.rows = 8;
    b.codes.assign(8 * 32, 0x38);
    b.scales.assign(8, 127);
    return run_product<ScaledKind::mxf8f6f4>(a, b, with_n(kMxf8, 8))[0];
  };
  Table t({"scale's code", "its value", "element", "D, 32 products"});
  struct Edge {
    uint8_t scale, code;
    const char *value, *element;
    double want;
  };
  const Edge edges[] = {{127, 0x38, "1", "1", 32},           {0, 0x38, "2^-127", "1", 0x1p-122},
                        {254, 0x38, "2^127", "1", INFINITY}, {240, 0x01, "2^113", "2^-9", 0x1p109},
                        {255, 0x38, "NaN", "1", NAN},        {255, 0x00, "NaN", "0", NAN}};
  bool all = true;
  for (const Edge& e : edges) {
    const float d = with(e.scale, e.code);
    all &= std::isnan(e.want) ? std::isnan(d) : double(d) == e.want;
    t.row({std::to_string(e.scale), e.value, e.element, fmt::format("{:g}", d)});
  }
  r.say("ue8m0 is only an exponent: it has no zero and no sign, and 255 is NaN.");
  r.table(t);
  r.check("as written", all);
}

}  // namespace

void add_quantisation(Chapter& chapter) {
  chapter.part("quantise", "Five ways to make a matrix small", part_quantise);
  chapter.part("edges", "The ends of the scales", part_edges);
}
