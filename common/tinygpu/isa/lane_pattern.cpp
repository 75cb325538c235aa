#include "common/tinygpu/isa/lane_pattern.h"

#include <algorithm>
#include <type_traits>

#include "common/tinygpu/isa/bank_passes.h"

namespace tinygpu::isa {

SharedCharge::SharedCharge(const MemoryTiming& t, uint32_t passes, uint32_t words, bool writes, uint32_t latency)
    : collect(int32_t(std::max<int64_t>(1, t.collect_fixed + t.collect_word * (writes ? words : 1)))),
      before_banks(writes ? collect - 1 : 0),
      banks(int32_t(passes * t.pass_cycles)),
      passes(int32_t(passes)),
      result(int32_t(latency + banks - t.pass_cycles + (writes ? 0 : (words - 1) * t.word_latency))) {}

template <class T>
const LanePattern* LanePatterns::learn_from(const Op& op, const T* address, uint32_t first, uint32_t bytes, bool load) {
  const uint32_t key = LanePattern::key_of(bytes, load, first);
  uint8_t& hint = hint_[slot_of(op)];
  for (size_t i = 0; i < kPatterns; ++i)
    if (patterns_[i].key == key && patterns_[i].fits(address)) {
      hint = uint8_t(i);
      return &patterns_[i];
    }
  LanePattern p;
  uint32_t offset[32], bits = 0;
  int32_t low = 0, high = 0;
  p.dense = true;
  for (int i = 0; i < 32; ++i) {
    const auto distance = std::make_signed_t<T>(address[i] - address[0]);
    p.distance[i] = int32_t(distance);
    if (p.distance[i] != distance) return nullptr;
    low = std::min(low, p.distance[i]);
    high = std::max(high, p.distance[i]);
    bits |= uint32_t(distance);
    p.dense &= uint32_t(distance) == uint32_t(i) * bytes;
    offset[i] = first + uint32_t(distance);
  }
  p.key = key;
  p.odd = (bits & (bytes - 1)) ? ~0u : bytes - 1;
  const Passes passes = passes_of(offset, 0xffffffffu, bytes, load);
  p.passes = passes.passes;
  p.ideal = p.dense && bytes >= 4 ? bytes / 4 : passes.ideal;
  p.charge = SharedCharge(timing_, p.passes, bytes <= 4 ? 1 : bytes / 4, !load, latency_);
  p.low = low;
  p.span = int64_t(high) - low + bytes;
  hint = uint8_t(next_++ % kPatterns);
  patterns_[hint] = p;
  return &patterns_[hint];
}

const LanePattern* LanePatterns::learn(const Op& op, const uint32_t* address, uint32_t first, uint32_t bytes,
                                       bool load) {
  return learn_from(op, address, first, bytes, load);
}
const LanePattern* LanePatterns::learn(const Op& op, const uint64_t* address, uint32_t first, uint32_t bytes,
                                       bool load) {
  return learn_from(op, address, first, bytes, load);
}

}  // namespace tinygpu::isa
