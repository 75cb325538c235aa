#include "chapters/16_megakernel/reference.h"

#include <cmath>
#include <mutex>

#include "common/harness/numbers.h"
#include "common/harness/parallel.h"

namespace megakernel {
namespace {

using gen5::harness::bf16_of;
using gen5::harness::Bound;
using gen5::harness::for_all;
using gen5::harness::Format;
using gen5::harness::value_of;
using Row = std::vector<double>;

constexpr double kUnit = 0x1p-24;  // of f32
constexpr double kBf16 = 0x1p-8;
constexpr double kStep = 21 * 0x1p-25;  // what the tensor core cuts of a step of 16 products

double number(uint16_t word) { return value_of(Format::bf16, word); }

Row row_of(const Words& from, size_t row, size_t columns) {
  Row r(columns);
  for (size_t i = 0; i < columns; ++i) r[i] = number(from[row * columns + i]);
  return r;
}

/// Σ wx, and what the tensor core and the sum of parts may cost.
struct Sum {
  double value = 0, allowed = 0;
};
Sum sum_of(const Words& w, size_t row, const Row& x, uint32_t parts) {
  Sum s;
  const size_t n = x.size();
  for (size_t i = 0; i < n; ++i) {
    const double p = number(w[row * n + i]) * x[i];
    s.value += p;
    s.allowed += std::fabs(p);
  }
  s.allowed *= std::ceil(double(n) / 16) * kStep + parts * kUnit;
  return s;
}

/// All results of an operation, from several threads.
class OperationResults {
 public:
  explicit OperationResults(std::string operation) : name_(std::move(operation)) {}
  /// `allowed` without the rounding to bf16.
  static void add(Bound& b, uint16_t got, double exact, double allowed) {
    const double all = allowed + kBf16 * (std::fabs(exact) + allowed) + 0x1p-133;
    const double error = std::fabs(number(got) - exact);
    ++b.checked;
    if (!(error <= all)) ++b.outside;
    b.worst = std::max(b.worst, error / all);
  }
  void merge(const Bound& b) {
    const std::lock_guard lock(mutex_);
    all_.checked += b.checked;
    all_.outside += b.outside;
    all_.worst = std::max(all_.worst, b.worst);
  }
  /// f(i, bound) for i below count.
  template <class F>
  void each(size_t count, const F& f) {
    for_all(count, [&](size_t i) {
      Bound b;
      f(i, b);
      merge(b);
    });
  }
  Checked checked() const { return {name_, all_}; }

 private:
  std::string name_;
  Bound all_;
  std::mutex mutex_;
};

struct Turn {
  double c, s;
};
/// New tokens of a sequence, and where row `row` of x is among those of its sequence.
uint32_t tokens_of(const Sizes& s) { return s.prefill ? s.prefill : 1; }
uint32_t sequence_of(const Sizes& s, size_t row) { return uint32_t(row) / tokens_of(s); }
uint32_t position_of(const Sizes& s, size_t row) { return s.cache + uint32_t(row) % tokens_of(s); }

Turn turn_of(const Sizes& s, uint32_t i, uint32_t position) {
  const double angle = position / std::pow(5e5, 2.0 * (i / 2) / s.dim);
  return {std::cos(angle), std::sin(angle)};
}

/// Where a row of Wqkv goes: kv head, head among q's of it (group: k, group + 1: v), and number in the head.
struct Place {
  uint32_t kv_head, head, i;
};
Place place_of(const Sizes& s, uint32_t row) { return {row / s.kv_rows(), row % s.kv_rows() / s.dim, row % s.dim}; }

double silu(double x) { return x / (1 + std::exp(-x)); }

/// What f32 may cost a weight of the softmax over n keys, beside its score: x, with the largest score.
double weight_error(const Sizes& s, uint32_t n, double x, double largest) {
  const double scores = 12 * kUnit * (std::fabs(x) + std::fabs(largest)) + 0x1p-17;  // p is two bf16
  // A prefill's warp takes 32 keys at a time, each time with an exponential for what it had, and multiplies them with
  // both bf16 of p in two steps each.
  const uint32_t turns = (n + 31) / 32;
  if (s.prefill) return scores + (1 + turns) * 0x1p-21 + 4 * turns * kStep + (12 + 3 * turns) * kUnit;
  // Three exponentials (of the chunk, of the warps and of the parts), each of a difference of rounded numbers. A warp
  // multiplies 32 keys of a chunk in two steps; then four warps' sums and those of parts are added.
  const uint32_t chunks = (n + 126) / 128;
  return scores + 3 * 0x1p-21 + 2 * chunks * kStep + (12 + 3 * chunks) * kUnit;
}

/// Softmax over the first n keys, of one head: its row of a, and what f32 may cost.
void attend(const Sizes& s, uint32_t n, const Row& q, const Row& keys, const Row& values, Row& a, Row& allowed) {
  Row x(n), w(n), e(n);
  double largest = -INFINITY, sum = 0, mean = 0;
  for (uint32_t j = 0; j < n; ++j) {
    double size = 0;
    for (uint32_t i = 0; i < s.dim; ++i) {
      const double p = q[i] * keys[j * s.dim + i] / std::sqrt(double(s.dim));
      x[j] += p;
      size += std::fabs(p);
    }
    e[j] = ((s.dim + 15) / 16 * kStep + 4 * kUnit) * size;
    largest = std::max(largest, x[j]);
  }
  for (uint32_t j = 0; j < n; ++j) {
    sum += w[j] = std::exp(x[j] - largest);
    e[j] += weight_error(s, n, x[j], largest);
  }
  for (uint32_t j = 0; j < n; ++j) mean += (w[j] /= sum) * e[j];
  a.assign(s.dim, 0);
  allowed.assign(s.dim, 0);
  for (uint32_t j = 0; j < n; ++j)
    for (uint32_t i = 0; i < s.dim; ++i) {
      const double v = values[j * s.dim + i];
      a[i] += w[j] * v;
      allowed[i] += w[j] * std::fabs(v) * (e[j] + mean + 4 * kUnit);
    }
}

/// Each operation of one layer against what the kernels gave it.
class Layer {
 public:
  Layer(const Sizes& s, const Plan& plan, const Weights& w, const Results& r) : s_(s), w_(w), r_(r) {
    for (const Task& t : plan.tasks) parts_[uint32_t(t.op)] = t.parts;
    norms_apart_ = parts(Op::norm) > 0;
  }

  bool norms_apart() const { return norms_apart_; }

  void norm(OperationResults& out, uint32_t half) const {
    out.each(s_.rows(), [&](size_t b, Bound& bound) {
      const size_t row = size_t(half) * s_.rows() + b;
      const Row x = row_of(r_.residual, row, s_.hidden), gain = row_of(w_.gains, half, s_.hidden);
      const double factor = factor_of(x);
      for (uint32_t i = 0; i < s_.hidden; ++i) {
        const double exact = x[i] * factor * gain[i];
        OperationResults::add(bound, r_.normed[row * s_.hidden + i], exact, std::fabs(exact) * factor_error());
      }
    });
  }

  void qkv(OperationResults& out, uint32_t layer) const {
    out.each(s_.rows(), [&](size_t b, Bound& bound) {
      const Normed n = normed(2 * layer, b);
      const size_t first = size_t(layer) * s_.qkv_rows();
      for (uint32_t row = 0; row < s_.qkv_rows(); row += 2) {
        const Place p = place_of(s_, row);
        const Sum x = dot(w_.qkv, first + row, n, Op::qkv), y = dot(w_.qkv, first + row + 1, n, Op::qkv);
        const Turn t = p.head <= s_.group() ? turn_of(s_, p.i, position_of(s_, b)) : Turn{1, 0};
        const double c = std::fabs(t.c), s = std::fabs(t.s), small = 4 * kUnit;
        OperationResults::add(
            bound, *at(layer, b, p), x.value * t.c - y.value * t.s,
            x.allowed * c + y.allowed * s + small * (std::fabs(x.value) * c + std::fabs(y.value) * s));
        OperationResults::add(
            bound, *(at(layer, b, p) + 1), y.value * t.c + x.value * t.s,
            y.allowed * c + x.allowed * s + small * (std::fabs(y.value) * c + std::fabs(x.value) * s));
      }
    });
  }

  void attention(OperationResults& out, uint32_t layer) const {
    out.each(size_t(s_.rows()) * s_.heads, [&](size_t index, Bound& bound) {
      const size_t b = index / s_.heads, head = index % s_.heads, kv_head = head / s_.group();
      const size_t row = size_t(layer) * s_.rows() * s_.heads + index;
      const size_t cached = (size_t(layer) * s_.batch + sequence_of(s_, b)) * s_.kv_heads + kv_head;
      const size_t columns = size_t(s_.keys()) * s_.dim;
      Row a, allowed;
      attend(s_, position_of(s_, b) + 1, row_of(r_.q, row, s_.dim), row_of(r_.keys, cached, columns),
             row_of(r_.values, cached, columns), a, allowed);
      for (uint32_t i = 0; i < s_.dim; ++i)
        OperationResults::add(bound, r_.attended[row * s_.dim + i], a[i], allowed[i]);
    });
  }

  /// x1 = x + Wout · a, or x2 = x1 + Wdown · h.
  void added(OperationResults& out, uint32_t half, const Words& weights, const Words& inputs, uint32_t depth,
             Op op) const {
    const uint32_t layer = half / 2;
    out.each(s_.rows(), [&](size_t b, Bound& bound) {
      const Row x = row_of(r_.residual, size_t(half) * s_.rows() + b, s_.hidden);
      const Row in = row_of(inputs, size_t(layer) * s_.rows() + b, depth);
      for (uint32_t i = 0; i < s_.hidden; ++i) {
        const Sum sum = sum_of(weights, size_t(layer) * s_.hidden + i, in, parts(op));
        OperationResults::add(bound, r_.residual[(size_t(half + 1) * s_.rows() + b) * s_.hidden + i], x[i] + sum.value,
                              sum.allowed + kUnit * std::fabs(x[i] + sum.value));
      }
    });
  }

  void gate_up(OperationResults& out, uint32_t layer) const {
    out.each(s_.rows(), [&](size_t b, Bound& bound) {
      const Normed m = normed(2 * layer + 1, b);
      const size_t first = size_t(layer) * 2 * s_.intermediate;
      for (uint32_t i = 0; i < s_.intermediate; ++i) {
        const Sum gate = dot(w_.gate_up, first + i, m, Op::gate_up);
        const Sum up = dot(w_.gate_up, first + s_.intermediate + i, m, Op::gate_up);
        const double act = silu(gate.value), exact = act * up.value;  // silu's slope is at most 1.1
        OperationResults::add(bound, r_.gated[(size_t(layer) * s_.rows() + b) * s_.intermediate + i], exact,
                              1.1 * gate.allowed * (std::fabs(up.value) + up.allowed) + std::fabs(act) * up.allowed +
                                  std::fabs(exact) * (0x1p-21 * (1 + std::fabs(gate.value)) + 8 * kUnit));
      }
    });
  }

 private:
  /// What a projection multiplies: n as it lies in memory; or x · gain as the kernel rounds it, and the norm's factor.
  struct Normed {
    Row row;
    double factor = 1, error = 0;
  };
  Normed normed(uint32_t half, size_t b) const {
    const size_t at = size_t(half) * s_.rows() + b;
    if (norms_apart_) return {row_of(r_.normed, at, s_.hidden)};
    Normed n{row_of(r_.residual, at, s_.hidden)};
    const Row gain = row_of(w_.gains, half, s_.hidden);
    n.factor = factor_of(n.row);
    n.error = factor_error();
    for (uint32_t i = 0; i < s_.hidden; ++i) n.row[i] = number(bf16_of(float(n.row[i] * gain[i])));
    return n;
  }
  static double factor_of(const Row& x) {
    double squares = 0;
    for (const double v : x) squares += v * v;
    return 1 / std::sqrt(squares / double(x.size()) + 1e-5);
  }
  /// A row's squares are added up by 128 threads, or a prefill's by 32.
  double factor_error() const { return (s_.hidden / (s_.prefill ? 32.0 : 128.0) + 20) * kUnit + 0x1p-21; }
  Sum dot(const Words& w, size_t row, const Normed& n, Op op) const {
    const Sum s = sum_of(w, row, n.row, parts(op));
    return {s.value * n.factor, (s.allowed + std::fabs(s.value) * n.error) * n.factor};
  }
  uint32_t parts(Op op) const { return parts_[uint32_t(op)]; }
  const uint16_t* at(uint32_t layer, size_t b, const Place& p) const {
    const size_t row = size_t(layer) * s_.rows() + b, sequence = size_t(layer) * s_.batch + sequence_of(s_, b);
    if (p.head < s_.group()) return &r_.q[(row * s_.heads + p.kv_head * s_.group() + p.head) * s_.dim + p.i];
    const Words& cache = p.head == s_.group() ? r_.keys : r_.values;
    return &cache[((sequence * s_.kv_heads + p.kv_head) * s_.keys() + position_of(s_, b)) * s_.dim + p.i];
  }

  const Sizes& s_;
  const Weights& w_;
  const Results& r_;
  uint32_t parts_[kOps] = {};  // 0: there is no such operation
  bool norms_apart_ = true;
};

}  // namespace

std::vector<Checked> check_float64(const Sizes& s, const Plan& plan, const Weights& w, const Results& got) {
  const Layer layer(s, plan, w, got);
  OperationResults norm("norm"), qkv("qkv, rotated, appended"), attention("attention"), out("out, added"),
      gate_up("gate, up, SwiGLU"), down("down, added");
  const bool norms_apart = layer.norms_apart();
  for (uint32_t l = 0; l < s.layers; ++l) {
    if (norms_apart) layer.norm(norm, 2 * l);
    layer.qkv(qkv, l);
    layer.attention(attention, l);
    layer.added(out, 2 * l, w.out, got.attended, s.head_columns(), Op::out);
    if (norms_apart) layer.norm(norm, 2 * l + 1);
    layer.gate_up(gate_up, l);
    layer.added(down, 2 * l + 1, w.down, got.gated, s.intermediate, Op::down);
  }
  std::vector<Checked> all;
  if (norms_apart) all.push_back(norm.checked());
  for (const OperationResults* o : {&qkv, &attention, &out, &gate_up, &down}) all.push_back(o->checked());
  return all;
}

double distance_to_exact(const Sizes& s, const Weights& w, const Results& got) {
  const auto product = [](const Words& weights, size_t first, size_t rows, const Row& in) {
    Row r(rows);
    for (size_t i = 0; i < rows; ++i) r[i] = sum_of(weights, first + i, in, 1).value;
    return r;
  };
  const auto norm = [&](const Row& in, uint32_t half) {
    double squares = 0;
    for (const double v : in) squares += v * v;
    Row n(in.size());
    for (size_t i = 0; i < n.size(); ++i)
      n[i] = in[i] / std::sqrt(squares / double(n.size()) + 1e-5) * number(w.gains[half * n.size() + i]);
    return n;
  };
  const auto add = [](Row& to, const Row& to_add) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += to_add[i];
  };
  std::vector<Row> x(s.rows()), qkv(s.rows());
  for (size_t b = 0; b < x.size(); ++b) x[b] = row_of(w.x, b, s.hidden);
  for (uint32_t l = 0; l < s.layers; ++l) {
    for_all(x.size(), [&](size_t b) {
      qkv[b] = product(w.qkv, size_t(l) * s.qkv_rows(), s.qkv_rows(), norm(x[b], 2 * l));
      for (uint32_t row = 0; row < s.qkv_rows(); row += 2) {
        const Place p = place_of(s, row);
        if (p.head > s.group()) continue;
        const Turn t = turn_of(s, p.i, position_of(s, b));
        const double even = qkv[b][row], odd = qkv[b][row + 1];
        qkv[b][row] = even * t.c - odd * t.s;
        qkv[b][row + 1] = odd * t.c + even * t.s;
      }
    });
    for_all(x.size(), [&](size_t b) {
      const uint32_t n = position_of(s, b) + 1, tokens = n - s.cache;  // of its sequence, up to this one
      Row a(s.head_columns());
      for (uint32_t head = 0; head < s.heads; ++head) {
        const uint32_t kv_head = head / s.group();
        const size_t cached = (size_t(l) * s.batch + sequence_of(s, b)) * s.kv_heads + kv_head;
        const size_t columns = size_t(s.keys()) * s.dim;
        Row keys = row_of(w.keys, cached, columns), values = row_of(w.values, cached, columns), o, unused;
        const auto of = [&](size_t row, uint32_t part) {
          return qkv[row].begin() + kv_head * s.kv_rows() + part * s.dim;
        };
        for (uint32_t t = 0; t < tokens; ++t) {
          const size_t at = size_t(s.cache + t) * s.dim, row = b + 1 - tokens + t;
          std::copy_n(of(row, s.group()), s.dim, keys.begin() + at);
          std::copy_n(of(row, s.group() + 1), s.dim, values.begin() + at);
        }
        attend(s, n, Row(of(b, head % s.group()), of(b, head % s.group()) + s.dim), keys, values, o, unused);
        std::copy(o.begin(), o.end(), a.begin() + head * s.dim);
      }
      add(x[b], product(w.out, size_t(l) * s.hidden, s.hidden, a));
      const Row m = norm(x[b], 2 * l + 1);
      const size_t first = size_t(l) * 2 * s.intermediate;
      const Row gate = product(w.gate_up, first, s.intermediate, m),
                up = product(w.gate_up, first + s.intermediate, s.intermediate, m);
      Row h(s.intermediate);
      for (size_t i = 0; i < h.size(); ++i) h[i] = silu(gate[i]) * up[i];
      add(x[b], product(w.down, size_t(l) * s.hidden, s.hidden, h));
    });
  }
  double difference = 0, all = 0;
  for (size_t b = 0; b < x.size(); ++b)
    for (uint32_t i = 0; i < s.hidden; ++i) {
      const double d = number(got.residual[(2 * s.layers * x.size() + b) * s.hidden + i]) - x[b][i];
      difference += d * d;
      all += x[b][i] * x[b][i];
    }
  return std::sqrt(difference / all);
}

}  // namespace megakernel
