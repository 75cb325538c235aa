#include "common/tinygpu/machine/chip/device_launches.h"

#include <map>
#include <utility>

namespace tinygpu {
namespace {

std::map<uint64_t, std::vector<DeviceLaunch>>& by_grid() {
  static auto& all = *new std::map<uint64_t, std::vector<DeviceLaunch>>;
  return all;
}

}  // namespace

void add_device_launch(uint64_t number, DeviceLaunch launch) { by_grid()[number].push_back(std::move(launch)); }

std::vector<DeviceLaunch> take_device_launches(uint64_t number) {
  auto grid = by_grid().extract(number);
  return grid ? std::move(grid.mapped()) : std::vector<DeviceLaunch>();
}

void forget_device_launches() { by_grid().clear(); }

}  // namespace tinygpu
