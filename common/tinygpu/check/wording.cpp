#include "common/tinygpu/check/wording.h"

#include <fmt/format.h>

namespace tinygpu::checks {

std::string place_of(const Origin& who) {
  const Where w = who.where();
  std::string s = fmt::format("CTA ({},{},{})", w.cta[0], w.cta[1], w.cta[2]);
  if (w.warp >= 0) s += fmt::format(", warp {}", w.warp);
  if (!w.cuda_file.empty())
    s += fmt::format(", at {}:{}", w.cuda_file, w.cuda_line);
  else if (w.ptx_line > 0)
    s += fmt::format(", at PTX line {}", w.ptx_line);
  return s;
}

}  // namespace tinygpu::checks
