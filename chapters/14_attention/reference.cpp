#include "chapters/14_attention/reference.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>

#include "common/harness/clones.h"
#include "common/harness/inputs.h"
#include "common/harness/parallel.h"

namespace attention {
namespace {

using gen5::harness::bf16_of;
using gen5::harness::Bound;
using gen5::harness::for_all;
using gen5::harness::Format;
using gen5::harness::Random;
using gen5::harness::value_of;

double number(uint16_t word) { return value_of(Format::bf16, word); }

/// Keys that a query sees.
uint32_t seen(const Inputs& in, uint32_t query) { return in.causal ? std::min(in.keys, query + 1) : in.keys; }

/// Σ qk and Σ |qk| of a query and `count` keys.
GEN5_CLONES void scores(const double* q, const float* k, uint32_t dim, uint32_t count, double* sum, double* magnitude) {
  for (uint32_t j = 0; j < count; ++j) {
    double s = 0, a = 0;
    for (uint32_t i = 0; i < dim; ++i) {
      const double p = q[i] * double(k[size_t(j) * dim + i]);
      s += p;
      a += std::fabs(p);
    }
    sum[j] = s;
    magnitude[j] = a;
  }
}

/// Σ w·v and Σ u·|v|.
GEN5_CLONES void weigh(const double* w, const double* u, const float* v, uint32_t dim, uint32_t count, double* sum,
                       double* magnitude) {
  std::fill_n(sum, dim, 0);
  std::fill_n(magnitude, dim, 0);
  for (uint32_t j = 0; j < count; ++j)
    for (uint32_t i = 0; i < dim; ++i) {
      const double x = v[size_t(j) * dim + i];
      sum[i] += w[j] * x;
      magnitude[i] += u[j] * std::fabs(x);
    }
}

/// One head's keys and values.
struct Head {
  std::vector<float> k, v;
  Head(const Inputs& in, uint32_t head) : k(size_t(in.keys) * in.dim), v(k.size()) {
    const size_t first = size_t(head) * k.size();
    for (size_t i = 0; i < k.size(); ++i) {
      k[i] = float(number(in.k[first + i]));
      v[i] = float(number(in.v[first + i]));
    }
  }
};

void check_row(const Inputs& in, const Head& head, size_t row, uint32_t query, const Arithmetic& a,
               const std::vector<uint16_t>& o, Bound& bound) {
  const uint32_t n = seen(in, query), dim = in.dim, blocks = (n + a.block - 1) / a.block;
  const double c = 1 / (std::sqrt(double(dim)) * std::log(2.0)), step = 21 * 0x1p-25;
  std::vector<double> q(dim), x(n), magnitude(n), w(n), u(n), sum(dim), size(dim);
  for (uint32_t i = 0; i < dim; ++i) q[i] = number(in.q[row * dim + i]);
  scores(q.data(), head.k.data(), dim, n, x.data(), magnitude.data());
  const double largest = *std::max_element(x.begin(), x.end());
  double total = 0, deepest = 0, weighted = 0;
  for (uint32_t j = 0; j < n; ++j) {
    x[j] = c * (x[j] - largest);
    deepest = std::max(deepest, -x[j]);
    total += w[j] = std::exp2(x[j]);
  }
  const double common = 0x1p-8 + std::ceil(n / 16.0) * step + blocks * 0x1p-24;
  for (uint32_t j = 0; j < n; ++j) {
    w[j] /= total;
    const double exponent =
        c * std::ceil(dim / 16.0) * step * magnitude[j] + 0x1p-24 * (2 * std::fabs(x[j]) + deepest + 4 * a.slack);
    const double e = std::log(2.0) * exponent + a.exponential + blocks * (0x1p-22 + 0x1p-23);
    weighted += w[j] * e;
    u[j] = w[j] * (e + common);
  }
  weigh(w.data(), u.data(), head.v.data(), dim, n, sum.data(), size.data());
  for (uint32_t i = 0; i < dim; ++i) {
    double tiny = 0;
    for (uint32_t j = 0; j < n; j += 64) tiny += 64 * std::fabs(head.v[size_t(j) * dim + i]);
    const double exact = sum[i], got = number(o[row * dim + i]);
    const double allowed =
        1.01 * (size[i] + std::fabs(exact) * (weighted + (a.block / 2 + 2 * blocks + 4) * 0x1p-24 + 0x1p-8)) +
        0x1p-100 * tiny;
    bound.look_at(row, i, got, exact, allowed);
  }
}

}  // namespace

uint64_t Inputs::pairs() const {
  uint64_t all = 0;
  for (uint32_t i = 0; i < queries; ++i) all += seen(*this, i);
  return all * heads;
}

Inputs make_inputs(uint32_t heads, uint32_t queries, uint32_t keys, uint32_t dim, bool causal,
                   const std::string& pattern) {
  const bool peaked = pattern == "peaked", rising = pattern == "rising";
  if (!peaked && !rising && pattern != "normal") throw std::invalid_argument("no such pattern: " + pattern);
  Inputs in{heads, queries, keys, dim, causal, {}, {}, {}};
  const auto fill = [&](std::vector<uint16_t>& words, uint32_t rows, uint64_t seed, double factor) {
    Random random(seed);
    words.resize(size_t(heads) * rows * dim);
    for (uint16_t& w : words) {
      // Four uniform values: nearly normal.
      double v = 0;
      for (int i = 0; i < 4; ++i) v += random.unit();
      w = bf16_of(float(factor * v * std::sqrt(0.75)));
    }
  };
  fill(in.q, queries, 1, peaked ? 8 : 1);
  fill(in.k, keys, 2, 1);
  fill(in.v, keys, 3, 1);
  if (rising) {
    // One dimension of its own: 4 in all queries, from −32 to 32 along the keys.
    for (size_t i = 0; i < size_t(heads) * queries; ++i) in.q[i * dim] = bf16_of(4);
    for (size_t i = 0; i < size_t(heads) * keys; ++i)
      in.k[i * dim] = bf16_of(float(64.0 * double(i % keys) / keys - 32));
  }
  return in;
}

Bound check_float64(const Inputs& in, const std::vector<uint16_t>& o, const Arithmetic& arithmetic, double most_pairs) {
  if (o.size() != in.q.size()) throw std::invalid_argument("check_float64: O has another size than Q");
  // Every stride-th row of all heads together; a prime keeps them from falling on the same rows of tiles.
  uint64_t stride = uint64_t(std::ceil(double(in.pairs()) / most_pairs));
  if (stride > 1)
    for (const uint64_t prime : {3, 7, 13, 29, 61, 127, 251, 509, 1021, 2039, 4093, 8191})
      if (prime >= stride) {
        stride = prime;
        break;
      }
  Bound total;
  std::mutex mutex;
  for (uint32_t h = 0; h < in.heads; ++h) {
    const size_t begin = size_t(h) * in.queries;
    const size_t first = (begin + stride - 1) / stride * stride;
    if (first >= begin + in.queries) continue;
    const Head head(in, h);
    const size_t rows = (begin + in.queries - 1 - first) / stride + 1;
    for_all((rows + 15) / 16, [&](size_t group) {
      Bound mine;
      for (size_t i = group * 16; i < std::min(rows, group * 16 + 16); ++i) {
        const size_t row = first + i * stride;
        check_row(in, head, row, uint32_t(row - begin), arithmetic, o, mine);
      }
      const std::lock_guard lock(mutex);
      total += mine;
    });
  }
  // Where nothing was written NaN is left: the other rows at least are numbers.
  if (stride == 1) return total;
  for (const uint16_t w : o)
    if ((w & 0x7fff) > 0x7f80) ++total.outside;
  return total;
}

}  // namespace attention
