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

/// As TMA sees `count` matrices of rows × columns, `pitch` rows from one to the next: boxes of 64 columns.
CUtensorMap stack(uint16_t* data, uint64_t columns, uint64_t rows, uint64_t count, uint64_t pitch, uint32_t box_rows) {
  static const auto encode =
      reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(driver_function("cuTensorMapEncodeTiled"));
  CUtensorMap map{};
  const cuuint64_t size[3] = {columns, rows, count}, stride[2] = {columns * 2, pitch * columns * 2};
  const cuuint32_t box[3] = {kBlock, box_rows, 1}, step[3] = {1, 1, 1};
  GEN5_CUDA(encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, data, size, stride, box, step,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

/// Numbers of each tensor.
struct Counts {
  size_t residual, normed, heads, cache, gated, qkv, out, gate_up, down, gains;
  explicit Counts(const Sizes& s) {
    const size_t row = size_t(s.batch) * s.hidden, l = s.layers;
    residual = (2 * l + 1) * row;
    normed = 2 * l * row;
    heads = l * s.batch * s.head_columns();
    cache = l * s.batch * s.kv_heads * (s.cache + 1) * s.dim;
    gated = l * s.batch * s.intermediate;
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
  const auto scale = [](uint32_t depth) { return std::sqrt(3.0 / depth); };
  Weights w;
  w.qkv = numbers(n.qkv, 2 * scale(s.hidden), random);
  w.out = numbers(n.out, scale(s.head_columns()), random);
  w.gate_up = numbers(n.gate_up, scale(s.hidden), random);
  w.down = numbers(n.down, scale(s.intermediate), random);
  w.gains = numbers(n.gains, 0.25, random, 1);
  w.x = numbers(size_t(s.batch) * s.hidden, 1.5, random);
  w.keys = numbers(n.cache, 2, random);
  w.values = numbers(n.cache, 1.5, random);
  return w;
}

std::vector<float2> rotation_of(const Sizes& s) {
  std::vector<float2> turns(s.dim / 2);
  for (uint32_t i = 0; i < turns.size(); ++i) {
    const double angle = s.cache * std::pow(500000.0, -2.0 * i / s.dim);
    turns[i] = {float(std::cos(angle)), float(std::sin(angle))};
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
  DeviceBuffer<uint32_t> meets, counters, first_of_cta, claimed;
  DeviceBuffer<Task> tasks, dealt;
  DeviceBuffer<Ran> ran;

  Memory(const Sizes& s, const Plan& p, const Schedule& d, const Weights* w)
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
        first_of_cta(d.first),
        claimed(1),
        tasks(p.tasks),
        dealt(d.tasks),
        ran(p.tasks.size()) {
    meets.fill(0);
    counters.fill(0);
    claimed.fill(0);
    if (!w) return;
    qkv.upload(w->qkv);
    out.upload(w->out);
    gate_up.upload(w->gate_up);
    down.upload(w->down);
    gains.upload(w->gains);
  }
};

DeviceModel::DeviceModel(const Sizes& s, const Plan& plan, const Schedule& dealt, const Weights* weights)
    : memory_(std::make_unique<Memory>(s, plan, dealt, weights)) {
  Memory& m = *memory_;
  Arguments& a = work_.args;
  const uint32_t columns = s.head_columns(), heads = s.layers * s.batch * s.kv_heads;
  const uint32_t box = s.batch <= 16 ? 16 : kLargestBatch;
  a.weights[weights_of(Op::qkv)] = stack(m.qkv.get(), s.hidden, s.qkv_rows(), s.layers, s.qkv_rows(), kTile);
  a.weights[weights_of(Op::out)] = stack(m.out.get(), columns, s.hidden, s.layers, s.hidden, kTile);
  a.weights[weights_of(Op::gate_up)] =
      stack(m.gate_up.get(), s.hidden, 2 * s.intermediate, s.layers, 2 * s.intermediate, kTile);
  a.weights[weights_of(Op::down)] = stack(m.down.get(), s.intermediate, s.hidden, s.layers, s.hidden, kTile);
  a.inputs[weights_of(Op::qkv)] = stack(m.normed.get(), s.hidden, s.batch, 2 * s.layers, s.batch, box);
  a.inputs[weights_of(Op::out)] = stack(m.attended.get(), columns, s.batch, s.layers, s.batch, box);
  a.inputs[weights_of(Op::gate_up)] = a.inputs[weights_of(Op::qkv)];
  a.inputs[weights_of(Op::down)] = stack(m.gated.get(), s.intermediate, s.batch, s.layers, s.batch, box);
  a.keys = stack(m.keys.get(), s.dim, s.cache, heads, s.cache + 1, kTile);
  a.values = stack(m.values.get(), s.dim, s.cache, heads, s.cache + 1, kTile);
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
  a.tasks = m.tasks.get();
  a.first_of_cta = m.first_of_cta.get();
  a.claimed = m.claimed.get();
  a.claimed_before = 0;
  a.count = uint32_t(plan.tasks.size());
  a.run = 0;
  a.ran = nullptr;
  a.hidden = s.hidden;
  a.heads = s.heads;
  a.kv_heads = s.kv_heads;
  a.group = s.group();
  a.dim = s.dim;
  a.intermediate = s.intermediate;
  a.batch = s.batch;
  a.cache = s.cache;
  work_.grids = plan.grids;
  work_.ctas = uint32_t(dealt.first.size()) - 1;
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
  if (step.dealt) w.args.tasks = memory_->dealt.get();
  if (notes_times) w.args.ran = memory_->ran.get();
  return w;
}

void DeviceModel::launch(const Step& step, bool notes_times) {
  step.launch(work(step, notes_times));
  if (step.counters) ++work_.args.run;
  if (step.counters && !step.dealt) work_.args.claimed_before += work_.args.count + work_.ctas;
}

Results DeviceModel::results() const {
  const Memory& m = *memory_;
  return {m.residual.download(), m.normed.download(),   m.q.download(),    m.keys.download(),
          m.values.download(),   m.attended.download(), m.gated.download()};
}

std::vector<Ran> DeviceModel::ran() const { return memory_->ran.download(); }

}  // namespace megakernel
