#include "common/tinygpu/machine/sync/mbarrier_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "common/tinygpu/base/initialised_object.h"
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {
namespace {

/// A line, and what it initialises.
struct Initialisation {
  std::string file;
  int line = 0;
  std::string object;
};

/// Of a call that goes on over several lines.
constexpr int kLinesOfACall = 3, kLinesOfALoop = 6;
constexpr uint32_t kMbarrierBytes = 8;

class Source {
 public:
  explicit Source(const ReadLine& read) : read_(read) {}

  /// `count` lines from `line` on.
  std::string text(const std::string& file, int line, int count) const {
    std::string out;
    for (int i = 0; i < count; ++i) out += read_(file, line + i).value_or("") + "\n";
    return out;
  }
  /// The innermost call around the instruction that names an object.
  Initialisation initialisation(const Where& where) const {
    const auto at = [&](const std::string& file, int line) {
      if (file.empty() || read_(file, line).value_or("").find("init") == std::string::npos) return Initialisation{};
      return Initialisation{file, line, initialised_object(text(file, line, kLinesOfACall))};
    };
    for (const InlinedPlace& i : where.inlined)
      if (auto found = at(i.file, i.line); !found.object.empty()) return found;
    return at(where.cuda_file, where.cuda_line);
  }
  /// The line stands in a loop, or is one, that counts `index` from 0 on.
  bool counts_from_zero(const Initialisation& i, std::string_view index) const {
    const int first = std::max(1, i.line - kLinesOfALoop);
    return tinygpu::counts_from_zero(text(i.file, first, i.line - first + 1), index);
  }

 private:
  const ReadLine& read_;
};

std::string ordinal(size_t n) {
  const char* end = n % 100 / 10 == 1 ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
  return fmt::format("{}{}", n, end);
}

/// The variable of PTX that was written by hand. What compilers call theirs (_Z…) is no name to read.
std::string declared(const Cta& owner, uint32_t offset) {
  for (const auto& [variable, begin] : owner.cluster.partition.launch.config.kernel->shared_offsets) {
    if (ptx::size_of(variable->type) != kMbarrierBytes || offset < begin || offset - begin >= variable->size ||
        (offset - begin) % kMbarrierBytes || variable->name.starts_with("_Z"))
      continue;
    return variable->size == kMbarrierBytes ? variable->name
                                            : fmt::format("{}[{}]", variable->name, (offset - begin) / kMbarrierBytes);
  }
  return {};
}

/// The object in the line of CUDA.
std::string expression_of(const Cta& owner, uint32_t offset) {
  const ReadLine& read = owner.cluster.partition.launch.options.source_line;
  const auto& made = owner.mbarriers.made();
  const auto mine = made.find(offset);
  if (!read || mine == made.end() || !mine->second.op) return {};
  const Source source(read);
  const Initialisation i = source.initialisation(mine->second.where());
  if (i.object.empty()) return {};
  std::vector<uint32_t> same;  // that this line initialises
  for (const auto& [other, who] : made)
    if (who.op) {
      const Initialisation o = source.initialisation(who.where());
      if (std::tie(o.file, o.line) == std::tie(i.file, i.line)) same.push_back(other);
    }
  const size_t number = size_t(std::ranges::count_if(same, [&](uint32_t o) { return o < offset; }));
  const auto index = only_index(i.object);
  if (index && source.counts_from_zero(i, *index)) {
    std::string out = i.object;
    return out.replace(size_t(index->data() - i.object.data()), index->size(), std::to_string(number));
  }
  return same.size() == 1 ? i.object : fmt::format("{}, the {} of {}", i.object, ordinal(number + 1), same.size());
}

}  // namespace

std::string mbarrier_expression(const Cta& owner, uint32_t offset) {
  std::string out = expression_of(owner, offset);
  return out.empty() ? declared(owner, offset) : out;
}

std::string mbarrier_name(const Cta& owner, uint32_t offset) {
  const std::string expression = mbarrier_expression(owner, offset);
  return expression.empty() ? fmt::format("the mbarrier at shared offset {:#x}", offset)
                            : fmt::format("the mbarrier {} (shared offset {:#x})", expression, offset);
}

}  // namespace tinygpu
