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

/// One row of an instruction table.
struct Entry {
  Opcode opcode;
  DecodeFn decode;
};
/// A family's rows; defined at the end of the family's file.
struct Table {
  const Entry* begin;
  const Entry* end;
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

/// Predicate result: bit i = f(i); lanes that do not execute keep their bit.
template <class F>
inline void each_pred(Warp& w, uint32_t dst, F&& f) {
  uint32_t m = 0;
  for (int i = 0; i < 32; ++i) m |= uint32_t(bool(f(i))) << i;
  uint32_t& d = w.pred(dst);
  d = (d & ~w.exec()) | (m & w.exec());
}

}  // namespace tinygpu::isa
