#include "common/tinygpu/diagnosis/grouping.h"

#include <algorithm>
#include <string_view>

namespace tinygpu::diagnosis {
namespace {

/// Of a file that .loc names: Triton and CuTe DSL name the Python source, TileLang the CUDA text that it wrote.
bool is_generated(std::string_view file) {
  constexpr std::string_view kFolders[] = {"/site-packages/", "/dist-packages/", "/.triton/", "/.tilelang/"};
  return file.ends_with(".py") ||
         std::ranges::any_of(kFolders, [&](std::string_view f) { return file.find(f) != std::string_view::npos; });
}

}  // namespace

bool is_of_the_run(const Diagnosis& d) { return d.code == "check-coverage" || d.code == "delayable-lines"; }

Group group_of(const Diagnosis& d) {
  if (d.severity == Severity::note &&
      (d.code == "tmem-unordered" || d.code == "lane-order-missing" || d.code == "data-race"))
    return Group::kept;
  if (d.severity == Severity::error || !is_generated(d.where.cuda_file)) return Group::own;
  const auto foreign = [](const LabelledPlace& p) {
    return p.where.cuda_file.empty() || is_generated(p.where.cuda_file);
  };
  return std::ranges::all_of(d.others, foreign) ? Group::generated : Group::own;
}

}  // namespace tinygpu::diagnosis
