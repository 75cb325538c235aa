#include "common/tinygpu/program/allocate/async_registers.h"

#include <algorithm>

#include "common/tinygpu/program/lower/dataflow.h"
#include "common/tinygpu/program/lower/decoder.h"

namespace tinygpu {

AsyncRegisters::AsyncRegisters(const Flow& flow, const std::vector<Touch>& touches) : touches_(touches) {
  for (const Touch& t : touches)
    for (const bool written : {false, true})
      for (uint32_t r : written ? t.async_defs : t.async_uses)
        if (index_.try_emplace({r, t.channel, written}, uint32_t(registers_.size())).second)
          registers_.push_back({r, t.channel, written});
  begin_.assign(flow.blocks.size(), Ages(registers_.size(), kIdle));
  if (registers_.empty()) return;
  const auto run = [&](const Flow::Block& block, Ages& ages) {
    for (uint32_t i = block.begin; i < block.end; ++i) step(ages, i);
  };
  solve_forward(flow, begin_, run, [](uint8_t& fewest, uint8_t age) {
    const bool fewer = age < fewest;
    if (fewer) fewest = age;
    return fewer;
  });
}

void AsyncRegisters::step(Ages& ages, uint32_t i) const {
  const Touch& t = touches_[i];
  // A commit or a wait that its guard may switch off ends nothing for certain.
  if (!t.guarded && (t.commits >= 0 || t.waits >= 0))
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
