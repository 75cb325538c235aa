// What the ladder and its Hopper twin ask for alike: sizes, and operands made to them.
#pragma once
#include <string>

#include "chapters/14_attention/attention.h"
#include "chapters/14_attention/reference.h"
#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"

namespace attention {

/// The operands on both sides.
struct Operands {
  Inputs in;
  gen5::harness::DeviceBuffer<uint16_t> q, k, v, o;
  explicit Operands(Inputs inputs) : in(std::move(inputs)), q(in.q), k(in.k), v(in.v), o(in.q.size()) {}
  Problem problem() const {
    return {in.heads, in.queries, in.keys, in.dim, in.causal, q.get(), k.get(), v.get(), o.get()};
  }
};

struct Options {
  /// 37 heads of 1024 queries are 148 pairs of tiles, one for each SM of a B200.
  uint32_t queries = 1024, keys = 0, heads = 37, batch = 1;
  bool causal = false;
  std::string dim = "128", pattern = "normal";

  void add_to(gen5::harness::Chapter& chapter);
  /// Says what is computed, and makes operands. Throws std::runtime_error for more than a GPU has room for, and
  /// where stamps are asked for.
  Operands operands(gen5::harness::Report& report) const;
};

/// Multiplications and additions of the two products, of pairs that are not masked.
double operations(const Inputs& in);

}  // namespace attention
