#include "common/tinygpu/check/races/primary_grid.h"

#include <algorithm>

#include "common/tinygpu/check/races/findings.h"

namespace tinygpu::races {

bool PrimaryGrid::over(const Sight& known) {
  if (epoch_of(known.here, kOver)) return true;
  return known.elsewhere &&
         std::ranges::any_of(*known.elsewhere, [](const auto& other) { return epoch_of(other.second, kOver) != 0; });
}

void PrimaryGrid::add(uint64_t base, const std::vector<uint32_t>& handles, const Histories& histories) {
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

const PrimaryGrid::Touch* PrimaryGrid::met(uint64_t address, uint64_t bytes, bool writes) const {
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

std::shared_ptr<PrimaryGrid> PrimaryGrids::add(uint64_t grid, const std::string& kernel) {
  std::erase_if(grids_, [](const auto& g) { return g.second.expired(); });
  auto made = std::make_shared<PrimaryGrid>(kernel);
  grids_[grid] = made;
  return made;
}

std::shared_ptr<PrimaryGrid> PrimaryGrids::find(uint64_t grid) const {
  const auto it = grids_.find(grid);
  return it == grids_.end() ? nullptr : it->second.lock();
}

void EarlyTouches::add(const Record& record, uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  touches_.push_back({record, address, bytes});
  // What only judges accesses within the grid.
  touches_.back().record.knew = {};
  touches_.back().record.lane_components = {};
}

}  // namespace tinygpu::races
