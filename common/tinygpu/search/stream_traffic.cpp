#include "common/tinygpu/search/stream_traffic.h"

#include <algorithm>
#include <vector>

namespace tinygpu::search {
namespace {

/// Steps of all clusters that are looked at; longer kernels are looked at in longer steps.
constexpr uint64_t kSteps = 8192;

/// A part of A or B that a cluster loads in a step.
struct Piece {
  double brought = -1e30;  // bytes that had come from device memory before it
  int64_t asked = -2;      // the step in which it was loaded last
};

}  // namespace

StreamTraffic stream_traffic(const Problem& problem, const Point& p, uint32_t clusters, double keeps) {
  const uint32_t rows = tile_rows(problem, p), columns = tile_columns(problem, p);
  const uint64_t each = blocks(problem, p), all = uint64_t(rows) * columns * each;
  clusters = uint32_t(std::min<uint64_t>(clusters, all));
  const uint64_t step = (all + kSteps - 1) / kSteps;  // in blocks
  const uint64_t parts = (each + step - 1) / step;    // of K
  const double a_bytes = double(std::min<uint32_t>(p.m * p.cluster_m, problem.m)) * p.block * double(step),
               b_bytes = double(std::min<uint32_t>(p.n * p.cluster_n, problem.n)) * p.block * double(step);
  std::vector<Piece> a(rows * parts), b(columns * parts);
  double fresh = 0, shared = 0, asked = 0;
  int64_t now = 0;
  const auto load = [&](Piece& piece, double bytes) {
    asked += bytes;
    if (fresh - piece.brought > keeps) {
      piece.brought = fresh;
      fresh += bytes;
    } else if (now - piece.asked <= 1) {
      shared += bytes;
    }
    piece.asked = now;
  };
  const auto launch = [&] {
    for (uint64_t at = 0; at * clusters < all; at += step, ++now)
      for (uint64_t c = 0; c < clusters; ++c) {
        const uint64_t block = all * c / clusters + at;
        if (block >= all * (c + 1) / clusters) continue;
        const ClusterTile tile = cluster_tile(problem, p, uint32_t(block / each));
        const uint64_t part = block % each / step;
        load(a[tile.row * parts + part], a_bytes);
        load(b[tile.column * parts + part], b_bytes);
      }
  };
  launch();
  const double before = fresh;
  shared = asked = 0;
  now += 2;
  launch();
  return {(fresh - before) / asked, shared / asked};
}

}  // namespace tinygpu::search
