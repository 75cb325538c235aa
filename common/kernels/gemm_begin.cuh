// ---- What the kernel and its host side share: the problem, the walk over the tiles, small conversions.

using namespace gen5::ptx;
namespace layout = gen5::layout;

constexpr uint32_t kCtas = kPair * kClusterM * kClusterN;  // of a cluster
constexpr bool kStream = kSchedule == Schedule::stream_k;
static_assert(!kStream || kSplit == 1, "stream-K splits by itself");
constexpr bool kAdds = (kSplit > 1 && !kMeets) || kStream;  // parts of K are added up in D

/// D[m × n] = A[m × k] · B[n × k]ᵀ on device memory, rows contiguous. k counts In, which may be two elements.
struct Problem {
  In *a, *b;
  Out* d;
  uint32_t m, n, k;
  uint32_t most = 0;  // cluster tiles that are done, the others are left out; 0: all
  uint8_t *a_scales = nullptr, *b_scales = nullptr;
  void* workspace = nullptr;  // workspace_bytes() of zeros
};

/// A place in a ring. Whoever empties waits for `parity`, whoever fills for the opposite one, so that in the first
/// round nothing has to be emptied.
template <uint32_t Stages>
struct Ring {
  uint32_t stage = 0, parity = 0;
  __device__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ void skip(uint32_t count) {
    const uint32_t to = stage + count;
    stage = to % Stages;
    parity ^= to / Stages & 1;
  }
};

/// A cluster's tile: its first row and column in D, and the blocks of K that are its own.
struct Tile {
  uint32_t row, column, first_block, last_block;
  bool whole;  // all of K, so that nothing is added
  [[maybe_unused]] __device__ uint32_t blocks() const { return last_block - first_block; }
};

/// The tiles in bands of kBand along M, each walked along N, so that CTAs that run together share rows of A and columns
/// of B in L2. Where K is split the parts of a tile follow each other.
///
/// Stream-K: the blocks of all tiles lie one behind the other, and each cluster has an equal share of them. So all end
/// at the same time, whatever the number of tiles; where a share ends within a tile, the next cluster goes on.
struct Tiles {
  uint32_t rows, columns, blocks, count;
  __host__ __device__ Tiles(uint32_t m, uint32_t n, uint32_t k, uint32_t most)
      : rows(layout::ceil_div(m, kPair * kClusterM * kRows)),
        columns(layout::ceil_div(n, kClusterN * kTileN)),
        blocks(layout::ceil_div(k * uint32_t(sizeof(In)), kBlockBytes)),
        count(rows * columns * kSplit) {
    // Parts that meet are all there.
    if (most) count = min(count, kMeets ? layout::ceil_div(most, kSplit) * kSplit : most);
  }
  /// The first block of a cluster's share.
  __device__ uint32_t share(uint32_t cluster) const {
    return uint32_t(uint64_t(count) * blocks * cluster / (gridDim.x / kCtas));
  }
  /// A cluster walks from first() by stride() to end(), which it does not reach.
  __device__ uint32_t first() const { return kStream ? 0 : blockIdx.x / kCtas; }
  __device__ uint32_t stride() const { return kStream ? 1 : gridDim.x / kCtas; }
  __device__ uint32_t end() const {
    if constexpr (kStream) {
      const uint32_t cluster = blockIdx.x / kCtas, from = share(cluster), to = share(cluster + 1);
      return to > from ? (to - 1) / blocks - from / blocks + 1 : 0;
    } else {
      return count;
    }
  }
  __device__ Tile operator[](uint32_t t) const {
    const uint32_t part = layout::ceil_div(blocks, kSplit);
    uint32_t tile = t / kSplit, from = t % kSplit * part, to = min(from + part, blocks);
    if constexpr (kStream) {
      const uint32_t cluster = blockIdx.x / kCtas, begin = share(cluster);
      tile = begin / blocks + t;
      from = t == 0 ? begin % blocks : 0;
      to = min(share(cluster + 1) - tile * blocks, blocks);
    }
    const layout::TileCoordinate at = layout::banded_tile(tile, rows, columns, kBand);
    return {at.m * kPair * kClusterM * kRows, at.n * kClusterN * kTileN, from, to, from == 0 && to == blocks};
  }
};

/// Two results rounded to 16 bits, the first in the low half.
__device__ inline uint32_t narrow_pair(float low, float high) {
  uint32_t pair;
  if constexpr (kOutType == CU_TENSOR_MAP_DATA_TYPE_FLOAT16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// The map of a matrix, rows contiguous, in boxes.
CUtensorMap matrix_map(CUtensorMapDataType type, uint32_t bytes, void* data, uint64_t rows, uint64_t columns,
                       uint32_t box_rows, uint32_t box_columns, CUtensorMapSwizzle swizzle) {
  CUtensorMap map{};
  const cuuint64_t size[2] = {columns, rows}, stride[1] = {columns * bytes};
  const cuuint32_t box[2] = {box_columns, box_rows}, step[2] = {1, 1};
  CHECK(encode_tiled()(&map, type, 2, data, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                       CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

/// A cluster for each tile, or as many as run at once. Parts of K are added to zeros.
template <class Kernel, class Arguments>
void launch_clusters(Kernel kernel, const Arguments& args, uint32_t threads, uint32_t bytes, const Problem& p) {
  if constexpr (kAdds) CHECK(cudaMemsetAsync(p.d, 0, size_t(p.m) * p.n * sizeof(Out)));
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = kCtas;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
  const Tiles tiles(p.m, p.n, p.k, p.most);
  uint32_t clusters = kStream ? tiles.count * tiles.blocks : tiles.count;
  if constexpr (kSchedule == Schedule::persistent || kStream) {
    static const uint32_t at_once = [&] {
      int sms = 0, active = 0;
      CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
      config.gridDim = dim3(uint32_t(sms) / kCtas * kCtas);
      CHECK(cudaOccupancyMaxActiveClusters(&active, kernel, &config));
      return std::min(uint32_t(active), uint32_t(sms) / kCtas);
    }();
    clusters = std::min(clusters, at_once);
  }
  config.gridDim = dim3(clusters * kCtas);
  CHECK(cudaLaunchKernelEx(&config, kernel, args));
}
