#include "web/machine/snapshot.h"

#include "common/tinygpu/machine/chip/cta.h"

namespace tinygpu::web {

using debug::Json;

void Watcher::on_end(const Launch& l, const LaunchStats* stats) {
  if (!stats) at_fault = seen();
  alive_.launches.erase(&l);
  std::erase_if(alive_.operations, [&](const auto& o) { return o.first.first == &l; });
}

Json Watcher::seen(const Where& who) {
  debug::Views views(alive_, lines_);
  Json out = views.view({{"view", "warps"}}, nullptr, -1);
  const Warp* focus = nullptr;
  for (const Json& w : out["warps"]) {
    const Warp* warp = views.find(w["name"].get<debug::WarpName>());
    if (!focus || (who.warp >= 0 && warp && int(warp->index()) == who.warp)) focus = warp;
    if (focus && who.warp < 0) break;
  }
  if (!focus) return out;
  for (const char* view : {"registers", "barriers", "inflight"}) out.update(views.view({{"view", view}}, focus, -1));
  constexpr int kShared = 4096;
  out["shared"] = views.view({{"view", "shared"}, {"bytes", kShared}}, focus, -1);
  out["tmem"] = views.view({{"view", "tmem"}, {"lane", 0}, {"lanes", 32}, {"column", 0}, {"columns", 64}}, focus, -1);
  return out;
}

}  // namespace tinygpu::web
