// Where an SM lies on the chip: its GPC, the CPC of that GPC (some call it so: three TPCs of two SMs that share a way
// to L2), and the half of the chip. Numbers of a general chip; %smid of an H200 is dealt out so in the main (measured
// with clusters of 16, whose %smid it tells: TPC i lies in GPC i % 8 as long as each of them has one more).
#pragma once
#include <cstdint>
#include <vector>

namespace tinygpu {

struct ChipPlace {
  uint32_t gpc, cpc;  // both of the whole chip
  uint32_t half;
};

/// SMs in the order in which a grid of `ctas` CTAs without clusters is handed out to a chip that is idle. The CTAs are
/// spread over TPCs, one each as long as there are free ones; and those that follow each other come to one GPC (an
/// H200: %smid of 33, 66, 88, 99, 120 and 132 CTAs, 2026-11-23; which GPC is first, and eight SMs that come before all,
/// differ).
std::vector<uint32_t> hand_out_order(const std::vector<ChipPlace>& places, uint64_t ctas);

/// The SMs of each of `clusters` clusters of `size` CTAs, as an idle chip is given them: clusters come to GPCs in
/// turns, and all SMs of one lie in one GPC (PTX ISA, cluster of CTAs). Fewer where GPCs have no more room; on a chip
/// none of whose GPCs is so large, neighbours.
std::vector<std::vector<uint32_t>> cluster_places(const std::vector<ChipPlace>& places, uint32_t size,
                                                  uint32_t clusters);

/// The places of `sms` SMs, by %smid. GPCs take TPCs in turns, and within a GPC its CPCs do; halves have GPCs in turns.
std::vector<ChipPlace> chip_places(uint32_t sms, uint32_t gpcs, uint32_t cpcs_of_gpc);

}  // namespace tinygpu
