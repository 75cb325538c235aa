// ---- The multiplication of 32 bytes of K, of operands with block scales.
//
// kScales scales of a row belong to 32 bytes of it. Four neighbours of 128 rows are a chunk of 512 bytes, as
// tcgen05.cp.32x128b.warpx4 brings it (common/layout/scaled_instruction_descriptor.h). In memory the chunks of 128 rows
// lie one behind the other along K; TMA loads those of a block with the block. They go to Tensor Memory when it has
// landed, to columns of its stage: MMAs may still read those of the block before.

constexpr uint32_t kChunks = kBlockBytes / 32 * kScales / 4;         // of a block, of 128 rows
constexpr uint32_t kChunksA = kRows / 128, kChunksB = kTileN / 128;  // of this CTA's rows of A; of all columns of B
constexpr uint32_t kScaleTraffic = (kChunksA + kChunksB) * kChunks * layout::kScaleChunk;
constexpr uint32_t kScaleBytes = layout::ceil_div(kScaleTraffic, 1024u) * 1024;  // so that the next stage is aligned
constexpr uint32_t kScaleColumns = (kChunksA + kChunksB) * kChunks * 4;
static_assert(kBlockBytes / 32 * kScales % 4 == 0, "a block has whole chunks of scales");
static_assert(kTileN % 128 == 0, "a tile's columns have whole chunks of scales");
static_assert(kRows % 128 == 0, "a CTA's M is 128");

struct ScaleMaps {
  CUtensorMap a, b;  // chunks as rows
};

/// Asks for the scales of a block, to `to` on. `row` and `column`: this CTA's first of A, and the tile's first of B.
__device__ inline void load_scales(const ScaleMaps& maps, const Tiles& tiles, uint32_t to, uint32_t row,
                                   uint32_t column, uint32_t block, uint32_t full) {
  const auto load = [&](const CUtensorMap* map, uint32_t group) {
    const int chunk = int((group * tiles.blocks + block) * kChunks);
    if constexpr (kPair == 2)
      tensor_load_2d_pair(to, map, 0, chunk, full);
    else
      tensor_load_2d(to, map, 0, chunk, full);
    to += kChunks * layout::kScaleChunk;
  };
#pragma unroll
  for (uint32_t i = 0; i < kChunksA; ++i) load(&maps.a, row / 128 + i);
#pragma unroll
  for (uint32_t i = 0; i < kChunksB; ++i) load(&maps.b, column / 128 + i);
}

/// 32 rows of 16 bytes below each other.
constexpr uint64_t kChunkSource = layout::smem_descriptor({.element = layout::Element::e4m3,
                                                           .major = layout::Major::k,
                                                           .swizzle = layout::Swizzle::none,
                                                           .leading = 16,
                                                           .stride = 128});

/// From shared memory to `columns` of Tensor Memory on: A's chunks of each 128 rows; then of each chunk along K B's
/// for all columns beside each other, as one MMA reads them.
__device__ inline void copy_scales(uint32_t columns, uint32_t from) {
  tcgen05_fence_after_thread_sync();  // behind the wait for the block, and so behind the MMAs that read these columns
                                      // before
  const auto copy = [&](uint32_t to, uint32_t chunk) {
    tcgen05_cp<CpShape::r32x128b_warpx4, CpFrom::bytes, int(kPair)>(
        columns + to * 4, layout::at_address(kChunkSource, from + chunk * layout::kScaleChunk));
  };
#pragma unroll
  for (uint32_t i = 0; i < kChunksA * kChunks; ++i) copy(i, i);
#pragma unroll
  for (uint32_t group = 0; group < kChunksB; ++group)
#pragma unroll
    for (uint32_t i = 0; i < kChunks; ++i)
      copy(kChunksA * kChunks + i * kChunksB + group, (kChunksA + group) * kChunks + i);
}

constexpr uint32_t kInstruction = layout::scaled_instruction_descriptor({.kind = kScaledKind,
                                                                         .a = kElement,
                                                                         .b = kElement,
                                                                         .m = kPair * 128,
                                                                         .n = kTileN,
                                                                         .ue4m3 = kScales == 4,
                                                                         .cta_group = kPair});

/// `step`: of the block; `band`: of this CTA's rows; `columns`: where the block's scales are.
__device__ inline void multiply_step(uint32_t d, uint64_t a, uint64_t b, uint32_t step, uint32_t band, uint32_t columns,
                                     bool accumulate) {
  // Four scales to a chunk: which chunk, and from which byte of its cells on.
  const uint32_t chunk = step * kScales / 4, id = step * kScales % 4;
  const uint32_t instruction = layout::with_scales(kInstruction, id, id);
  const uint32_t of_a = columns + (band * kChunks + chunk) * 4,
                 of_b = columns + (kChunksA * kChunks + chunk * kChunksB) * 4;
  if constexpr (kScaledKind == layout::ScaledKind::mxf8f6f4)
    tcgen05_mma_mxf8f6f4<kPair>(d, a, b, instruction, of_a, of_b, accumulate);
  else if constexpr (kScaledKind == layout::ScaledKind::mxf4)
    tcgen05_mma_mxf4<kPair>(d, a, b, instruction, of_a, of_b, accumulate);
  else
    tcgen05_mma_mxf4nvf4<kPair>(d, a, b, instruction, of_a, of_b, accumulate);
}

ScaleMaps scale_maps(const Problem& p) {
  const auto map = [&](uint8_t* data, uint32_t rows) {
    const uint32_t blocks = layout::ceil_div(p.k * uint32_t(sizeof(In)), kBlockBytes);
    return matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, data, layout::ceil_div(rows, 128u) * blocks * kChunks, 128,
                      kChunks, 128, CU_TENSOR_MAP_SWIZZLE_NONE);
  };
  return {map(p.a_scales, p.m), map(p.b_scales, p.n)};
}
