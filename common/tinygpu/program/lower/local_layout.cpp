#include "common/tinygpu/program/lower/local_layout.h"

#include <algorithm>

#include "common/tinygpu/base/align_up.h"

namespace tinygpu {

LocalLayout lay_out_local(const Function& f) {
  LocalLayout out;
  const auto place = [&](const std::string& name, uint64_t size, uint32_t align) {
    const uint64_t at = align_up(out.bytes, std::max(1u, align));
    if (size > kMostLocal || at + size > kMostLocal)
      throw LinkError("function " + f.name + " needs more than " + std::to_string(kMostLocal) +
                      " bytes of local memory a thread");
    out.bytes = at + size;
    out.offsets[name] = uint32_t(at);
    return uint32_t(at);
  };
  const auto place_all = [&](const std::vector<ptx::Param>& from, std::vector<ParamInfo>& into) {
    for (const ptx::Param& p : from) into.push_back({place(p.name, p.size, p.align), uint32_t(p.size), p.align});
  };
  if (!f.entry) {
    place_all(f.source->params, out.params);
    place_all(f.source->returns, out.returns);
  }
  for (const ptx::Variable& v : f.source->locals) {
    const bool local = v.space == ptx::Space::local;
    if (!local && v.space != ptx::Space::param && v.space != ptx::Space::param_entry &&
        v.space != ptx::Space::param_func)
      continue;
    place(v.name, v.size, v.align);
    if (local) out.variables += v.size;
  }
  return out;
}

}  // namespace tinygpu
