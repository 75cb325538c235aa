// How the lanes of an access to shared memory lie, relative to lane 0's. An instruction's lanes mostly lie as they did
// last time: what follows from that is worked out once.
#pragma once
#include "common/tinygpu/isa/lanes.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace tinygpu::isa {

/// What an access to shared memory takes of a sub-partition's way there, in cycles: see Turn::shared().
struct SharedCharge {
  int32_t collect = 0;            // registers first: the address, and a store's words;
  int32_t before_banks = 0;       // behind so many of them
  int32_t banks = 0, passes = 0;  // the banks, and a pass of the SM's port for each, which takes less of it
  int32_t result = 0;             // a load's values are there so long after the first pass
  SharedCharge() = default;
  /// Of `words` of 32 bits a lane; `latency`: of the first of them, in one pass.
  SharedCharge(const MemoryTiming& t, uint32_t passes, uint32_t words, bool writes, uint32_t latency);
};

struct LanePattern {
  alignas(64) int32_t distance[32] = {};  // bytes from lane 0
  uint32_t key = 0;                       // see key_of()
  uint32_t odd = 0;                       // bits of lane 0's offset, one of which makes some lane misaligned
  uint32_t passes = 0, ideal = 0;         // of the banks, and without conflicts
  SharedCharge charge;
  bool dense = false;         // lane after lane, without gaps
  int64_t low = 0, span = 0;  // least distance, and bytes from there to behind the last lane

  /// Of an access of `bytes` a lane whose lane 0 is at offset `first`: what the count of passes depends on beside the
  /// distances. Where lane 0's word lies does not matter: that names the banks anew.
  static uint32_t key_of(uint32_t bytes, bool load, uint64_t first) {
    return bytes << 3 | uint32_t(load) << 2 | uint32_t(first & 3);
  }
  /// Lanes with these addresses lie so.
  bool fits(const uint32_t* address) const;
  bool fits(const uint64_t* address) const;
};

/// The patterns met last. An instruction points to the one that it met itself; the same pattern is there once, since
/// few patterns are what most instructions share, and few lines of the host's cache.
class LanePatterns {
 public:
  LanePatterns(const MemoryTiming& timing, uint32_t latency) : timing_(timing), latency_(latency) {}
  /// The pattern that `op` met, if any.
  const LanePattern& met_by(const Op& op) const { return patterns_[hint_[slot_of(op)]]; }
  /// The pattern of an access of `op`, now remembered. Null: the lanes are further apart than any shared memory.
  const LanePattern* learn(const Op& op, const uint32_t* address, uint32_t first, uint32_t bytes, bool load);
  const LanePattern* learn(const Op& op, const uint64_t* address, uint32_t first, uint32_t bytes, bool load);

 private:
  static constexpr size_t kPatterns = 64, kHints = 256;
  static size_t slot_of(const Op& op) { return reinterpret_cast<uintptr_t>(&op) / sizeof(Op) % kHints; }
  template <class T>
  const LanePattern* learn_from(const Op& op, const T* address, uint32_t first, uint32_t bytes, bool load);
  const MemoryTiming& timing_;
  const uint32_t latency_;  // of a load
  LanePattern patterns_[kPatterns];
  uint8_t hint_[kHints] = {};
  size_t next_ = 0;
};

#ifdef __AVX512F__
inline bool LanePattern::fits(const uint32_t* address) const {
  const __m512i zero = _mm512_set1_epi32(int(address[0]));
  const auto differ = [&](int i) {
    return _mm512_cmpneq_epi32_mask(_mm512_sub_epi32(_mm512_loadu_si512(address + i), zero),
                                    _mm512_load_si512(distance + i));
  };
  return (differ(0) | differ(16)) == 0;
}
inline bool LanePattern::fits(const uint64_t* address) const {
  const __m512i zero = _mm512_set1_epi64(int64_t(address[0]));
  const auto differ = [&](int i) {
    const __m256i narrow = _mm256_load_si256(reinterpret_cast<const __m256i*>(distance + i));
    return _mm512_cmpneq_epi64_mask(_mm512_sub_epi64(_mm512_loadu_si512(address + i), zero),
                                    _mm512_maskz_cvtepi32_epi64(0xff, narrow));
  };
  return (differ(0) | differ(8) | differ(16) | differ(24)) == 0;
}
#else
inline bool LanePattern::fits(const uint32_t* address) const {
  uint32_t differ = 0;
  for (int i = 0; i < 32; ++i) differ |= (address[i] - address[0]) ^ uint32_t(distance[i]);
  return differ == 0;
}
inline bool LanePattern::fits(const uint64_t* address) const {
  uint64_t differ = 0;
  for (int i = 0; i < 32; ++i) differ |= (address[i] - address[0]) ^ uint64_t(int64_t(distance[i]));
  return differ == 0;
}
#endif

}  // namespace tinygpu::isa
