// Which points are kernels at all. A rule has the code of the diagnosis that a kernel ends in which breaks it:
// `gen5 explain CODE` tells more.
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>

#include "chapters/15_search/space.h"

namespace search {

using namespace tiny;

/// A rule that a point breaks. `letter`: in the picture.
struct Broken {
  char letter;
  const char* rule;
  const char* diagnosis;
  std::string why;  // with the point's numbers
};

/// The first rule that the point breaks. Nothing: it is a kernel.
inline std::optional<Broken> broken(const Point& p) {
  if (p.ctas == 2 && p.rows() < 128)
    return Broken{'M', "pair-shape", "instruction-descriptor",
                  fmt::format("a pair multiplies 256 rows, and a tile of {} leaves each CTA {}", p.m, p.rows())};
  if (p.columns() > kColumns)
    return Broken{
        'T', "tensor-memory", "alloc-granularity",
        fmt::format("{} of {} x {} take {} columns of Tensor Memory, which has {}",
                    p.accumulators == 1 ? "an accumulator" : "two accumulators", p.rows(), p.n, p.columns(), kColumns)};
  if (p.rows() > 256)
    return Broken{'B', "box-rows", "tensor-map", fmt::format("a box of A has {} rows, and TMA takes 256", p.rows())};
  if (p.span > p.block)
    return Broken{'W', "swizzle-span", "deadlock",
                  fmt::format("a block of {} bytes a row has no span of {}", p.block, p.span)};
  if (p.shared_bytes() > kSharedOfCta)
    return Broken{
        'S', "shared-memory", "attribute-refused",
        fmt::format("{} stages of {} bytes and {} beside them are {}, and a CTA has {}", p.stages, p.stage_bytes(),
                    p.shared_bytes() - p.stages * p.stage_bytes(), p.shared_bytes(), kSharedOfCta)};
  if (!p.persistent && p.accumulators == 2)
    return Broken{'=', "same-kernel", "-", "a CTA with one tile never uses a second accumulator"};
  return std::nullopt;
}

}  // namespace search
