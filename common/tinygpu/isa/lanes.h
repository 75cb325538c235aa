// What isa/ is written with: per-lane lambdas over 32 lanes that the compiler vectorises, and table registration.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/tinygpu/base/for_lanes.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"
#include "common/tinygpu/program/lower/decoder.h"

namespace tinygpu::isa {

using ptx::Opcode;

struct U128 {
  uint64_t lo, hi;
};

/// d[i] = f(i) for the executing lanes; other lanes keep their value. D is the slot's element type. A slot may be
/// source and destination at once only element for element, so the loops carry no dependence (ivdep: without it GCC
/// guards the vector loop with an overlap test that `add r1, r1, r2` fails).
template <class D, class F>
inline void each_lane(Warp& w, uint32_t dst, F&& f) {
  D* __restrict d = w.at<D>(dst);
  if (w.full()) {
#pragma GCC ivdep
    for (int i = 0; i < 32; ++i) d[i] = f(i);
  } else {
    const uint32_t m = w.exec();
#pragma GCC ivdep
    for (int i = 0; i < 32; ++i) {
      const D v = f(i);
      d[i] = (m >> i & 1) ? v : d[i];
    }
  }
}

/// The same for packed registers: N elements of D per lane, f(j) for element j = lane * N + position.
template <class D, int N, class F>
inline void each_element(Warp& w, uint32_t dst, F&& f) {
  if constexpr (N == 1) {
    each_lane<D>(w, dst, f);
  } else {
    D* __restrict d = w.at<D>(dst);
    const uint32_t m = w.exec();
#pragma GCC ivdep
    for (int j = 0; j < 32 * N; ++j) {
      const D v = f(j);
      d[j] = (m >> (j / N) & 1) ? v : d[j];
    }
  }
}

/// Predicate result of `lanes`; the others keep their bit.
inline void put_pred(Warp& w, uint32_t dst, uint32_t mask, uint32_t lanes) {
  uint32_t& d = w.pred(dst);
  d = (d & ~lanes) | (mask & lanes);
}
/// Predicate result of the executing lanes.
inline void put_pred(Warp& w, uint32_t dst, uint32_t mask) { put_pred(w, dst, mask, w.exec()); }

/// Predicate result: bit i = f(i).
template <class F>
inline void each_pred(Warp& w, uint32_t dst, F&& f) {
  uint32_t m = 0;
  for (int i = 0; i < 32; ++i) m |= uint32_t(bool(f(i))) << i;
  put_pred(w, dst, m);
}

/// The lanes of `lanes` whose `value` is that of their first.
template <class T>
inline uint32_t lanes_like_first(const T* value, uint32_t lanes) {
  const T first = value[__builtin_ctz(lanes)];
  uint32_t same = 0;
  for (int i = 0; i < 32; ++i) same |= uint32_t(value[i] == first) << i;
  return same & lanes;
}

/// One lane's value in a register of 64 or 32 bits.
inline uint64_t word_at(Warp& w, uint32_t slot, bool wide, int lane) {
  return wide ? w.at<uint64_t>(slot)[lane] : w.at<uint32_t>(slot)[lane];
}

// ---- Decoding

/// Destination `d` or destinations `d|p`.
inline void decode_destinations(Decoder& d, Op& op, const ptx::Operand& o) {
  const bool pair = o.kind == ptx::Operand::Kind::pair;
  op.dst = d.dst(pair ? o.elems.at(0) : o);
  if (pair) op.dst2 = d.dst(o.elems.at(1));
}

/// Decodes an address operand into op.a and op.imm. True: its base has 64 bits.
inline bool decode_base(Decoder& d, Op& op, const ptx::Operand& o) {
  const AddressOperand a = d.address(o);
  op.a = a.base;
  op.imm = a.offset;
  return a.wide;
}

/// Appends the slots of a vector's elements, or of a single operand.
inline void add_sources(Decoder& d, const ptx::Operand& o, ptx::Type type, OperandList& to) {
  if (o.kind != ptx::Operand::Kind::vector) return to.push_back(d.src(o, type));
  for (const ptx::Operand& e : o.elems) to.push_back(d.src(e, type));
}
inline void add_destinations(Decoder& d, const ptx::Operand& o, OperandList& to) {
  if (o.kind != ptx::Operand::Kind::vector) return to.push_back(d.dst(o));
  for (const ptx::Operand& e : o.elems) to.push_back(d.dst(e));
}

/// Ends a decode function: an executor found, or `not modelled`.
inline void finish(Decoder& d, Op& op, ExecFn fn, CostClass cost) {
  if (!fn) d.not_modelled();
  op.fn = fn;
  op.cost = cost;
}

}  // namespace tinygpu::isa
