#include "chapters/16_megakernel/model.h"

#include <algorithm>
#include <cmath>

#include "common/harness/inputs.h"
#include "common/harness/numbers.h"

namespace megakernel {
namespace {

using gen5::harness::bf16_of;
using gen5::harness::DeviceBuffer;
using gen5::harness::driver_function;
using gen5::harness::Random;

/// `count` numbers in [−scale, scale) around `middle`.
Words numbers(size_t count, double scale, Random& random, double middle = 0) {
  Words w(count);
  for (uint16_t& x : w) x = bf16_of(float(middle + scale * random.unit()));
  return w;
}

/// Of weights, so that sums of `depth` products stay near 1.
double scale_of(uint32_t depth) { return std::sqrt(3.0 / depth); }

template <size_t Rank>
CUtensorMap map_of(uint16_t* data, const cuuint64_t (&size)[Rank], const cuuint64_t (&stride)[Rank - 1],
                   const cuuint32_t (&box)[Rank]) {
  static const auto encode =
      reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(driver_function("cuTensorMapEncodeTiled"));
  CUtensorMap map{};
  cuuint32_t step[Rank];
  std::fill_n(step, Rank, 1);
  GEN5_CUDA(encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, Rank, data, size, stride, box, step,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

/// As TMA sees `count` matrices of rows × columns, `pitch` rows from one to the next: boxes of 64 columns.
CUtensorMap stack(uint16_t* data, uint64_t columns, uint64_t rows, uint64_t count, uint64_t pitch, uint32_t box_rows) {
  return map_of<3>(data, {columns, rows, count}, {columns * 2, pitch * columns * 2}, {kBlock, box_rows, 1});
}

/// The same where a page has several blocks of 64 columns: a box is so many of them, one behind the other.
CUtensorMap pages_of(uint32_t blocks, uint16_t* data, uint64_t columns, uint64_t rows, uint64_t count,
                     uint32_t box_rows) {
  if (blocks == 1) return stack(data, columns, rows, count, rows, box_rows);
  return map_of<4>(data, {kBlock, rows, columns / kBlock, count}, {columns * 2, kBlock * 2, rows * columns * 2},
                   {kBlock, box_rows, blocks, 1});
}

/// Numbers of each tensor.
struct Counts {
  size_t residual, normed, heads, cache, newest, gated, qkv, out, gate_up, down, gains;
  explicit Counts(const Sizes& s) {
    const size_t row = size_t(s.rows()) * s.hidden, l = s.layers;
    residual = (2 * l + 1) * row;
    normed = 2 * l * row;
    heads = l * s.rows() * s.head_columns();
    cache = l * s.batch * s.kv_heads * s.keys() * s.dim;
    newest = l * s.batch * s.kv_heads * s.dim;
    gated = l * s.rows() * s.intermediate;
    qkv = l * s.qkv_rows() * s.hidden;
    out = l * s.hidden * s.head_columns();
    gate_up = l * 2 * s.intermediate * s.hidden;
    down = l * s.hidden * s.intermediate;
    gains = 2 * l * s.hidden;
  }
};

}  // namespace

Weights make_weights(const Sizes& s, uint64_t seed) {
  const Counts n(s);
  Random random(seed);
  Weights w;
  w.qkv = numbers(n.qkv, 2 * scale_of(s.hidden), random);
  w.out = numbers(n.out, scale_of(s.head_columns()), random);
  w.gate_up = numbers(n.gate_up, scale_of(s.hidden), random);
  w.down = numbers(n.down, scale_of(s.intermediate), random);
  w.gains = numbers(n.gains, 0.25, random, 1);
  w.x = numbers(size_t(s.rows()) * s.hidden, 1.5, random);
  w.keys = numbers(n.cache, 2, random);
  w.values = numbers(n.cache, 1.5, random);
  return w;
}

std::vector<float2> rotation_of(const Sizes& s) {
  std::vector<float2> turns;
  for (uint32_t position = s.cache; position < s.keys(); ++position)
    for (uint32_t i = 0; i < s.dim / 2; ++i) {
      const double angle = position * std::pow(500000.0, -2.0 * i / s.dim);
      turns.push_back({float(std::cos(angle)), float(std::sin(angle))});
    }
  return turns;
}

struct DeviceModel::Memory {
  Sizes sizes;
  Plan plan;
  Counts n;
  const Weights* weights;
  DeviceBuffer<uint16_t> qkv, out, gate_up, down, gains, residual, normed, q, keys, values, attended, gated;
  DeviceBuffer<float2> rotation;
  DeviceBuffer<float> scratch;
  DeviceBuffer<uint32_t> meets, counters, claimed, marked, sums;
  DeviceBuffer<Task> tasks;
  struct Lists {
    DeviceBuffer<Task> tasks;
    DeviceBuffer<uint32_t> first_of_cta;
    uint32_t ctas;
    explicit Lists(const Schedule& s) : tasks(s.tasks), first_of_cta(s.first), ctas(uint32_t(s.first.size()) - 1) {}
  } dealt, pairs;
  DeviceBuffer<Ran> ran;

  Memory(const Sizes& s, const Plan& p, const Schedule& d, const Schedule& in_pairs, const Weights* w)
      : sizes(s),
        plan(p),
        n(s),
        weights(w),
        qkv(n.qkv),
        out(n.out),
        gate_up(n.gate_up),
        down(n.down),
        gains(n.gains),
        residual(n.residual),
        normed(n.normed),
        q(n.heads),
        keys(n.cache),
        values(n.cache),
        attended(n.heads),
        gated(n.gated),
        rotation(rotation_of(s)),
        scratch(p.scratch),
        meets(p.meets),
        counters(p.counters),
        claimed(1),
        marked(kTarget.marked && s.rows() == 1 ? n.residual + 2 * n.heads + n.gated + 2 * n.newest : 1),
        sums(kTarget.marked ? std::max<size_t>(2 * p.scratch, 1) : 1),
        tasks(p.tasks),
        dealt(d),
        pairs(in_pairs),
        ran(p.tasks.size()) {
    meets.fill(0);
    counters.fill(0);
    claimed.fill(0);
    marked.fill(0);
    sums.fill(0);
    if (!w) return;
    qkv.upload(w->qkv);
    out.upload(w->out);
    gate_up.upload(w->gate_up);
    down.upload(w->down);
    gains.upload(w->gains);
  }
};

DeviceModel::DeviceModel(const Sizes& s, const Plan& plan, const Schedule& dealt, const Schedule& pairs,
                         const Weights* weights)
    : memory_(std::make_unique<Memory>(s, plan, dealt, pairs, weights)) {
  Memory& m = *memory_;
  Arguments& a = work_.args;
  const uint32_t columns = s.head_columns(), heads = s.layers * s.batch * s.kv_heads;
  const Tiling tiling = kTarget.tiling(s);
  const auto map = [&](auto... words) { return pages_of(tiling.columns / kBlock, words...); };
  const uint32_t box = kTarget.input_rows(s), rows = std::min(tiling.rows, tiling.gated);
  const uint32_t there = s.prefill ? s.keys() : s.cache;  // keys that TMA loads
  a.weights[weights_of(Op::qkv)] = map(m.qkv.get(), s.hidden, s.qkv_rows(), s.layers, rows);
  a.weights[weights_of(Op::out)] = map(m.out.get(), columns, s.hidden, s.layers, rows);
  a.weights[weights_of(Op::gate_up)] = map(m.gate_up.get(), s.hidden, 2 * s.intermediate, s.layers, rows);
  a.weights[weights_of(Op::down)] = map(m.down.get(), s.intermediate, s.hidden, s.layers, rows);
  a.inputs[weights_of(Op::qkv)] = tiling.norms_apart ? map(m.normed.get(), s.hidden, s.rows(), 2 * s.layers, box)
                                                     : map(m.residual.get(), s.hidden, s.rows(), 2 * s.layers + 1, box);
  a.inputs[weights_of(Op::out)] = map(m.attended.get(), columns, s.rows(), s.layers, box);
  a.inputs[weights_of(Op::gate_up)] = a.inputs[weights_of(Op::qkv)];
  a.inputs[weights_of(Op::down)] = map(m.gated.get(), s.intermediate, s.rows(), s.layers, box);
  a.gain_map = map(m.gains.get(), s.hidden, 2 * s.layers, 1, 1);
  a.keys = stack(m.keys.get(), s.dim, there, heads, s.keys(), kTile);
  a.values = stack(m.values.get(), s.dim, there, heads, s.keys(), kTile);
  a.residual = m.residual.get();
  a.gains = m.gains.get();
  a.normed = m.normed.get();
  a.q = m.q.get();
  a.key_cache = m.keys.get();
  a.value_cache = m.values.get();
  a.attended = m.attended.get();
  a.gated = m.gated.get();
  a.rotation = m.rotation.get();
  a.scratch = m.scratch.get();
  a.meets = m.meets.get();
  a.counters = m.counters.get();
  uint32_t* words = m.marked.get();
  for (const auto& [of, count] : {std::pair{&a.marked.residual, m.n.residual},
                                  {&a.marked.q, m.n.heads},
                                  {&a.marked.attended, m.n.heads},
                                  {&a.marked.gated, m.n.gated},
                                  {&a.marked.keys, m.n.newest},
                                  {&a.marked.values, m.n.newest}}) {
    *of = words;
    words += count;
  }
  a.marked.sums = m.sums.get();
  a.marks = 0;
  a.tasks = m.tasks.get();
  a.first_of_cta = m.dealt.first_of_cta.get();
  a.claimed = m.claimed.get();
  a.claimed_before = 0;
  a.count = uint32_t(plan.tasks.size());
  a.run = 0;
  a.ran = nullptr;
  a.taken = nullptr;
  a.hidden = s.hidden;
  a.heads = s.heads;
  a.kv_heads = s.kv_heads;
  a.group = s.group();
  a.dim = s.dim;
  a.intermediate = s.intermediate;
  a.batch = s.rows();
  a.prefill = s.prefill;
  a.cache = s.cache;
  work_.grids = plan.grids;
  work_.ctas = m.dealt.ctas;
  clear();
}

DeviceModel::~DeviceModel() = default;

void DeviceModel::clear() {
  Memory& m = *memory_;
  if (!m.weights) return;
  for (DeviceBuffer<uint16_t>* b : {&m.residual, &m.normed, &m.q, &m.attended, &m.gated}) b->fill(0xff);
  m.scratch.fill(0xff);
  m.keys.upload(m.weights->keys);
  m.values.upload(m.weights->values);
  GEN5_CUDA(cudaMemcpy(m.residual.get(), m.weights->x.data(), m.weights->x.size() * 2, cudaMemcpyHostToDevice));
}

Work DeviceModel::work(const Step& step, bool notes_times) const {
  Work w = work_;
  if (!step.counters) w.args.counters = nullptr;
  if (step.dealt) {
    const Memory::Lists& lists = step.pairs ? memory_->pairs : memory_->dealt;
    w.args.tasks = lists.tasks.get();
    w.args.first_of_cta = lists.first_of_cta.get();
    w.ctas = lists.ctas;
  }
  if (notes_times) w.args.ran = memory_->ran.get();
  return w;
}

void DeviceModel::launch(const Step& step, bool notes_times) {
  step.launch(work(step, notes_times));
  if (step.counters) ++work_.args.run;
  if (step.marked) ++work_.args.marks;
  if (step.counters && !step.dealt) work_.args.claimed_before += work_.args.count + work_.ctas;
}

Results DeviceModel::results() const {
  const Memory& m = *memory_;
  return {m.residual.download(), m.normed.download(),   m.q.download(),    m.keys.download(),
          m.values.download(),   m.attended.download(), m.gated.download()};
}

std::vector<Ran> DeviceModel::ran() const { return memory_->ran.download(); }

std::vector<DeviceModel::Tensor> DeviceModel::tensors() const {
  const Memory& m = *memory_;
  const Sizes& s = m.sizes;
  return {{"qkv", m.qkv.get(), m.n.qkv, 2 * scale_of(s.hidden), 0},
          {"out", m.out.get(), m.n.out, scale_of(s.head_columns()), 0},
          {"gate_up", m.gate_up.get(), m.n.gate_up, scale_of(s.hidden), 0},
          {"down", m.down.get(), m.n.down, scale_of(s.intermediate), 0},
          {"gains", m.gains.get(), m.n.gains, 0.25, 1},
          {"keys", m.keys.get(), m.n.cache, 2, 0},
          {"values", m.values.get(), m.n.cache, 1.5, 0},
          {"x", m.residual.get(), size_t(s.rows()) * s.hidden, 1.5, 0},
          {"last_x", m.residual.get() + m.n.residual - size_t(s.rows()) * s.hidden, size_t(s.rows()) * s.hidden, 0, 0}};
}

void DeviceModel::fill(uint64_t seed) {
  Random random(seed);
  for (const Tensor& t : tensors()) {
    if (t.scale == 0) continue;
    size_t there = std::min<size_t>(t.count, 999983);  // a prime: rows do not repeat
    const Words some = numbers(there, t.scale, random, t.middle);
    GEN5_CUDA(cudaMemcpy(t.data, some.data(), there * 2, cudaMemcpyHostToDevice));
    for (; there < t.count; there += std::min(there, t.count - there))
      GEN5_CUDA(cudaMemcpy(t.data + there, t.data, std::min(there, t.count - there) * 2, cudaMemcpyDeviceToDevice));
  }
}

}  // namespace megakernel
