#include "common/tinygpu/debug/lines.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::debug {

bool SourceLines::Op::at(SourceLine l) const { return own == l || std::ranges::find(callers, l) != callers.end(); }

uint32_t SourceLines::number_of(const std::string& path) {
  const auto [it, fresh] = numbers_.try_emplace(path, uint32_t(files_.size()));
  if (fresh) files_.push_back(path);
  return it->second;
}

const std::vector<SourceLines::Op>& SourceLines::of(const Launch& launch, const Function& f) {
  const auto [it, fresh] = functions_.try_emplace(&f);
  if (!fresh) return it->second;
  it->second.reserve(f.ops.size());
  for (const tinygpu::Op& op : f.ops) {
    const Where w = Origin{const_cast<Launch*>(&launch), &f, &op, {}, -1, -1, 0, 0}.where();
    Op& out = it->second.emplace_back();
    out.ptx_line = w.ptx_line;
    for (const InlinedPlace& p : w.inlined) out.callers.push_back({number_of(p.file), p.line});
    out.callers.push_back({number_of(w.cuda_file), w.cuda_line});
    out.own = out.callers.front();
    out.callers.erase(out.callers.begin());
  }
  return it->second;
}

std::vector<uint32_t> SourceLines::files_like(std::string_view name) const {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < files_.size(); ++k) {
    const std::string_view path = files_[k];
    if (path == name || (path.ends_with(name) && path[path.size() - name.size() - 1] == '/')) out.push_back(k);
  }
  return out;
}

}  // namespace tinygpu::debug
