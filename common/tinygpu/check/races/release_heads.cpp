#include "common/tinygpu/check/races/release_heads.h"

namespace tinygpu::races {

void ReleaseHeads::put(uint64_t address, const Party& who, const Views& released, bool extends) {
  std::vector<Head>& heads = by_address_[address];
  if (!extends) heads.clear();
  const bool far = who.scope >= ptx::Scope::gpu;
  const Views views = released.exported(who.cluster);
  for (Head& h : heads) {
    const bool same = far ? h.who.scope >= ptx::Scope::gpu
                          : h.who.scope == who.scope && h.who.cluster == who.cluster &&
                                (who.scope == ptx::Scope::cluster || h.who.cta == who.cta);
    if (!same) continue;
    h.released.join(views);
    return;
  }
  heads.push_back({who, views});
}

void ReleaseHeads::forget(uint64_t address, uint64_t bytes) {
  if (by_address_.empty()) return;
  if (bytes > 64 && bytes > by_address_.size()) {
    std::erase_if(by_address_, [&](const auto& h) { return h.first - address < bytes; });
    return;
  }
  for (uint64_t at = address; at < address + bytes; ++at) by_address_.erase(at);
}

}  // namespace tinygpu::races
