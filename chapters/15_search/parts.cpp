#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "chapters/15_search/parts.h"

namespace search {

void check_sizes(const tiny::Problem& p) {
  const auto refuse = [](const char* option, uint32_t value, uint32_t multiple) {
    if (value % multiple == 0) return;
    throw std::invalid_argument(fmt::format(
        "{0} {1} is not possible: TMA takes rows of multiples of 16 bytes, so {0} must be a multiple of {2}. Use {3} "
        "or {4}.",
        option, value, multiple, std::max(multiple, value / multiple * multiple), (value / multiple + 1) * multiple));
  };
  refuse("--n", p.n, 4);
  refuse("--k", p.k, 8);
}

Shares::Shares(const tiny::Result& r)
    : tensor(r.busy[tiny::tensor_core] / r.cycles),
      loads(r.lost[tiny::loads] / r.cycles),
      epilogue(r.lost[tiny::epilogue] / r.cycles),
      ends(1 - tensor - loads - epilogue) {}

char Shares::limit() const {
  if (tensor > 0.5) return 't';
  if (loads >= epilogue && loads >= ends) return 'l';
  return epilogue >= ends ? 'e' : 'b';
}

std::string name_of_limit(char limit) {
  return limit == 't' ? "the tensor core" : limit == 'l' ? "loads" : limit == 'e' ? "the epilogue" : "begins and ends";
}

}  // namespace search
