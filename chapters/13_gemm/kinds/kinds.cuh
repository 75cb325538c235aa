// What the kernels of steps 5 to 8 know of the kind of their operands, and step 4 of the narrow kinds before them: how
// many elements a block of K has, how a block comes, and how it is multiplied. Block scales come with every block, and
// go through shared memory into Tensor Memory.
//
//   D[m × n] = A[m × k] · B[n × k]ᵀ      A, B: bf16, f16, e4m3, or e2m1 two to a byte, k contiguous      D: f32 or bf16
//
// A block of K is always 128 bytes, one row of the 128-byte swizzle, and four instructions of 32 bytes: 64 elements of
// bf16, 128 of e4m3, 256 of e2m1. Scales lie in chunks of 512 bytes, 128 rows by four scales along K (chapter 08).
#pragma once
#include "chapters/13_gemm/gemm.cuh"
#include "common/layout/scaled_instruction_descriptor.h"
#include "common/ptx/tcgen05_cp.h"
#include "common/ptx/tcgen05_mma_scaled.h"

namespace gemm {

using layout::Element;
using layout::ScaledKind;

/// kind::f16, no scales.
template <Element In>
struct F16 {
  static constexpr Element kElement = In;
  static constexpr layout::Kind kKind = layout::Kind::f16;
  static constexpr CUtensorMapDataType kMapType =
      In == Element::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  static constexpr uint32_t kBlockK = 64;      // elements in 128 bytes
  static constexpr uint32_t kMapColumns = 64;  // the same, counted as the tensor map counts
  static constexpr uint32_t kChunks = 0;       // of scales along K, of one block
  static constexpr uint32_t kWideN = 256;      // the widest tile of which Tensor Memory has room for two
};
/// kind::f8f6f4, no scales.
struct Fp8 {
  static constexpr Element kElement = Element::e4m3;
  static constexpr layout::Kind kKind = layout::Kind::f8f6f4;
  static constexpr CUtensorMapDataType kMapType = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  static constexpr uint32_t kBlockK = 128, kMapColumns = 128, kChunks = 0, kWideN = 256;
};
/// kind::mxf8f6f4: a power of two for 32 elements. Two accumulators of 256 columns would leave none for scales.
struct Mxf8 {
  static constexpr Element kElement = Element::e4m3;
  static constexpr ScaledKind kKind = ScaledKind::mxf8f6f4;
  static constexpr CUtensorMapDataType kMapType = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  static constexpr uint32_t kBlockK = 128, kMapColumns = 128, kChunks = 1, kWideN = 192;
};
/// kind::mxf4nvf4: an e4m3 number without sign for 16 elements. The map counts bytes.
struct Nvf4 {
  static constexpr Element kElement = Element::e2m1;
  static constexpr ScaledKind kKind = ScaledKind::mxf4nvf4;
  static constexpr CUtensorMapDataType kMapType = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  static constexpr uint32_t kBlockK = 256, kMapColumns = 128, kChunks = 4, kWideN = 192;
};

constexpr uint32_t kStages = 4;
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

/// And the scales' maps, of kinds that have scales: a row is the chunks of 128 rows of the matrix.
struct ScaledArguments : Arguments {
  CUtensorMap a_scales_map, b_scales_map;
};

/// A stage of the ring: a block of A and B (Rows of it: a pair's CTA has half), and its scales.
template <class Kind, uint32_t TileN, uint32_t Rows = TileN, bool kScaled = Kind::kChunks != 0>
struct alignas(1024) Stage {
  uint8_t a[kTileM * kBlockBytes], b[Rows * kBlockBytes];
  uint8_t a_scales[Kind::kChunks * kChunk], b_scales[kAcross<TileN> * Kind::kChunks * kChunk];
  static constexpr uint32_t kBytes = (kTileM + Rows) * kBlockBytes + (1 + kAcross<TileN>)*Kind::kChunks * kChunk;
};
template <class Kind, uint32_t TileN, uint32_t Rows>
struct alignas(1024) Stage<Kind, TileN, Rows, false> {
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
  load(stage.a, args.a_map, block * Kind::kMapColumns, row);
  load(stage.b, args.b_map, block * Kind::kMapColumns, b_row);
  if constexpr (Kind::kChunks) {
    constexpr uint32_t kWords = Kind::kChunks * kChunk / 8;  // elements of the map are 8 bytes: a box has 256 at most
    load(stage.a_scales, args.a_scales_map, block * kWords, row / 128);
    load(stage.b_scales, args.b_scales_map, block * kWords, column / 128);
  }
}

/// 32 lines of 16 bytes of scales below each other.
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

/// Where a CTA's scales are in Tensor Memory, for the thread that multiplies; nothing of a kind that has none.
template <class Kind, uint32_t TileN, int Ctas = 1>
struct Scales {
  uint32_t columns;  // behind the accumulators
  uint64_t* read;    // a barrier for each place: its MMAs have read it
  Ring<kScalePlaces> place = {};

  /// Copies a block's, and returns where to.
  template <class S>
  __device__ uint32_t copy(const S& stage) {
    const uint32_t to = columns + place.stage * kScaleColumns<Kind, TileN>;
    if constexpr (Kind::kChunks) {
      // The MMAs of the block before last have read what lies there.
      mbarrier_wait_parity(shared_address(&read[place.stage]), place.parity ^ 1);
      tcgen05_fence_after_thread_sync();
      copy_scales<Kind, TileN, Ctas>(to, stage);
    }
    return to;
  }
  /// Behind the MMAs that read them.
  __device__ void commit() {
    if constexpr (Kind::kChunks) {
      constexpr uint16_t kEven = 0b01;  // of a pair: the CTA that multiplies
      if constexpr (Ctas == 2)
        tcgen05_commit_pair(shared_address(&read[place.stage]), kEven);
      else
        tcgen05_commit(shared_address(&read[place.stage]));
      place.advance();
    }
  }
};

/// Multiplies a block: four instructions, each 32 bytes further along the swizzled rows. `scales`: where copy_scales
/// put them. `column`: the tile's first column of D; its scale is at column % 128 of the first chunk.
template <class Kind, uint32_t TileN, int Ctas = 1, class S>
__device__ void multiply_block(uint32_t accumulator, const S& stage, uint32_t scales, uint32_t column, bool first) {
#pragma unroll
  for (uint32_t step = 0; step < kBlockBytes / kStepBytes; ++step) {
    const uint64_t a = layout::at_address(kOperand<Kind::kElement>, shared_address(stage.a) + step * kStepBytes);
    const uint64_t b = layout::at_address(kOperand<Kind::kElement>, shared_address(stage.b) + step * kStepBytes);
    const bool accumulate = !(first && step == 0);
    if constexpr (Kind::kChunks == 0) {
      constexpr uint32_t kInstruction = layout::instruction_descriptor({.kind = Kind::kKind,
                                                                        .a = Kind::kElement,
                                                                        .b = Kind::kElement,
                                                                        .m = Ctas * kTileM,
                                                                        .n = TileN,
                                                                        .cta_group = Ctas});
      if constexpr (Kind::kKind == layout::Kind::f16)
        tcgen05_mma_f16<Ctas>(accumulator, a, b, kInstruction, accumulate);
      else
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
  switch (p.kind) {
    case Kind::bf16:
      if (p.in == gen5::harness::Format::f16) return of.template operator()<F16<Element::f16>>();
      return of.template operator()<F16<Element::bf16>>();
    case Kind::fp8: return of.template operator()<Fp8>();
    case Kind::mxf8: return of.template operator()<Mxf8>();
    case Kind::nvf4: return of.template operator()<Nvf4>();
  }
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
  const auto map = [&](void* matrix, uint32_t rows, uint32_t box_rows) {
    const uint32_t columns = p.k * Kind::kMapColumns / Kind::kBlockK;
    return matrix_map(Kind::kMapType, kBlockBytes / Kind::kMapColumns, matrix, rows, columns, columns, box_rows,
                      Kind::kMapColumns, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  args.a_map = map(p.a, p.m, kTileM);
  args.b_map = map(p.b, p.n, b_rows);
  if constexpr (Kind::kChunks) {
    const uint32_t words = layout::ceil_div(p.k * 4 * Kind::kChunks / Kind::kBlockK, 4) * kChunk / 8;
    const auto scales_map = [&](void* scales, uint32_t rows, uint32_t box_rows) {
      return matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, scales, layout::ceil_div(rows, 128), words, words, box_rows,
                        Kind::kChunks * kChunk / 8, CU_TENSOR_MAP_SWIZZLE_NONE);
    };
    args.a_scales_map = scales_map(p.a_scales, p.m, 1);
    args.b_scales_map = scales_map(p.b_scales, p.n, kAcross<TileN>);
  }
  return args;
}

}  // namespace gemm
