#include "common/tinygpu/engines/lsu/bank_conflicts.h"

#include <algorithm>

#include "common/tinygpu/base/for_lanes.h"

namespace tinygpu {
namespace {

/// Each lane names a word, and no bank is asked for two: the commonest access.
bool no_conflict(const uint32_t* offset, uint32_t mask) {
  uint32_t word[32], used = 0, conflict = 0;
  for_lanes(mask, [&](int i) {
    const uint32_t a = offset[i] / 4, bank = a % 32;
    if (!(used >> bank & 1)) word[bank] = a;
    used |= 1u << bank;
    conflict |= word[bank] ^ a;
  });
  return !conflict;
}

/// Every two lanes whose numbers differ in `bit` alone, and that both take part, name one place.
bool pairs_meet(const uint32_t* offset, uint32_t mask, int bit) {
  bool meet = true;
  for_lanes(mask, [&](int i) { meet &= !(mask >> (i ^ bit) & 1) || offset[i] == offset[i ^ bit]; });
  return meet;
}

}  // namespace

uint32_t busiest_bank(const uint32_t* offset, uint32_t mask, uint32_t words) {
  if (words == 1 && no_conflict(offset, mask)) return 1;
  uint32_t seen[32][32], count[32] = {}, most = 1;
  for_lanes(mask, [&](int i) {
    for (uint32_t k = 0; k < words; ++k) {
      const uint32_t word = offset[i] / 4 + k, bank = word % 32;
      bool known = false;
      for (uint32_t n = 0; n < count[bank]; ++n) known |= seen[bank][n] == word;
      if (!known && count[bank] < 32) seen[bank][count[bank]++] = word;
      most = std::max(most, count[bank]);
    }
  });
  return most;
}

// Up to 4 bytes a lane are one request; 8 bytes are two of 16 lanes, 16 bytes four of 8. A load whose neighbours, or
// next but one, meet two by two needs half as many. A request costs a pass even if none of its lanes takes part. All of
// it measured on an H200.
BankPasses bank_passes(const uint32_t* offset, uint32_t mask, uint32_t bytes, bool load) {
  if (bytes <= 4) return {busiest_bank(offset, mask, 1), 1};
  uint32_t lanes = bytes <= 8 ? 16 : 8;
  if (load && (pairs_meet(offset, mask, 1) || pairs_meet(offset, mask, 2))) lanes *= 2;
  uint32_t passes = 0;
  for (uint32_t first = 0; first < 32; first += lanes) {
    const uint32_t request = lanes == 32 ? ~0u : ((1u << lanes) - 1) << first;
    passes += busiest_bank(offset, mask & request, bytes / 4);
  }
  return {passes, 32 / lanes};
}

}  // namespace tinygpu
