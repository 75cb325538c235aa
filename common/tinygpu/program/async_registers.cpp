#include <algorithm>

#include "common/tinygpu/program/function_builder.h"

namespace tinygpu {

AsyncRegisters::AsyncRegisters(const ptx::Function& f, const Flow& flow, const std::vector<Touch>& touches)
    : f_(f), touches_(touches) {
  for (const Touch& t : touches)
    for (const bool written : {false, true})
      for (uint32_t r : written ? t.async_defs : t.async_uses)
        if (index_.try_emplace({r, t.channel, written}, uint32_t(registers_.size())).second)
          registers_.push_back({r, t.channel, written});
  begin_.assign(flow.blocks.size(), Ages(registers_.size(), kIdle));
  if (registers_.empty()) return;
  std::vector<bool> waiting(flow.blocks.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = 0; b < flow.blocks.size(); ++b) {
      if (!waiting[b]) continue;
      waiting[b] = false;
      Ages ages = begin_[b];
      for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) step(ages, i);
      for (uint32_t next : flow.blocks[b].next)
        for (size_t k = 0; k < ages.size(); ++k)
          if (ages[k] < begin_[next][k]) {
            begin_[next][k] = ages[k];
            waiting[next] = changed = true;
          }
    }
  }
}

void AsyncRegisters::step(Ages& ages, uint32_t i) const {
  const Touch& t = touches_[i];
  // A commit or a wait that its guard may switch off ends nothing for certain.
  if (f_.body[i].guard < 0 && (t.commits >= 0 || t.waits >= 0))
    for (size_t k = 0; k < ages.size(); ++k) {
      if (ages[k] == kIdle) continue;
      if (registers_[k].channel == t.commits) ages[k] = std::min<uint8_t>(ages[k] + 1, kIdle - 1);
      // The operation's own group is as old as the groups closed since it issued; 0: it belongs to none yet.
      if (registers_[k].channel == t.waits && (t.left == Decoder::kWaitsForAll || ages[k] > t.left)) ages[k] = kIdle;
    }
  for (const bool written : {false, true})
    for (uint32_t r : written ? t.async_defs : t.async_uses) ages[index_.at({r, t.channel, written})] = 0;
}

}  // namespace tinygpu
