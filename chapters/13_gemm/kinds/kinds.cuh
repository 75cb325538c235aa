// What the steps of the narrow kinds have that those of bf16 have not: operands of one byte or half of one, and block
// scales, which come with every block of K and go through shared memory into Tensor Memory.
//
//   D[m × n] = A[m × k] · B[n × k]ᵀ      A, B: e4m3, or e2m1 two to a byte, k contiguous      D: f32 or bf16
//
// A block of K stays 128 bytes, one row of the 128-byte swizzle, and four instructions of 32 bytes: 128 elements of
// e4m3, 256 of e2m1. Scales lie in chunks of 512 bytes, 128 rows by four scales along K (chapter 08).
#pragma once
#include "chapters/13_gemm/persistent.cuh"
#include "common/layout/scaled_instruction_descriptor.h"
#include "common/ptx/tcgen05_cp.h"
#include "common/ptx/tcgen05_mma_scaled.h"

namespace gemm::kinds {

using layout::Element;
using layout::ScaledKind;

/// kind::f8f6f4, no scales.
struct Fp8 {
  static constexpr Element kElement = Element::e4m3;
  static constexpr uint32_t kBlockK = 128;  // elements in 128 bytes
  static constexpr uint32_t kChunks = 0;    // of scales along K, of one block
  static constexpr uint32_t kWideN = 256;   // the widest tile of which Tensor Memory has room for two
};
/// kind::mxf8f6f4: a power of two for 32 elements. Two accumulators of 256 columns would leave none for scales.
struct Mxf8 {
  static constexpr Element kElement = Element::e4m3;
  static constexpr ScaledKind kKind = ScaledKind::mxf8f6f4;
  static constexpr uint32_t kBlockK = 128, kChunks = 1, kWideN = 192;
};
/// kind::mxf4nvf4: an e4m3 number without sign for 16 elements.
struct Nvf4 {
  static constexpr Element kElement = Element::e2m1;
  static constexpr ScaledKind kKind = ScaledKind::mxf4nvf4;
  static constexpr uint32_t kBlockK = 256, kChunks = 4, kWideN = 192;
};

constexpr uint32_t kBlockBytes = 128;  // of a row
constexpr uint32_t kStepBytes = 32;    // of one instruction
constexpr uint32_t kChunk = layout::kScaleChunk;

/// Scales of B: chunks side by side for 128 columns each. A tile of 192 begins in the middle of one, and needs two.
template <uint32_t TileN>
constexpr uint32_t kAcross = layout::ceil_div(TileN, 128);
/// Columns of Tensor Memory that the scales of one block take: four for each chunk.
template <class Kind, uint32_t TileN>
constexpr uint32_t kScaleColumns = 4 * Kind::kChunks*(1 + kAcross<TileN>);
/// They have two places there, so that the next block's can come while this one's are read.
constexpr uint32_t kScalePlaces = 2;

/// What a CTA allocates: its accumulators, behind them the scales; a power of two.
template <class Kind, uint32_t TileN>
__host__ __device__ constexpr uint32_t columns_for(uint32_t accumulators) {
  const uint32_t needed = accumulators * TileN + kScalePlaces * kScaleColumns<Kind, TileN>;
  return needed <= 128 ? 128 : needed <= 256 ? 256 : 512;
}

/// gemm::Arguments, whose maps describe bytes here, and the scales' maps: a row is the chunks of 128 rows of the
/// matrix.
struct ScaledArguments : Arguments {
  CUtensorMap a_scales_map, b_scales_map;
};

/// A stage of the ring: a block of A and B (Rows of it: a pair's CTA has half), and its scales.
template <class Kind, uint32_t TileN, uint32_t Rows = TileN>
struct alignas(1024) Stage {
  uint8_t a[kTileM * kBlockBytes], b[Rows * kBlockBytes];
  uint8_t a_scales[Kind::kChunks * kChunk], b_scales[kAcross<TileN> * Kind::kChunks * kChunk];
  static constexpr uint32_t kBytes = (kTileM + Rows) * kBlockBytes + (1 + kAcross<TileN>)*Kind::kChunks * kChunk;
};
template <uint32_t TileN, uint32_t Rows>
struct alignas(1024) Stage<Fp8, TileN, Rows> {
  uint8_t a[kTileM * kBlockBytes], b[Rows * kBlockBytes];
  static constexpr uint32_t kBytes = (kTileM + Rows) * kBlockBytes;
};

/// Asks for a block. `row`, `b_row`: its first rows of A and B; `column`: the tile's first column of D. `full` counts
/// kBytes. Pair: it lies in the even CTA.
template <class Kind, uint32_t TileN, bool kPair = false, class S>
__device__ void load_block(S& stage, const ScaledArguments& args, uint32_t block, uint32_t row, uint32_t b_row,
                           uint32_t column, uint32_t full) {
  const auto load = [&](uint8_t* to, const CUtensorMap& map, uint32_t x, uint32_t y) {
    if constexpr (kPair)
      tensor_load_2d_pair(shared_address(to), &map, x, y, full);
    else
      tensor_load_2d(shared_address(to), &map, x, y, full);
  };
  load(stage.a, args.a_map, block * kBlockBytes, row);
  load(stage.b, args.b_map, block * kBlockBytes, b_row);
  if constexpr (Kind::kChunks) {
    constexpr uint32_t kWords = Kind::kChunks * kChunk / 8;  // elements of the map are 8 bytes: a box has 256 at most
    load(stage.a_scales, args.a_scales_map, block * kWords, row / 128);
    load(stage.b_scales, args.b_scales_map, block * kWords, column / 128);
  }
}

/// A tile of A or B as TMA leaves it (gemm.cuh), and 32 lines of 16 bytes of scales below each other.
inline constexpr uint64_t kTile = layout::smem_descriptor(
    {.element = Element::e4m3, .major = layout::Major::k, .swizzle = layout::Swizzle::b128, .stride = 8 * kBlockBytes});
inline constexpr uint64_t kScaleSource = layout::smem_descriptor(
    {.element = Element::e4m3, .major = layout::Major::k, .swizzle = layout::Swizzle::none, .stride = 128});

/// Copies a block's scales to Tensor Memory at `scales`: A's chunks along K behind each other, then B's, those of the
/// same four scales side by side. The copies and the MMAs behind them keep their order.
template <class Kind, uint32_t TileN, int Ctas = 1, class S>
__device__ void copy_scales(uint32_t scales, const S& stage) {
  const auto copy = [](uint32_t to, const uint8_t* from) {
    tcgen05_cp<CpShape::r32x128b_warpx4, CpFrom::bytes, Ctas>(to,
                                                              layout::at_address(kScaleSource, shared_address(from)));
  };
#pragma unroll
  for (uint32_t c = 0; c < Kind::kChunks; ++c) {
    copy(scales + 4 * c, stage.a_scales + c * kChunk);
    for (uint32_t i = 0; i < kAcross<TileN>; ++i)
      copy(scales + 4 * (Kind::kChunks + c * kAcross<TileN> + i), stage.b_scales + (i * Kind::kChunks + c) * kChunk);
  }
}

/// Multiplies a block: four instructions, each 32 bytes further along the swizzled rows. `scales`: where copy_scales
/// put them. `column`: the tile's first column of D; its scale is at column % 128 of the first chunk.
template <class Kind, uint32_t TileN, int Ctas = 1, class S>
__device__ void multiply_block(uint32_t accumulator, const S& stage, uint32_t scales, uint32_t column, bool first) {
#pragma unroll
  for (uint32_t step = 0; step < kBlockBytes / kStepBytes; ++step) {
    const uint64_t a = layout::at_address(kTile, shared_address(stage.a) + step * kStepBytes);
    const uint64_t b = layout::at_address(kTile, shared_address(stage.b) + step * kStepBytes);
    const bool accumulate = !(first && step == 0);
    if constexpr (Kind::kChunks == 0) {
      constexpr uint32_t kInstruction = layout::instruction_descriptor({.kind = layout::Kind::f8f6f4,
                                                                        .a = Kind::kElement,
                                                                        .b = Kind::kElement,
                                                                        .m = Ctas * kTileM,
                                                                        .n = TileN,
                                                                        .cta_group = Ctas});
      tcgen05_mma_f8f6f4<Ctas>(accumulator, a, b, kInstruction, accumulate);
    } else {
      constexpr uint32_t kInstruction =
          layout::scaled_instruction_descriptor({.kind = Kind::kKind,
                                                 .a = Kind::kElement,
                                                 .b = Kind::kElement,
                                                 .m = Ctas * kTileM,
                                                 .n = TileN,
                                                 .ue4m3 = Kind::kKind == ScaledKind::mxf4nvf4,
                                                 .cta_group = Ctas});
      // A chunk has four scales of each row: those of four instructions, or of one. The id is the first one's.
      const uint32_t first_scale = step * Kind::kChunks, chunk = first_scale / 4, id = first_scale % 4;
      const uint32_t idesc = layout::with_scales(kInstruction, id, id), a_scales = scales + 4 * chunk,
                     b_scales = scales + 4 * (Kind::kChunks + chunk * kAcross<TileN>)+column % 128 / 32;
      if constexpr (Kind::kKind == ScaledKind::mxf8f6f4)
        tcgen05_mma_mxf8f6f4<Ctas>(accumulator, a, b, idesc, a_scales, b_scales, accumulate);
      else
        tcgen05_mma_mxf4nvf4<Ctas>(accumulator, a, b, idesc, a_scales, b_scales, accumulate);
    }
  }
}

// ---- Host

/// Calls f.operator()<Kind, Out, kStamped>() for the problem's kind and type, with stamps if there is a buffer for
/// them.
template <class F>
void for_kinds(const Problem& p, F&& f) {
  const auto with = [&]<class Kind, class Out>() {
    if (p.stamps)
      f.template operator()<Kind, Out, true>();
    else
      f.template operator()<Kind, Out, false>();
  };
  const auto of = [&]<class Kind>() {
    if (p.out == gen5::harness::Output::bf16)
      with.template operator()<Kind, __nv_bfloat16>();
    else
      with.template operator()<Kind, float>();
  };
  if (p.kind == gemm::Kind::fp8) of.template operator()<Fp8>();
  if (p.kind == gemm::Kind::mxf8) of.template operator()<Mxf8>();
  if (p.kind == gemm::Kind::nvf4) of.template operator()<Nvf4>();
}

/// The kernels' arguments: tensor maps for boxes of 128 rows of A and `b_rows` of B, and of their scales.
template <class Kind, uint32_t TileN>
ScaledArguments make_arguments(const Problem& p, uint32_t b_rows) {
  using gen5::harness::matrix_map;
  ScaledArguments args{};
  args.d_map = output_map(p);
  args.m = p.m;
  args.n = p.n;
  args.k = p.k;
  args.stamps = p.stamps;
  const uint32_t row_bytes = p.k * kBlockBytes / Kind::kBlockK;
  const auto bytes = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  args.a_map = matrix_map(bytes, 1, p.a, p.m, row_bytes, row_bytes, kTileM, kBlockBytes, CU_TENSOR_MAP_SWIZZLE_128B);
  args.b_map = matrix_map(bytes, 1, p.b, p.n, row_bytes, row_bytes, b_rows, kBlockBytes, CU_TENSOR_MAP_SWIZZLE_128B);
  if constexpr (Kind::kChunks) {
    const uint32_t words = layout::ceil_div(p.k * 4 * Kind::kChunks / Kind::kBlockK, 4) * kChunk / 8;
    const auto map = [&](void* scales, uint32_t rows, uint32_t box_rows) {
      return matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, scales, layout::ceil_div(rows, 128), words, words, box_rows,
                        Kind::kChunks * kChunk / 8, CU_TENSOR_MAP_SWIZZLE_NONE);
    };
    args.a_scales_map = map(p.a_scales, p.m, 1);
    args.b_scales_map = map(p.b_scales, p.n, kAcross<TileN>);
  }
  return args;
}

}  // namespace gemm::kinds
