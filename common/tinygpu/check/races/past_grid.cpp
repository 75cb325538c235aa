#include "common/tinygpu/check/races/past_grid.h"

#include <algorithm>

#include "common/tinygpu/check/races/findings.h"

namespace tinygpu::races {

bool PastGrid::over(const Sight& known) {
  if (epoch_of(known.here, kOver)) return true;
  return known.elsewhere &&
         std::ranges::any_of(*known.elsewhere, [](const auto& other) { return epoch_of(other.second, kOver) != 0; });
}

void PastGrid::add(uint64_t base, const std::vector<uint32_t>& handles, const Histories& histories) {
  for (size_t i = 0; i < handles.size(); ++i) {
    if (!handles[i]) continue;
    Cell cell;
    histories.each(handles[i], [&](const Record& r, uint16_t bytes) {
      const auto [known, fresh] = numbers_.try_emplace({r.who.op, r.writes()}, uint16_t(touches_.size() + 1));
      if (fresh && touches_.size() < 0xffff) {
        touches_.push_back(
            {place_of(r, r.writes() ? "the grid before writes it" : "the grid before reads it"), r.writes()});
        touches_.back().place.where.cycle = -1;  // of another launch
      }
      (r.writes() ? cell.write : cell.read) = known->second;
      cell.touched |= bytes;
      if (r.writes()) cell.written |= bytes;
    });
    cells_.emplace(base / kCell + i, cell);
  }
}

const PastGrid::Touch* PastGrid::met(uint64_t address, uint64_t bytes, bool writes) const {
  for (uint64_t at = address; at < address + bytes; at = (at / kCell + 1) * kCell) {
    const auto it = cells_.find(at / kCell);
    if (it == cells_.end()) continue;
    const uint64_t from = at % kCell, to = std::min(kCell, from + (address + bytes - at));
    const uint32_t mask = (to == 16 ? 0xffffu : (1u << to) - 1) & ~((1u << from) - 1);
    const Cell& cell = it->second;
    if (cell.written & mask) return &touches_[cell.write - 1u];
    if (writes && cell.touched & mask) return &touches_[(cell.read ? cell.read : cell.write) - 1u];
  }
  return nullptr;
}

}  // namespace tinygpu::races
