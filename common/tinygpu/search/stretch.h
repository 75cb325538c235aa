// A product that was run with fewer blocks of K than it has: what those take that it lacks. Behind the first blocks of
// a tile, when its ring has been filled and emptied, each block takes as long as the one before; when the MMAs of the
// run completed (observe/mma_ends.h) tells how long, for each tile of each SM.
#pragma once
#include <cstdint>
#include <istream>
#include <vector>

namespace tinygpu::search {

/// The MMAs that one warpgroup of an SM issued: when each completed, in order.
struct MmaSeries {
  uint32_t sm = 0;
  std::vector<uint64_t> ends;
};
/// Lines "SM WARPGROUP TIME TIME …".
std::vector<MmaSeries> read_mma_ends(std::istream& in);

struct Stretch {
  uint32_t tiles = 0;    // of the run, counted for each warpgroup that multiplies a part of one
  uint32_t blocks = 0;   // that a tile has in the run
  uint32_t from = 0;     // as long as the next one, those behind so many of a tile
  uint32_t missing = 0;  // blocks of each tile
  double most = 0;       // cycles of a block, beyond which the run says nothing; 0: any
};

struct Stretched {
  double longer = 0;    // cycles that the run would take more
  bool steady = false;  // blocks took the same: early and late in a tile, and in an SM's first tile and those behind it
};
Stretched stretched(const std::vector<MmaSeries>& run, const Stretch& s);

/// Blocks take the same where their cycles differ by so much, as a part.
constexpr double kSteady = 0.01;

}  // namespace tinygpu::search
