#include "chapters/14_attention/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace attention {

/// Elements of one operand.
constexpr double kMostElements = 4e9;

void Options::add_to(gen5::harness::Chapter& chapter) {
  chapter.number("--queries", queries, 1, 1u << 20, "Rows of Q and O in a head");
  chapter.number("--keys", keys, 0, 1u << 20, "Rows of K and V in a head; 0: as many as queries");
  chapter.number("--heads", heads, 1, 1024, "Heads in a batch");
  chapter.number("--batch", batch, 1, 1024, "Batches");
  chapter.choice("--dim", dim, {"64", "128"}, "Elements of a head's rows");
  chapter.flag("--causal", causal, "A query sees the keys up to its own number");
  chapter.choice("--pattern", pattern, {"normal", "peaked", "rising"}, "Operands");
}

Operands Options::operands(gen5::harness::Report& report) const {
  if (report.stamps()) throw std::runtime_error("--stamps: the kernels of this chapter take none");
  const uint32_t rows = keys ? keys : queries, width = dim == "64" ? 64 : 128;
  const double elements = double(batch) * heads * std::max(queries, rows) * width;
  if (elements > kMostElements)
    throw std::runtime_error(fmt::format(
        "{:.1e} elements in one operand are more than the {:.0e} that this program makes: take fewer heads or rows",
        elements, kMostElements));
  report.say(
      fmt::format("O = softmax(Q * K^T / sqrt({0})) * V, {1} of {2} heads, {3} queries, {4} keys, {0} "
                  "dimensions{5}; bf16 ({6}), scores and sums in f32.",
                  width, batch == 1 ? "one batch" : fmt::format("{} batches", batch), heads, queries, rows,
                  causal ? ", causal: query i sees keys 0 to i" : "", pattern));
  return Operands(make_inputs(batch * heads, queries, rows, width, causal, pattern));
}

double operations(const Inputs& in) { return 4.0 * in.dim * double(in.pairs()); }

}  // namespace attention
