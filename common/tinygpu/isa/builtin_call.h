// The arguments of a call that the machine answers. Op::list is the call's (program/lower/decoder.h).
#pragma once
#include <cstdint>
#include <cstring>

#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// Value of the call's argument `n` in `lane`.
template <class T>
T argument(Warp& w, const Op& op, uint32_t n, int lane) {
  T v;
  std::memcpy(&v, w.local(uint32_t(lane), w.local_base() + op.list[1 + n], sizeof v), sizeof v);
  return v;
}

template <class T>
void set_return(Warp& w, const Op& op, int lane, T v) {
  const uint32_t count = op.list[0];
  if (op.list[1 + count] == 0) return;  // the caller ignores it
  std::memcpy(w.local(uint32_t(lane), w.local_base() + op.list[2 + count], sizeof v), &v, sizeof v);
}

}  // namespace tinygpu::isa
