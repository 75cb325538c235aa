#include "common/tinygpu/observe/mma_ends.h"

#include <fmt/format.h>

#include <iterator>
#include <string>

namespace tinygpu::observe {

void MmaEnds::on_complete(const AsyncOperation& o) {
  using Kind = AsyncOperation::Kind;
  if (o.kind == Kind::mma || o.kind == Kind::wgmma) parts_.of(o)[{o.sm, o.who.warp / 4}].push_back(o.end);
}

void MmaEnds::on_end(const Launch&, const LaunchStats*) {
  std::string text;
  for (const Part& part : parts_)
    for (const auto& [issuer, ends] : part)
      fmt::format_to(std::back_inserter(text), "{} {} {}\n", issuer.first, issuer.second, fmt::join(ends, " "));
  out_ << text;
}

}  // namespace tinygpu::observe
