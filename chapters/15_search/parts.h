// The chapter's parts, a file each, and what they share.
#pragma once
#include <string>

#include "chapters/15_search/product.h"
#include "common/harness/chapter.h"

namespace search {

/// Throws where the kernels take no such product: TMA wants rows of multiples of 16 bytes.
void check_sizes(const tiny::Problem& problem);

void part_machine(gen5::harness::Report& r, const tiny::Problem& problem);
void part_space(gen5::harness::Report& r, const tiny::Problem& problem);
void part_climb(gen5::harness::Report& r, const tiny::Problem& problem);
void part_proof(gen5::harness::Report& r, const tiny::Problem& problem);

/// Where an estimate's cycles go, as shares: the tensor core works, or stands still for what.
struct Shares {
  double tensor, loads, epilogue, ends;
  explicit Shares(const tiny::Result& r);
  /// 't', 'l', 'e' or 'b': the tensor core if it works for more than half of the time, else what it waits for most.
  char limit() const;
};
std::string name_of_limit(char limit);

}  // namespace search
