#include "common/tinygpu/engines/lsu/lane_layout.h"

#include <algorithm>
#include <type_traits>

#include "common/tinygpu/engines/lsu/bank_conflicts.h"

namespace tinygpu {

SharedCost::SharedCost(const MemoryTiming& t, uint32_t passes, uint32_t words, bool writes, uint32_t latency)
    : collect(int32_t(std::max<int64_t>(1, t.collect_fixed + t.collect_word * (writes ? words : 1)))),
      before_banks(writes ? collect - 1 : 0),
      banks(int32_t(passes * t.pass_cycles)),
      passes(int32_t(passes)),
      result(int32_t(latency + banks - t.pass_cycles + (writes ? 0 : (words - 1) * t.word_latency))) {}

template <class T>
const LaneLayout* LaneLayouts::learn(const Op& op, const T* address, uint32_t first, uint32_t bytes, bool load) {
  const uint32_t key = LaneLayout::key_of(bytes, load, first);
  uint8_t& hint = hint_[slot_of(op)];
  for (size_t i = 0; i < kLayouts; ++i)
    if (layouts_[i].key == key && layouts_[i].fits(address)) {
      hint = uint8_t(i);
      return &layouts_[i];
    }
  LaneLayout l;
  uint32_t offset[32], bits = 0;
  int32_t low = 0, high = 0;
  l.coalesced = true;
  for (int i = 0; i < 32; ++i) {
    const auto distance = std::make_signed_t<T>(address[i] - address[0]);
    l.distance[i] = int32_t(distance);
    if (l.distance[i] != distance) return nullptr;
    low = std::min(low, l.distance[i]);
    high = std::max(high, l.distance[i]);
    bits |= uint32_t(distance);
    l.coalesced &= uint32_t(distance) == uint32_t(i) * bytes;
    offset[i] = first + uint32_t(distance);
  }
  l.key = key;
  l.alignment = (bits & (bytes - 1)) ? ~0u : bytes - 1;
  const BankPasses banks = bank_passes(offset, 0xffffffffu, bytes, load);
  l.passes = banks.passes;
  l.ideal = l.coalesced && bytes >= 4 ? bytes / 4 : banks.ideal;
  l.cost =
      SharedCost(timing_, timing_.conflicts_free ? l.ideal : l.passes, bytes <= 4 ? 1 : bytes / 4, !load, latency_);
  l.low = low;
  l.span = int64_t(high) - low + bytes;
  hint = uint8_t(next_++ % kLayouts);
  layouts_[hint] = l;
  return &layouts_[hint];
}

template const LaneLayout* LaneLayouts::learn(const Op&, const uint32_t*, uint32_t, uint32_t, bool);
template const LaneLayout* LaneLayouts::learn(const Op&, const uint64_t*, uint32_t, uint32_t, bool);

}  // namespace tinygpu
