// shfl, vote, match, redux, elect, activemask (PTX ISA 9.7.9.6, 9.7.13.8 – 9.7.13.12).
//
// The .sync forms act for the lanes of a member mask: they wait until all of them that have not exited are here. Lanes
// may name different masks in one instruction; each set then acts by itself.
#include <algorithm>
#include <string>

#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

using ptx::Type;

namespace {

/// Calls act(members, lanes) for each set of executing lanes that name the same member mask, once all members are here.
/// False: some are missing; the group waits and the op runs again.
template <class Act>
bool for_members(Warp& w, const uint32_t* masks, Act&& act) {
  struct Set {
    uint32_t members, lanes;
  } sets[32];
  int n = 0;
  uint32_t wanted = 0;
  for (uint32_t left = w.exec(); left;) {
    const uint32_t members = masks[__builtin_ctz(left)], same = lanes_like_first(masks, left);
    if (same & ~members)
      w.report(
          Severity::error, "warp-mask-without-self",
          std::string(w.function().instruction(w.current_op()).name()) + " in lane " +
              std::to_string(__builtin_ctz(same & ~members)) + ", which its member mask leaves out",
          "every lane that executes a .sync operation must be in the mask that it names; the manual leaves the result "
          "undefined, an H200 goes on",
          __builtin_ctz(same & ~members));
    left &= ~same;
    wanted |= members;
    sets[n++] = {members, same};
  }
  if (!w.converged(wanted)) return false;
  // A mask whose lanes have all left has its executing lanes for members.
  for (int i = 0; i < n; ++i)
    act(sets[i].members & w.live() ? sets[i].members & w.live() : sets[i].lanes, sets[i].lanes);
  return true;
}

// ---- shfl

enum Shuffle : uint8_t { kUp, kDown, kBfly, kIdx };

/// Source lane of `lane` and whether it is in range (PTX ISA 9.7.9.6, the pseudocode of c's clamp and segment mask).
uint32_t source_lane(Shuffle mode, uint32_t lane, uint32_t b, uint32_t c, bool& in_range) {
  const uint32_t clamp = c & 31, segment = c >> 8 & 31, distance = b & 31;
  const uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  uint32_t j = 0;
  switch (mode) {
    case kUp:
      j = lane - distance;
      in_range = int32_t(j) >= int32_t(most);
      break;
    case kDown:
      j = lane + distance;
      in_range = j <= most;
      break;
    case kBfly:
      j = lane ^ distance;
      in_range = j <= most;
      break;
    case kIdx:
      j = least | (distance & ~segment);
      in_range = j <= most;
      break;
  }
  return in_range ? j : lane;
}

void shuffle(Warp& w, const Op& op, uint32_t lanes) {
  const uint32_t *a = w.at<uint32_t>(op.a), *b = w.at<uint32_t>(op.b), *c = w.at<uint32_t>(op.c);
  uint32_t value[32], truth = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    bool in_range = false;
    value[i] = a[source_lane(op.get<Shuffle>(), i, b[i], c[i], in_range)];
    truth |= uint32_t(in_range) << i;
  }
  if (op.dst != kNoSlot) {
    uint32_t* d = w.at<uint32_t>(op.dst);
    for (int i = 0; i < 32; ++i) d[i] = lanes >> i & 1 ? value[i] : d[i];
  }
  if (op.dst2 != kNoSlot) put_pred(w, op.dst2, truth, lanes);
}

void shfl_sync(Warp& w, const Op& op) {
  if (!for_members(w, w.at<uint32_t>(op.d), [](uint32_t, uint32_t) {})) return;
  // Reading a lane that does not execute with the reader is undefined (PTX ISA); here it gives that lane's register.
  shuffle(w, op, w.exec());
}

/// The form without .sync (removed for sm_70 and later): lanes that execute together.
void shfl(Warp& w, const Op& op) { shuffle(w, op, w.exec()); }

void decode_shfl(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  const bool sync = i.opcode == Opcode::shfl_sync;
  finish(d, op, sync ? shfl_sync : shfl, CostClass::warp_sync);
  op.set(i.has("up") ? kUp : i.has("down") ? kDown : i.has("bfly") ? kBfly : kIdx);
  decode_destinations(d, op, d.operand(0));
  op.a = d.src(d.operand("a"), Type::b32);
  op.b = d.src(d.operand("b"), Type::b32);
  op.c = d.src(d.operand("c"), Type::b32);
  if (sync) op.d = d.src(d.operand("members"), Type::b32);
}

// ---- vote

enum Vote : uint8_t { kAll, kAny, kUni, kBallot };

void vote_for(Warp& w, const Op& op, uint32_t members, uint32_t lanes) {
  const uint32_t truth = w.pred(op.a) & members;
  const Vote vote = op.get<Vote>();
  if (vote == kBallot) {
    uint32_t* d = w.at<uint32_t>(op.dst);
    for (int i = 0; i < 32; ++i) d[i] = lanes >> i & 1 ? truth : d[i];
    return;
  }
  const bool result = vote == kAll ? truth == members : vote == kAny ? truth != 0 : truth == 0 || truth == members;
  put_pred(w, op.dst, result ? ~0u : 0, lanes);
}

void vote_sync(Warp& w, const Op& op) {
  for_members(w, w.at<uint32_t>(op.b), [&](uint32_t members, uint32_t lanes) { vote_for(w, op, members, lanes); });
}

void vote(Warp& w, const Op& op) { vote_for(w, op, w.exec(), w.exec()); }

void decode_vote(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  const bool sync = i.opcode == Opcode::vote_sync;
  finish(d, op, sync ? vote_sync : vote, CostClass::warp_sync);
  op.set(i.has("all") ? kAll : i.has("any") ? kAny : i.has("uni") ? kUni : kBallot);
  op.dst = d.dst(d.operand("d"));
  op.a = d.pred(d.operand("a"));
  if (sync) op.b = d.src(d.operand("members"), Type::b32);
}

// ---- match

template <class T, bool all>
void match_sync(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  for_members(w, w.at<uint32_t>(op.b), [&](uint32_t members, uint32_t lanes) {
    uint32_t result[32], truth = 0;
    for_lanes(lanes, [&](int i) {
      uint32_t same = 0;
      for (int k = 0; k < 32; ++k) same |= uint32_t(a[k] == a[i]) << k;
      same &= members;
      const bool whole = same == members;
      result[i] = all && !whole ? 0 : same;
      truth |= uint32_t(whole) << i;
    });
    if (op.dst != kNoSlot) for_lanes(lanes, [&](int i) { w.at<uint32_t>(op.dst)[i] = result[i]; });
    if (op.dst2 != kNoSlot) put_pred(w, op.dst2, truth, lanes);
  });
}

void decode_match(Decoder& d, Op& op) {
  const bool all = d.inst->has("all"), wide = ptx::size_of(d.inst->type()) == 8;
  op.cost = CostClass::warp_sync;
  op.fn = all ? (wide ? match_sync<uint64_t, true> : match_sync<uint32_t, true>)
              : (wide ? match_sync<uint64_t, false> : match_sync<uint32_t, false>);
  decode_destinations(d, op, d.operand(0));
  op.a = d.src(d.operand("a"), d.inst->type());
  op.b = d.src(d.operand("members"), Type::b32);
}

// ---- redux

template <class T, auto f>
void redux_sync(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  for_members(w, w.at<uint32_t>(op.b), [&](uint32_t members, uint32_t lanes) {
    T r = a[__builtin_ctz(members)];
    for_lanes(members & (members - 1), [&](int i) { r = f(r, a[i]); });
    for_lanes(lanes, [&](int i) { w.at<T>(op.dst)[i] = r; });
  });
}

struct Redux {
  std::string_view name;
  ExecFn unsigned_words, signed_words;
};
template <auto f>
constexpr Redux redux(std::string_view name) {
  return {name, redux_sync<uint32_t, f>, redux_sync<int32_t, f>};
}
constexpr Redux kReductions[] = {
    redux<[](auto a, auto b) { return a & b; }>("and"),
    redux<[](auto a, auto b) { return a | b; }>("or"),
    redux<[](auto a, auto b) { return a ^ b; }>("xor"),
    redux<[](auto a, auto b) { return a + b; }>("add"),
    redux<[](auto a, auto b) { return std::min(a, b); }>("min"),
    redux<[](auto a, auto b) { return std::max(a, b); }>("max"),
};

// f32 min and max on bit patterns, ordered −inf … −0, +0 … +inf.
struct FloatRedux {
  bool abs, nan;
};

template <bool maximum>
void redux_float(Warp& w, const Op& op) {
  const FloatRedux details = op.get<FloatRedux>();
  const uint32_t* a = w.at<uint32_t>(op.a);
  const auto is_nan = [](uint32_t b) { return (b & 0x7fffffff) > 0x7f800000; };
  const auto order = [](uint32_t b) { return b >> 31 ? ~b : b | 0x80000000u; };
  for_members(w, w.at<uint32_t>(op.b), [&](uint32_t members, uint32_t lanes) {
    uint32_t best = 0x7fffffff;
    bool any = false, nan = false;
    for_lanes(members, [&](int i) {
      const uint32_t v = details.abs ? a[i] & 0x7fffffff : a[i];
      if (is_nan(v)) {
        nan = true;
        return;
      }
      if (!any || (maximum ? order(v) > order(best) : order(v) < order(best))) best = v;
      any = true;
    });
    if (nan && (!any || details.nan)) best = 0x7fffffff;
    for_lanes(lanes, [&](int i) { w.at<uint32_t>(op.dst)[i] = best; });
  });
}

void decode_redux(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  const Type type = i.type();
  op.cost = CostClass::warp_sync;
  if (type == Type::f32) {
    op.fn = i.has("max") ? redux_float<true> : redux_float<false>;
    op.set(FloatRedux{i.has("abs"), i.has("NaN")});
  } else {
    const auto r = std::ranges::find_if(kReductions, [&](const Redux& r) { return i.has(r.name); });
    if (r == std::end(kReductions)) d.not_modelled();
    // Sums wrap: they are made of unsigned words.
    op.fn = type == Type::s32 && r->name != "add" ? r->signed_words : r->unsigned_words;
  }
  op.dst = d.dst(d.operand("d"));
  op.a = d.src(d.operand("a"), type);
  op.b = d.src(d.operand("members"), Type::b32);
}

// ---- elect, activemask

/// The leader is the lowest lane of the mask that has not exited (notes/evidence.md: an H200 chooses so).
void elect_sync(Warp& w, const Op& op) {
  for_members(w, w.at<uint32_t>(op.a), [&](uint32_t members, uint32_t lanes) {
    const uint32_t leader = uint32_t(__builtin_ctz(members));
    if (op.dst != kNoSlot) for_lanes(lanes, [&](int i) { w.at<uint32_t>(op.dst)[i] = leader; });
    put_pred(w, op.dst2, 1u << leader, lanes);
  });
}

void decode_elect(Decoder& d, Op& op) {
  finish(d, op, elect_sync, CostClass::warp_sync);
  decode_destinations(d, op, d.operand(0));
  op.a = d.src(d.operand(1), Type::b32);
}

void activemask(Warp& w, const Op& op) {
  const uint32_t mask = w.exec();
  each_lane<uint32_t>(w, op.dst, [mask](int) { return mask; });
}

void decode_activemask(Decoder& d, Op& op) {
  finish(d, op, activemask, CostClass::warp_sync);
  op.dst = d.dst(d.operand(0));
}

constexpr Entry kWarpOpsTable[] = {
    {Opcode::shfl, decode_shfl},        {Opcode::shfl_sync, decode_shfl},        {Opcode::vote, decode_vote},
    {Opcode::vote_sync, decode_vote},   {Opcode::match_sync, decode_match},      {Opcode::redux_sync, decode_redux},
    {Opcode::elect_sync, decode_elect}, {Opcode::activemask, decode_activemask},
};

}  // namespace

Table warp_ops_table() { return {kWarpOpsTable}; }

}  // namespace tinygpu::isa
