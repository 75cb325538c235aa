#include "common/tinygpu/engines/wgmma/wgmma_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/tinygpu/engines/mma/matrix_operands.h"
#include "common/tinygpu/engines/mma/mma_statistics.h"
#include "common/tinygpu/engines/mma/mma_toggle.h"
#include "common/tinygpu/engines/mma/operand_planes.h"
#include "common/tinygpu/engines/mma/register_metadata.h"
#include "common/tinygpu/engines/wgmma/fragment.h"
#include "common/tinygpu/numerics/fused_sum.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {
namespace {

using numerics::Format;
using Result = WgmmaForm::Result;

constexpr uint32_t kPoison = 0x7fffdead;

/// The tensor cores of one SM: one warpgroup's operation after the other.
struct WgmmaServer final : Extension {
  uint64_t free_at = 0;
  const void* last = nullptr;   // whose operation it was given last
  std::deque<uint64_t> begins;  // of operations that may have a place in the queue still
};

/// If it waits for its warpgroup's operations.
void wake(Warp& w, uint64_t when) {
  w.wake(when, [](const Group& g) {
    return g.reason.kind == BlockReason::Kind::async_group && g.reason.id == uint32_t(kAsyncWgmma);
  });
}

bool is_integer(Format f) { return f == Format::s8 || f == Format::u8; }
bool is_fp8(Format f) { return f == Format::e4m3 || f == Format::e5m2; }

uint32_t* lanes_of(Warp& w, uint32_t absolute_slot) {
  return reinterpret_cast<uint32_t*>(w.register_file() + absolute_slot);
}

/// Words of D, with their places, in rows whose metadata let an element of A meet halves of two elements of B
/// (register_metadata.h): codes without a meaning.
std::vector<std::pair<uint32_t, uint32_t>> split_elements(const numerics::MmaTile& t,
                                                          const uint8_t (*half)[kMostSparse]) {
  const auto word = [](const void* planes, uint32_t k, uint32_t row) {
    return static_cast<const uint32_t*>(planes)[k * numerics::kPlane + row];
  };
  std::vector<std::pair<uint32_t, uint32_t>> out;
  for (uint32_t row = 0; row < t.rows; ++row) {
    const uint8_t* of = half[row];
    bool whole = true;
    for (uint32_t i = 0; i < t.terms; ++i) whole &= of[2 * i] % 2 == 0 && of[2 * i + 1] == of[2 * i] + 1;
    if (whole) continue;
    uint32_t a[kMostSparse], met[kMostSparse];
    for (uint32_t i = 0; i < t.terms; ++i) a[i] = word(t.a, i, row) ^ uint32_t(t.negate_a) << 31;
    for (uint32_t n = 0; n < t.columns; ++n) {
      const auto bits = [&](uint32_t h) { return word(t.b, h / 2, n) >> (16 * (h % 2)) & 0xffff; };
      for (uint32_t i = 0; i < t.terms; ++i)
        met[i] = (bits(of[2 * i]) | bits(of[2 * i + 1]) << 16) ^ uint32_t(t.negate_b) << 31;
      const uint32_t at = n * t.column_stride + row;
      out.emplace_back(at, numerics::fused_sum(t.rule, t.a_format, t.b_format, {a, t.terms}, {met, t.terms},
                                               {t.read_c, t.d[at], 0}));
    }
  }
  return out;
}

/// Multiplies tiles whose elements are bits: eight products, of one bit of each byte.
uint64_t multiply_bits(numerics::MmaTile t) {
  OperandPlanes a, b;
  const auto *from_a = static_cast<const uint8_t*>(t.a), *from_b = static_cast<const uint8_t*>(t.b);
  t.a = a.bytes;
  t.b = b.bytes;
  uint64_t scalar = 0;
  for (uint32_t bit = 0; bit < 8; ++bit, t.read_c = true) {
    for (uint32_t i = 0; i < t.terms * numerics::kPlane; ++i) {
      a.bytes[i] = from_a[i] >> bit & 1;
      b.bytes[i] = from_b[i] >> bit & 1;
    }
    scalar += numerics::mma(t);
  }
  return scalar;
}

/// A's fragment of one warp (16 rows) into the planes.
void gather_registers(Warp& w, const std::vector<uint32_t>& slots, uint32_t element_bytes, uint32_t first_row,
                      OperandPlanes& out) {
  for (uint32_t r = 0; r < 4; ++r) {
    const uint32_t* lane = lanes_of(w, slots[r]);
    for (uint32_t t = 0; t < 32; ++t) {
      const WgmmaOperandPlace at = wgmma_operand_place(r, t);
      const uint32_t row = first_row + at.row, byte = at.byte;
      for (uint32_t i = 0; i < 4; i += element_bytes)
        std::memcpy(out.bytes + ((byte + i) / element_bytes * numerics::kPlane + row) * element_bytes,
                    reinterpret_cast<const uint8_t*>(&lane[t]) + i, element_bytes);
    }
  }
}

}  // namespace

uint32_t WgmmaForm::element_bytes() const {
  if (a == Format::tf32) return 4;
  return a == Format::f16 || a == Format::bf16 ? 2 : 1;
}

namespace {

struct Warpgroups final : Extension {
  std::map<uint32_t, Warpgroup> by_number;
};

}  // namespace

Warpgroup& Warpgroup::of(Warp& w) {
  Warpgroup& g = w.cta().extensions.get<Warpgroups>().by_number[w.index() / 4];
  if (!g.cta_) {
    g.cta_ = &w.cta();
    g.channel_ = w.partition().events.new_channel();
  }
  g.warps_[w.index() % 4].warp = &w;
  return g;
}

// ---- Registers and accumulators

template <class F>
void Warpgroup::each_value(Accumulator& a, uint32_t warp, F&& f) {
  Warp& w = *warps_[warp].warp;
  const bool halves = a.type == Result::f16;
  for (uint32_t r = 0; r < a.n / (halves ? 4 : 2); ++r) {
    uint32_t* lane = lanes_of(w, a.slots[warp][r]);
    for (uint32_t i = 0; i < (halves ? 2 : 1); ++i)
      for (uint32_t t = 0; t < 32; ++t) {
        const WgmmaCell cell = wgmma_cell(halves, r, i, 32 * warp + t);
        f(lane[t], i, a.words[cell.column * kRows + cell.row]);
      }
  }
}

void Warpgroup::load(Accumulator& a, uint32_t warp) {
  each_value(a, warp, [halves = a.type == Result::f16](uint32_t reg, uint32_t i, uint32_t& word) {
    word = halves ? reg >> (16 * i) & 0xffff : reg;
  });
}

void Warpgroup::store(Accumulator& a, uint32_t warp) {
  each_value(a, warp, [halves = a.type == Result::f16](uint32_t& reg, uint32_t i, uint32_t word) {
    reg = !halves ? word : i ? (reg & 0xffff) | word << 16 : (reg & 0xffff0000) | (word & 0xffff);
  });
}

void Warpgroup::settle(Warp& w) {
  const uint32_t warp = w.index() % 4;
  for (auto& a : accumulators_)
    if (a->here[warp] && !a->running) {
      if (!a->orphan[warp]) store(*a, warp);
      a->here[warp] = false;
    }
  const auto any = [](const std::array<bool, 4>& warps) { return std::ranges::count(warps, true) > 0; };
  std::erase_if(accumulators_, [&](const auto& a) { return !a->running && !any(a->here) && !any(a->taken); });
}

void Warpgroup::waited(const Warp& w, uint32_t pending) {
  const uint64_t over = through(w, pending);
  for (auto& a : accumulators_)
    if (a->last <= over) a->taken[w.index() % 4] = false;
}

namespace {

bool meet(const Warp& w, const std::vector<uint32_t>& relative, const std::vector<uint32_t>& absolute) {
  return std::ranges::any_of(
      relative, [&](uint32_t s) { return std::ranges::find(absolute, s + w.register_base()) != absolute.end(); });
}

}  // namespace

void Warpgroup::take(const Warp& w, const std::vector<uint32_t>& reads) {
  const uint32_t warp = w.index() % 4;
  for (auto& a : accumulators_)
    if (a->running && meet(w, reads, a->slots[warp])) a->taken[warp] = true;
  for (auto& o : gathering_)
    if (meet(w, reads, o->d[warp])) o->taken[warp] = true;
}

Warpgroup::Conflict Warpgroup::conflict(Warp& w, const std::vector<uint32_t>& reads,
                                        const std::vector<uint32_t>& writes) {
  const uint32_t warp = w.index() % 4;
  const auto touched = [&](const std::vector<uint32_t>& registers) {
    return meet(w, reads, registers) || meet(w, writes, registers);
  };
  bool running = false, landed = false, operand = false, taken = false;
  for (const auto& a : accumulators_)
    if (!a->orphan[warp] && touched(a->slots[warp])) {
      (a->running ? running : landed) = true;
      taken |= a->taken[warp];
    }
  for (const auto& o : gathering_) {
    running |= touched(o->d[warp]);
    operand |= meet(w, writes, o->a[warp]);
  }
  for (const auto& o : queue_) operand |= meet(w, writes, o->a[warp]);
  if (landed && !running) settle(w);
  return running ? Conflict::accumulator : operand ? Conflict::operand : taken ? Conflict::taken : Conflict::none;
}

void Warpgroup::forget(Warp& w, uint32_t begin, uint32_t end) {
  const uint32_t warp = w.index() % 4;
  for (auto& a : accumulators_)
    if (const auto& slots = a->slots[warp]; !slots.empty() && slots[0] >= begin && slots[0] < end)
      a->orphan[warp] = true;
  for (auto& o : gathering_)
    if (const auto& slots = o->d[warp]; !slots.empty() && slots[0] >= begin && slots[0] < end) o->orphan[warp] = true;
}

void Warpgroup::poison(Warp& w) {
  const uint32_t warp = w.index() % 4;
  const auto fill = [&](const std::vector<uint32_t>& registers) {
    for (uint32_t s : registers) std::fill_n(lanes_of(w, s), 32, kPoison);
  };
  for (const auto& a : accumulators_)
    if (a->running && !a->orphan[warp]) fill(a->slots[warp]);
  for (const auto& o : gathering_) fill(o->d[warp]);
}

// ---- The queue

void Warpgroup::issue(Warp& w, const WgmmaForm& form, const std::vector<uint32_t>& d, const std::vector<uint32_t>& a) {
  const uint32_t warp = w.index() % 4;
  WarpState& state = warps_[warp];
  const uint64_t first = queued_;  // sequence number of gathering_.front()
  const size_t place = size_t(state.issued - first);
  while (gathering_.size() <= place) gathering_.push_back(std::make_shared<Operation>());
  auto o = gathering_[place];
  if (!o->arrived) {
    o->form = form;
    o->who = origin_of(w);
  } else if (!(o->form == form)) {
    const char* help = "all four warps must execute one wgmma with equal descriptors";
    WgmmaForm same = form;
    same.a_descriptor = o->form.a_descriptor;
    same.b_descriptor = o->form.b_descriptor;
    if (!(same == o->form))
      w.fault(FaultKind::launch_failure, "wgmma-not-uniform",
              "the warps of a warpgroup issue different wgmma.mma_async (other shape or scale-d)", help);
    w.report(
        Severity::warning, "wgmma-not-uniform",
        "the warps of a warpgroup issue one wgmma.mma_async with different descriptors: hardware takes those of the "
        "first warp",
        help);
    if (warp == 0) o->form = form;  // an H200 multiplies what lane 0 of warp 0 names
  }
  o->arrived |= 1u << warp;
  o->issued = std::max(o->issued, w.time());
  o->opens_batch = !state.groups.empty() && state.groups.back() == state.issued;
  for (uint32_t s : d) o->d[warp].push_back(s + w.register_base());
  for (uint32_t s : a) o->a[warp].push_back(s + w.register_base());
  state.issued++;
  while (!gathering_.empty() && gathering_.front()->arrived == 15) {
    auto ready = gathering_.front();
    gathering_.pop_front();
    ++queued_;
    enqueue(std::move(ready));
  }
  for (WarpState& s : warps_)
    if (std::exchange(s.ahead, false)) wake(*s.warp, 0);
}

void Warpgroup::enqueue(std::shared_ptr<Operation> o) {
  for (auto& a : accumulators_)
    if (a->slots == o->d && a->type == o->form.d && a->orphan == o->orphan) o->accumulator = a;
  if (!o->accumulator) {
    o->accumulator = std::make_shared<Accumulator>();
    o->accumulator->type = o->form.d;
    o->accumulator->n = o->form.n;
    o->accumulator->words.resize(size_t(kRows) * o->form.n);
    o->accumulator->slots = o->d;
    o->accumulator->orphan = o->orphan;
    accumulators_.push_back(o->accumulator);
  }
  for (uint32_t warp = 0; warp < 4; ++warp) o->accumulator->taken[warp] |= o->taken[warp];
  o->accumulator->running++;
  o->accumulator->last = queued_;
  MmaStatistics::count(*cta_, MatrixFamily::wgmma_mma_async, kRows, o->form.n, o->form.k() * (o->form.binary ? 8 : 1));
  WgmmaServer& server = cta_->sm.extensions.get<WgmmaServer>();
  SmPartition& partition = cta_->cluster.partition;
  const WgmmaTiming& timing = partition.launch.gpu.timing.wgmma.value();
  const double bytes = (o->form.a_in_registers ? 0.0 : 32.0 * kRows) + (o->form.sparse ? 64.0 : 32.0) * o->form.n;
  const double cycles = std::max(o->form.n / timing.columns_per_cycle, bytes / timing.bytes_per_cycle);
  // Another warpgroup's operations fill the gap.
  const bool gap = server.last == this && o->opens_batch;
  const uint64_t begin = std::max(server.free_at + (gap ? timing.batch : 0), o->issued);
  server.last = this;
  server.begins.push_back(begin);
  if (server.begins.size() > timing.queue + 1) server.begins.pop_front();
  server.free_at = begin + uint64_t(std::lround(cycles));
  cta_->sm.wgmma_until = server.free_at;
  const ToldOperation told = tell_issue(partition, AsyncOperation::Kind::wgmma, o->who, cta_->sm.index, o->issued);
  if (told) {
    told->busy = server.free_at - begin;
    MatrixOperands& kept = cta_->extensions.get<MatrixOperands>();
    kept.who = o->who;
    kept.issued = o->issued;
    kept.operands.clear();
    if (!o->form.a_in_registers)
      kept.operands.push_back({'A', o->form.a, ElementPacking::natural, kRows, cta_, o->form.a_layout()});
    kept.operands.push_back({'B', o->form.b, ElementPacking::natural, o->form.n, cta_, o->form.b_layout()});
  }
  tell(MemoryTraffic{partition, o->who, cta_->sm.index, o->issued, uint64_t(bytes)});
  // One with A in registers takes less time to its end, but does not overtake the one before it.
  last_visible_ = std::max(last_visible_, server.free_at + (o->form.a_in_registers ? timing.wait_rs : timing.wait_ss));
  const uint64_t visible = last_visible_;
  queue_.push_back(o);
  partition.events.schedule(visible, channel_, o->who, [this, o, &partition, told, begin](uint64_t now) {
    execute(*o, now);
    queue_.pop_front();
    tell_complete(partition, told, begin, now);
    o->accumulator->running--;
    ++done_;
    done_at_.push_back(now);
    for (auto& state : warps_)
      if (state.warp) wake(*state.warp, now);
  });
}

bool Warpgroup::place_known(const Warp& w) {
  WarpState& state = warps_[w.index() % 4];
  state.ahead = state.issued + 1 > queued_ + w.timing().wgmma.value().queue;
  return !state.ahead;
}

uint64_t Warpgroup::placed_at(const Warp& w) const {
  const WgmmaTiming& timing = w.timing().wgmma.value();
  const std::deque<uint64_t>& begins = cta_->sm.extensions.get<WgmmaServer>().begins;
  // Of those that other warps have yet to issue it is not known when they begin: they come behind all that is known.
  const size_t places = timing.queue - size_t(warps_[w.index() % 4].issued - queued_);
  if (begins.size() <= places) return 0;
  return begins[begins.size() - 1 - places] + timing.queue_free;
}

void Warpgroup::commit(Warp& w) {
  WarpState& state = warps_[w.index() % 4];
  state.groups.push_back(state.issued);
}

uint64_t Warpgroup::through(const Warp& w, uint32_t pending) const {
  const WarpState& state = warps_[w.index() % 4];
  return state.groups.size() <= pending ? 0 : state.groups[state.groups.size() - 1 - pending];
}

bool Warpgroup::completed(Warp& w, uint32_t pending, uint64_t& when) const {
  when = 0;
  const uint64_t target = through(w, pending);
  if (target == 0) return true;
  if (done_ < target) return false;
  when = done_at_[target - 1];
  return true;
}

void Warpgroup::execute(const Operation& o, uint64_t now) {
  const WgmmaForm& f = o.form;
  Accumulator& acc = *o.accumulator;
  for (uint32_t warp = 0; warp < 4; ++warp) {
    if (!acc.here[warp] && f.accumulate) load(acc, warp);
    acc.here[warp] = true;
  }
  if (o.who.launch->options.timing_only) return;
  OperandPlanes a, b;
  const auto shared = [&](const OperandLayout& layout, uint32_t rows, const char* name, OperandPlanes& out) {
    const int64_t outside = gather(*cta_, layout, ElementPacking::natural, 0, rows, out);
    if (outside >= 0)
      o.who.fault(
          FaultKind::illegal_address, "matrix-out-of-bounds",
          fmt::format("{} of wgmma.mma_async reaches shared offset {:#x}; the CTA's shared memory is {:#x} to {:#x}.",
                      name, outside, kSharedBase, cta_->shared.size()),
          "Check the descriptor's start address, LBO and SBO (in units of 16 bytes).");
    tell_read(*cta_, layout, rows, o.who, name, now);
  };
  if (f.a_in_registers)
    for (uint32_t warp = 0; warp < 4; ++warp)
      gather_registers(*warps_[warp].warp, o.a[warp], f.element_bytes(), 16 * warp, a);
  else
    shared(f.a_layout(), kRows, "A", a);
  shared(f.b_layout(), f.n, "B", b);

  numerics::MmaTile t;
  const bool half = f.d == Result::f16;
  if (is_integer(f.a)) t.sum = numerics::SumKind::integer;
  t.saturate = f.saturate;
  t.rule = is_fp8(f.a) ? (half ? numerics::kSumHopperFp8F16 : numerics::kSumHopperFp8)
                       : (half ? numerics::kSumF16 : numerics::kSumF32);
  t.a_format = f.a;
  t.b_format = f.b;
  t.rows = kRows;
  t.columns = f.n;
  t.terms = 32 / f.element_bytes();
  t.a = a.bytes;
  t.b = b.bytes;
  t.negate_a = f.negate_a;
  t.negate_b = f.negate_b;
  t.read_c = f.accumulate;
  t.d = acc.words.data();
  t.column_stride = kRows;
  for (uint32_t i = 0; i < 4; ++i) t.lane[i] = 16 * i;
  uint8_t select[kMostSparse * numerics::kPlane];
  if (f.sparse) {
    // Each warp's metadata are those of mma.sp.sync.
    for (uint32_t warp = 0; warp < 4; ++warp) {
      uint8_t place[16][kMostSparse];
      sparse_places(lanes_of(*warps_[warp].warp, o.a[warp].back()), f.selector, 8 * f.element_bytes(), f.k(), place);
      for (uint32_t i = 0; i < t.terms; ++i)
        for (uint32_t row = 0; row < 16; ++row) select[i * numerics::kPlane + 16 * warp + row] = place[row][i];
    }
    t.select = select;
  }
  std::vector<std::pair<uint32_t, uint32_t>> split;
  if (f.sparse && f.a == Format::tf32) {
    uint8_t half[kRows][kMostSparse];
    for (uint32_t warp = 0; warp < 4; ++warp)
      sparse_halves(lanes_of(*warps_[warp].warp, o.a[warp].back()), f.selector, f.k(), half + 16 * warp);
    split = split_elements(t, half);
  }
  MmaStatistics::count_scalar(*cta_, f.binary ? multiply_bits(t) : numerics::mma(t));
  for (const auto& [at, word] : split) acc.words[at] = word;
  if (!MmaToggle::wants(*cta_)) return;
  MmaToggle::operand(*cta_, a.bytes, f.a, t.terms, kRows);
  MmaToggle::operand(*cta_, b.bytes, f.b, f.k(), f.n);
  const auto column = [&](uint32_t c) -> const uint32_t* { return t.d + size_t(c) * kRows; };
  MmaToggle::results(*cta_, uint32_t(acc.words.size() / kRows), column, 16, half ? 16 : 32);
}

}  // namespace tinygpu
