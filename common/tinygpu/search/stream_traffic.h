// What the clusters of a stream-K kernel take of device memory. Each begins its share at another place of K, so that
// those of a row of tiles ask for a block of A at different times. Where A and B are larger than L2, it may have gone.
#pragma once
#include "common/tinygpu/search/legality.h"

namespace tinygpu::search {

/// Shares of the bytes that the clusters load.
struct StreamTraffic {
  double fresh = 0;   // those that L2 has lost, or not had
  double shared = 0;  // those that another cluster asks for at about the same time
};

/// In the steady state of launches behind one another. `keeps`: bytes of L2, which loses what came first.
StreamTraffic stream_traffic(const Problem& problem, const Point& p, uint32_t clusters, double keeps);

}  // namespace tinygpu::search
