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

std::vector<std::vector<uint32_t>> cluster_places(const std::vector<ChipPlace>& places, uint32_t size,
                                                  uint32_t clusters) {
  std::vector<std::vector<uint32_t>> gpcs, out;
  for (uint32_t sm = 0; sm < places.size(); ++sm) {
    gpcs.resize(std::max<size_t>(gpcs.size(), places[sm].gpc + 1));
    gpcs[places[sm].gpc].push_back(sm);
  }
  const size_t largest = std::ranges::max(gpcs, {}, &std::vector<uint32_t>::size).size();
  if (largest < size) {
    gpcs.resize(1);
    gpcs[0].resize(places.size());
    std::iota(gpcs[0].begin(), gpcs[0].end(), 0u);
  }
  for (size_t first = 0; first + size <= std::max(largest, gpcs[0].size()); first += size)
    for (const std::vector<uint32_t>& sms : gpcs)
      if (first + size <= sms.size() && out.size() < clusters)
        out.emplace_back(sms.begin() + std::ptrdiff_t(first), sms.begin() + std::ptrdiff_t(first + size));
  return out;
}

}  // namespace tinygpu
