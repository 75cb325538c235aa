#include "common/tinygpu/timing/chip_places.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tinygpu {

std::vector<ChipPlace> chip_places(uint32_t sms, uint32_t gpcs, uint32_t cpcs_of_gpc) {
  gpcs = std::max(1u, gpcs);
  cpcs_of_gpc = std::max(1u, cpcs_of_gpc);
  std::vector<ChipPlace> places(sms);
  for (uint32_t sm = 0; sm < sms; ++sm) {
    const uint32_t tpc = sm / 2, gpc = tpc % gpcs;
    places[sm] = {gpc, tpc / gpcs % cpcs_of_gpc * gpcs + gpc, gpc % 2};
  }
  return places;
}

std::vector<uint32_t> hand_out_order(const std::vector<ChipPlace>& places, uint64_t ctas) {
  std::vector<uint32_t> order(places.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [](uint32_t sm) { return std::make_tuple(sm % 2, sm); });
  const auto last = order.begin() + std::ptrdiff_t(std::min<uint64_t>(ctas, order.size()));
  std::ranges::sort(order.begin(), last, {}, [&](uint32_t sm) { return std::make_tuple(places[sm].gpc, sm); });
  return order;
}

}  // namespace tinygpu
