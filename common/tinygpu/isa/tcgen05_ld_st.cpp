// tcgen05.ld, tcgen05.ld.red, tcgen05.st, tcgen05.wait::ld, tcgen05.wait::st (PTX ISA 9.7.16.8).
//
// Both are asynchronous. A load reads its cells and writes its registers when it lands, a store takes its registers at
// issue and writes its cells when it lands; wait::ld and wait::st block until everything earlier of the warp has
// landed. What a register holds between issue and wait is the program's error: hardware honours the dependence on the
// value (9.7.16.6.4.5), so the reader waits for the load in every order, and a warning says so.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "common/tinygpu/base/relied_on.h"
#include "common/tinygpu/engines/tmem/access_shape.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/tcgen05.h"
#include "common/tinygpu/machine/memory/skipped_copies.h"

namespace tinygpu::isa {
namespace {

// ---- Shapes

using Shape = TmemShape;

const TmemRepeat& repeat_of(Shape s) { return kTmemRepeat[uint32_t(s)]; }

/// Offsets of the first repetition's cells in TensorMemory::column order; [packed][shape][register][thread].
struct Offsets {
  uint32_t of[2][kTmemShapes][4][32];
};
constexpr Offsets kOffsets = [] {
  Offsets o{};
  for (uint32_t packed = 0; packed < 2; ++packed)
    for (uint32_t s = 0; s < kTmemShapes; ++s)
      for (uint32_t r = 0; r < kTmemRepeat[s].registers; ++r)
        for (uint32_t t = 0; t < 32; ++t) {
          const TmemShapeCell c = cell_of(Shape(s), t, r);
          o.of[packed][s][r][t] = (c.column << packed) * kTmemLanes + c.lane;
        }
  return o;
}();

// ---- One access

/// How .red reduces a row.
struct Reduction {
  enum class Type : uint8_t { f32, u32, s32 } type;
  bool wanted;
  bool max, abs, nan;
};
struct AccessDetails {
  Shape shape;
  bool packed;       // two 16-bit values a register
  uint32_t address;  // what is added to the register's
  uint32_t split;    // of 16x32bx2: from the first half to the second
  Reduction red;
};

/// Where an access goes, rules applied. `half` has one element, two for 16x32bx2.
struct Access {
  Shape shape = Shape::s32x32b;
  bool pack = false;
  uint32_t registers = 0;
  uint32_t mask = 0;  // executing lanes
  int halves = 1;
  TmemRect half[2];

  /// Calls f(register, cells of that register's threads relative to the halves' first cells).
  const uint32_t* offsets(uint32_t r) const {
    return kOffsets.of[pack][uint32_t(shape)][r % repeat_of(shape).registers];
  }
  /// First cell of thread t's half in repetition r / registers, in column order.
  uint32_t base(uint32_t r, int h) const {
    const uint32_t step = repeat_of(shape).columns << pack;
    return (half[h].column + r / repeat_of(shape).registers * step) * kTmemLanes + half[h].lane;
  }
};

/// The rules for one address: the warp's own lanes, aligned for the shape, columns allocated. Where a rule is only a
/// warning the access goes to the warp's own quarter, as on silicon (published kernels that pass lane 0 in every warp,
/// or lanes 128 to 255 in the odd CTA of a pair); else to the nearest place that keeps the rule (inferred).
TmemRect checked_half(Warp& w, uint32_t taddr, const TmemRepeat& repeat, uint32_t columns, const Origin& who,
                      const char* what) {
  TmemAddress at = TmemAddress::from(taddr);
  const uint32_t partition = w.index() & 3, first = partition * 32;
  if (at.lane / 32 != partition) {
    const bool store = w.function().instruction(w.current_op()).opcode == Opcode::tcgen05_st;
    const bool known = at.lane == 0 && !store && !who.launch->options.strict_tmem;
    tmem_violation(
        who, at.lane < kTmemLanes ? "tmem-warp-owner" : "tmem-out-of-bounds",
        fmt::format("{} of warp {} addresses lane {}; warp index modulo 4 is {}, so its lanes are {} to {}{}.", what,
                    w.index(), at.lane, partition, first, first + 31, known ? kLaneZero.said() : ""),
        fmt::format("Add 32 * (warp index % 4) to the lane field: base + 0x{:08x} for this warp. Hardware takes the "
                    "warp's own lanes whatever the upper bits of the field are, and no document promises it.",
                    first << 16));
    at.lane = first + at.lane % 32;
  }
  if (at.lane % repeat.lanes) {
    tmem_violation(who, "tmem-alignment",
                   fmt::format("{} starts at lane {}, which is not a multiple of {}.", what, at.lane, repeat.lanes),
                   repeat.lanes == 32 ? "Start at the first lane of the warp's partition: 0, 32, 64 or 96."
                                      : "Start at the first lane of the warp's partition, or 16 lanes further.");
    at.lane -= at.lane % repeat.lanes;
  }
  return tmem_check(TensorMemory::of(w.sm()), w.cta(), at, repeat.lanes, columns, who, what);
}

Access checked_access(Warp& w, const Op& op, uint32_t registers, const Origin& who, const char* what) {
  Access a;
  const AccessDetails& details = op.get<AccessDetails>();
  a.shape = details.shape;
  a.pack = details.packed;
  a.registers = registers;
  a.mask = w.exec();
  a.halves = a.shape == Shape::s16x32bx2 ? 2 : 1;
  const TmemRepeat& repeat = repeat_of(a.shape);
  const uint32_t columns = registers / repeat.registers * repeat.columns << a.pack;
  const uint32_t taddr = uint32_t(uniform(w, op.a, false, "the Tensor Memory address")) + details.address;
  a.half[0] = checked_half(w, taddr, repeat, columns, who, what);
  // The assembler makes two accesses of it; the second's address is a plain 32-bit sum, as its code shows.
  if (a.halves == 2) a.half[1] = checked_half(w, taddr + details.split, repeat, columns, who, what);
  return a;
}

void copy_lanes(uint32_t* to, const uint32_t* from, uint32_t mask) {
  if (mask == 0xffffffffu) {
    std::memcpy(to, from, 128);
    return;
  }
  for_lanes(mask, [&](int t) { to[t] = from[t]; });
}

/// value[t] of register r.
void gather(const TensorMemory& memory, const Access& a, uint32_t r, uint32_t* __restrict value) {
  const uint32_t* cells = memory.column(0);
  const uint32_t* offset = a.offsets(r);
  uint32_t at[32];
  const uint32_t base0 = a.base(r, 0), base1 = a.base(r, a.halves - 1);
  for (int t = 0; t < 32; ++t) at[t] = offset[t] + (t < 16 ? base0 : base1);
  if (!a.pack) {
    for (int t = 0; t < 32; ++t) value[t] = cells[at[t]];
  } else {
    for (int t = 0; t < 32; ++t) value[t] = (cells[at[t]] & 0xffff) | cells[at[t] + kTmemLanes] << 16;
  }
}

void scatter(TensorMemory& memory, const Access& a, uint32_t r, const uint32_t* value) {
  uint32_t* cells = memory.column(0);
  const uint32_t* offset = a.offsets(r);
  const uint32_t base0 = a.base(r, 0), base1 = a.base(r, a.halves - 1);
  for_lanes(a.mask, [&](int t) {
    uint32_t* cell = cells + offset[t] + (t < 16 ? base0 : base1);
    if (a.pack) {
      cell[0] = value[t] & 0xffff;
      cell[kTmemLanes] = value[t] >> 16;
    } else {
      cell[0] = value[t];
    }
  });
}

// ---- A warp's loads and stores in flight

constexpr const char* kWaitLoad = "tcgen05.wait::ld";
constexpr const char* kWaitStore = "tcgen05.wait::st";
constexpr const char* kUseLoad = "a register that tcgen05.ld is still loading";

struct Load {
  uint64_t id = 0;
  const Op* op = nullptr;
  bool landed = false;
  bool used = false;                                  // an instruction has waited for its registers
  std::vector<std::pair<uint32_t, uint32_t>> ranges;  // absolute byte offsets in the register file: begin, end
};

// A warp outlives the effects that it has under way (SmPartition::retire_clusters), so that these may name it.
struct InFlight final : Extension {
  std::vector<Load> loads;  // since the last wait::ld
  uint32_t loading = 0, storing = 0;
  bool told = false;  // of a register used before wait::ld: a note, once a kernel
  uint64_t next = 1;
};

InFlight& in_flight(Warp& w) { return w.extensions.get<InFlight>(); }

void block_as(Warp& w, const char* what) { w.block({.kind = BlockReason::Kind::async_group, .what = what}, true); }

void wake_as(Warp& w, uint64_t now, const char* what) {
  w.wake(now,
         [what](const Group& g) { return g.reason.kind == BlockReason::Kind::async_group && g.reason.what == what; });
}

/// Runs before an op that may touch a register of a load for which no wait has been executed.
void check_pending(Warp& w, const Op& op) {
  InFlight& state = in_flight(w);
  const uint32_t frame = w.register_base();
  const auto touched = w.function().async_touches.find(uint32_t(&op - w.function().ops.data()));
  bool fresh = false;
  for (Load& l : state.loads) {
    const auto touches = [&](uint32_t slot) {
      for (auto [begin, end] : l.ranges)
        if (frame + slot >= begin && frame + slot < end) return true;
      return false;
    };
    const bool reads = std::ranges::any_of(touched->second.reads, touches);
    if (!reads && !std::ranges::any_of(touched->second.writes, touches)) continue;
    // Compilers insert moves freely, so a move is not reported: the instruction that uses its result is.
    if (!state.told && w.function().instruction(op).opcode != Opcode::mov) {
      state.told = true;
      w.report(Severity::note, "tmem-load-not-waited",
               fmt::format(
                   "This instruction uses a register of the tcgen05.ld at PTX line {}, and no tcgen05.wait::ld stands "
                   "between them. The value is right nevertheless: hardware waits for the register.",
                   w.where_of(*l.op, w.function()).ptx_line),
               "Put tcgen05.wait::ld.sync.aligned after the load and before the first use of its registers.");
    }
    // Every order honours the dependence on the value: the manual grants it (PTX ISA 9.7.16.6.4.5), and NVIDIA's own
    // examples and Triton's code lean on it.
    if (!l.landed) return block_as(w, kUseLoad);
    fresh |= reads && !l.used;
    l.used |= reads;
  }
  if (!fresh) return;
  uint64_t through = 0;
  for (const Load& l : state.loads) {
    if (!l.used) break;
    through = l.id;
  }
  if (through) tell(w, Sync::Kind::wait_group, through);
}

/// The frame that owns these bytes of the register file has ended: loads into it are dropped.
void leave_frame(Warp& w, uint32_t begin, uint32_t end) {
  std::erase_if(in_flight(w).loads, [&](const Load& l) {
    return !l.ranges.empty() && l.ranges[0].first >= begin && l.ranges[0].first < end;
  });
}

// ---- ld

/// PTX min and max: -0 below +0; a NaN loses unless .NaN is given; the result NaN is canonical.
uint32_t reduce_f32(const uint32_t* bits, uint32_t n, const Reduction& how) {
  float best = 0;
  bool any = false;
  for (uint32_t i = 0; i < n; ++i) {
    float x = std::bit_cast<float>(how.abs ? bits[i] & 0x7fffffff : bits[i]);
    if (std::isnan(x)) {
      if (how.nan) return 0x7fffffff;
      continue;
    }
    const bool below = x < best || (x == best && std::signbit(x) && !std::signbit(best));
    const bool above = x > best || (x == best && !std::signbit(x) && std::signbit(best));
    if (!any || (how.max ? above : below)) best = x;
    any = true;
  }
  return any ? std::bit_cast<uint32_t>(best) : 0x7fffffff;
}

uint32_t reduce(const uint32_t* bits, uint32_t n, const Reduction& how) {
  if (how.type == Reduction::Type::f32) return reduce_f32(bits, n, how);
  const uint32_t bias = how.type == Reduction::Type::s32 ? 0x80000000u : 0;  // orders two's complement like unsigned
  uint32_t best = bits[0] ^ bias;
  for (uint32_t i = 1; i < n; ++i) best = how.max ? std::max(best, bits[i] ^ bias) : std::min(best, bits[i] ^ bias);
  return best ^ bias;
}

void warn_if_never_written(const TensorMemory& memory, const Access& a, const Origin& who) {
  for (int h = 0; h < a.halves; ++h)
    if (memory.any_written(a.half[h])) return;
  who.report(
      Severity::warning, "tmem-uninitialised",
      fmt::format("tcgen05.ld reads columns {} to {}, of which nothing has been written since they were allocated.",
                  a.half[0].column, a.half[0].column + a.half[0].columns - 1),
      "Write them first: tcgen05.st, tcgen05.cp, or a tcgen05.mma with enable-input-d false.");
}

void land_load(const TensorMemory& memory, const Access& a, const Op& op, uint8_t* frame) {
  const auto slot = [&](uint32_t i) { return reinterpret_cast<uint32_t*>(frame + op.list[i]); };
  if (a.shape == Shape::s32x32b && !a.pack) {
    for (uint32_t r = 0; r < a.registers; ++r)
      copy_lanes(slot(r), memory.column(a.half[0].column + r) + a.half[0].lane, a.mask);
  } else {
    alignas(64) uint32_t value[32];
    for (uint32_t r = 0; r < a.registers; ++r) {
      gather(memory, a, r, value);
      copy_lanes(slot(r), value, a.mask);
    }
  }
  const Reduction& red_of_row = op.get<AccessDetails>().red;
  if (!red_of_row.wanted) return;
  uint32_t* red = slot(a.registers);
  for_lanes(a.mask, [&](int t) {
    uint32_t row[128] = {};
    for (uint32_t r = 0; r < a.registers; ++r) row[r] = slot(r)[t];
    red[t] = reduce(row, a.registers, red_of_row);
  });
}

uint64_t rounded(double cycles) { return uint64_t(std::llround(std::ceil(cycles - 1e-9))); }

/// The cells that observers see at issue.
auto uses_of(const Warp& w, const Access& a, bool writes, const char* what) {
  return [&w, &a, writes, what](AsyncOperation& o) {
    for (int h = 0; h < a.halves; ++h) o.cells.push_back({w.sm().index, a.half[h], writes, what});
  };
}

void tell_cells(const Warp& w, const Access& a, AccessKind kind, const Origin& who, uint64_t now) {
  for (int h = 0; h < a.halves; ++h) tell(TmemAccess{w.partition(), kind, who, w.sm().index, a.half[h], now});
}

void ld(Warp& w, const Op& op) {
  if (!whole_warp(w)) return;
  const Origin who = origin_of(w);
  TensorMemory& memory = TensorMemory::of(w.sm());
  const TensorMemoryTiming& cost = w.timing().tensor_memory.value();
  const Access a = checked_access(w, op, op.list_size - op.get<AccessDetails>().red.wanted, who, "tcgen05.ld");

  warn_if_steering(w, "a value of Tensor Memory");
  InFlight& state = in_flight(w);
  w.pending_check = check_pending;
  w.pending_leave = leave_frame;
  Load load;
  load.id = state.next++;
  load.op = &op;
  const uint32_t frame = w.register_base();
  for (uint32_t i = 0; i < op.list_size; ++i) {
    const uint32_t begin = frame + op.list[i];
    if (!load.ranges.empty() && load.ranges.back().second == begin)
      load.ranges.back().second += 128;
    else
      load.ranges.emplace_back(begin, begin + 128);
  }
  for (auto [begin, end] : load.ranges) w.pending.push_back({kAsyncTmemLoad, begin, end - begin, op.inst});
  state.loads.push_back(std::move(load));
  ++state.loading;

  const double registers = double(a.registers << a.pack);
  const double busy = registers <= 2 ? cost.ld_min : cost.ld_fixed + cost.ld_register * registers;
  const double through = memory.use_port(w.index() & 3, false, w.time(), busy);
  const uint64_t lands = rounded(through + cost.ld_latency), begin = uint64_t(through - busy);
  Origin actor = who;
  const ToldOperation told = tell_issue(w.partition(), AsyncOperation::Kind::tmem_load, actor, w.sm().index, w.time(),
                                        128 * op.list_size, uses_of(w, a, false, "tcgen05.ld"));
  w.result_at(op, lands);
  EventQueue& events = w.partition().events;
  events.schedule(
      lands, events.new_channel(), actor,
      [&memory, a, &op, who, actor, frame, id = state.loads.back().id, &w, &state, told, begin](uint64_t now) {
        tell_cells(w, a, AccessKind::read, actor, now);
        tell_complete(w.partition(), told, begin, now);
        warn_if_never_written(memory, a, who);
        for (Load& l : state.loads)
          if (l.id == id) {
            land_load(memory, a, op, w.register_file() + frame);
            l.landed = true;
          }
        wake_as(w, now, kUseLoad);
        if (--state.loading == 0) wake_as(w, now, kWaitLoad);
      });
}

// ---- st

void land_store(TensorMemory& memory, const Access& a, const uint32_t* data) {
  if (a.shape == Shape::s32x32b && !a.pack) {
    for (uint32_t r = 0; r < a.registers; ++r) {
      const uint32_t c = a.half[0].column + r;
      copy_lanes(memory.column(c) + a.half[0].lane, data + r * 32, a.mask);
      memory.mark_written(c, a.half[0].lane / 32, a.mask);
    }
    return;
  }
  for (uint32_t r = 0; r < a.registers; ++r) scatter(memory, a, r, data + r * 32);
  for (int h = 0; h < a.halves; ++h) memory.mark_written(a.half[h]);
}

void st(Warp& w, const Op& op) {
  if (!whole_warp(w)) return;
  const Origin who = origin_of(w);
  TensorMemory& memory = TensorMemory::of(w.sm());
  const TensorMemoryTiming& cost = w.timing().tensor_memory.value();
  const Access a = checked_access(w, op, op.list_size, who, "tcgen05.st");

  std::vector<uint32_t> data(size_t(a.registers) * 32);
  for (uint32_t r = 0; r < a.registers; ++r) std::memcpy(&data[r * 32], w.at<uint32_t>(op.list[r]), 128);
  InFlight& state = in_flight(w);
  ++state.storing;
  const double busy = cost.st_fixed + cost.st_register * double(a.registers << a.pack);
  const double through = memory.use_port(w.index() & 3, true, w.time(), busy);
  const uint64_t lands = rounded(through + cost.st_latency), begin = uint64_t(through - busy);
  Origin actor = who;
  const ToldOperation told = tell_issue(w.partition(), AsyncOperation::Kind::tmem_store, actor, w.sm().index, w.time(),
                                        128 * a.registers, uses_of(w, a, true, "tcgen05.st"));
  EventQueue& events = w.partition().events;
  events.schedule(lands, events.new_channel(), actor,
                  [&memory, a, actor, data = std::move(data), &w, &state, told, begin](uint64_t now) {
                    tell_cells(w, a, AccessKind::write, actor, now);
                    tell_complete(w.partition(), told, begin, now);
                    land_store(memory, a, data.data());
                    if (--state.storing == 0) wake_as(w, now, kWaitStore);
                  });
}

// ---- wait

/// The instruction costs `cycles` in all when nothing is under way.
void charge_total(Warp& w, const Op& op, double cycles) {
  const uint64_t all = uint64_t(std::llround(cycles));
  if (all > op.issue) w.charge(all - op.issue);
}

void wait_ld(Warp& w, const Op& op) {
  if (!whole_warp(w)) return;
  InFlight& state = in_flight(w);
  if (state.loading) return block_as(w, kWaitLoad);
  state.loads.clear();
  std::erase_if(w.pending, [](const Warp::Pending& p) { return p.channel == kAsyncTmemLoad; });
  charge_total(w, op, w.timing().tensor_memory.value().wait_ld);
  tell(w, Sync::Kind::wait_group);
}

void wait_st(Warp& w, const Op& op) {
  if (!whole_warp(w)) return;
  if (in_flight(w).storing) return block_as(w, kWaitStore);
  charge_total(w, op, w.timing().tensor_memory.value().wait_st);
  tell(w, Sync::Kind::wait_group);
}

// ---- Decoding

/// Shape, repetitions, packing and address into `op`; returns the registers a thread.
uint32_t decode_access(Decoder& d, Op& op) {
  int shape = -1;
  for (int s = 0; s < int(kTmemShapes); ++s)
    if (d.inst->has(kTmemShapeNames[s])) shape = s;
  if (shape < 0) d.not_modelled();
  uint32_t num = 0;
  for (uint32_t n = 1; n <= 128; n *= 2)
    if (d.inst->has(fmt::format("x{}", n))) num = n;
  const uint32_t registers = num * repeat_of(Shape(shape)).registers;
  if (num == 0 || registers > 128) d.not_modelled();
  const AddressOperand at = d.address(d.operand("address"));
  op.a = at.base;
  AccessDetails& details = op.edit<AccessDetails>();
  details.shape = Shape(shape);
  details.packed = d.inst->has("pack::16b") || d.inst->has("unpack::16b");
  details.address = uint32_t(at.offset);
  if (const ptx::Operand* split = d.find("split_offset")) details.split = uint32_t(split->bits);
  op.cost = CostClass::async_issue;
  return registers;
}

void decode_ld(Decoder& d, Op& op) {
  op.fn = ld;
  std::vector<uint32_t> slots;
  for (const ptx::Operand& o : d.operand("r").elems) slots.push_back(d.dst(o));
  const uint32_t registers = decode_access(d, op);
  if (slots.size() != registers) d.not_modelled();
  if (const ptx::Operand* reduced = d.find("reduced")) {
    slots.push_back(d.dst(*reduced));
    Reduction& how = op.edit<AccessDetails>().red;
    how.wanted = true;
    how.max = d.inst->has("max");
    how.abs = d.inst->has("abs");
    how.nan = d.inst->has("NaN");
    how.type = d.inst->has("u32")   ? Reduction::Type::u32
               : d.inst->has("s32") ? Reduction::Type::s32
                                    : Reduction::Type::f32;
  }
  d.set_list(op, slots);
  d.async_dst(slots, kAsyncTmemLoad);
}

void decode_st(Decoder& d, Op& op) {
  op.fn = st;
  const uint32_t registers = decode_access(d, op);
  OperandList slots;
  add_sources(d, d.operand("r"), ptx::Type::b32, slots);
  if (slots.size() != registers) d.not_modelled();
  d.set_list(op, slots);
}

/// tcgen05.wait::ld and wait::st.
void decode_wait(Decoder& d, Op& op) {
  op.cost = CostClass::async_issue;
  if (d.inst->has("st")) {
    op.fn = wait_st;
    return;
  }
  op.fn = wait_ld;
  d.async_wait(kAsyncTmemLoad);
}

constexpr Entry entries[] = {
    {Opcode::tcgen05_ld, decode_ld},
    {Opcode::tcgen05_ld_red, decode_ld},
    {Opcode::tcgen05_st, decode_st},
    {Opcode::tcgen05_wait, decode_wait},
};

}  // namespace

Table tcgen05_ld_st_table() { return {entries}; }

}  // namespace tinygpu::isa
