// Step 4's kernel with one thing wrong. Each mistake is one that people have made; hardware answers with wrong numbers
// or hangs. tinygpu says what is wrong, or, for those that depend on luck, computes wrong numbers when asked to
// complete everything as late as it legally may (gen5 run --order late, GEN5_ORDER=late).
#include <stdexcept>

#include "chapters/13_gemm/gemm.cuh"
#include "chapters/13_gemm/mistakes.h"

namespace gemm {
namespace {

constexpr uint32_t kTileN = 128;
constexpr uint32_t kStages = 4;

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kTileN * kRowBytes];
  uint8_t boxes[4][2][kStoreBytes];
  uint64_t full[kStages], empty[kStages], accumulated;
  uint32_t accumulator;
};

template <layout::Swizzle S, uint32_t Stride>
constexpr uint64_t kBfloatOperand = layout::smem_descriptor(
    {.element = layout::Element::bf16, .major = layout::Major::k, .swizzle = S, .stride = Stride});

template <Mistake M>
__device__ void multiply(uint32_t accumulator, uint32_t a_tile, uint32_t b_tile, bool first) {
  // Swizzled tiles have 8 rows of 128 bytes between row groups; half of that reads every other group twice.
  constexpr uint64_t a_operand = kBfloatOperand < layout::Swizzle::b128,
                     M == Mistake::descriptor_stride ? 512 : 1024 > ;
  // The map of B says 128-byte swizzle, whatever the descriptor says.
  constexpr uint64_t b_operand = kBfloatOperand < M == Mistake::descriptor_swizzle ? layout::Swizzle::b64
                                                                                   : layout::Swizzle::b128,
                     1024 > ;
  for (uint32_t step = 0; step < kBlockK / kInstructionK; ++step)
    tcgen05_mma_f16(accumulator, layout::at_address(a_operand, a_tile + step * 32),
                    layout::at_address(b_operand, b_tile + step * 32), kInstruction<layout::Element::bf16, kTileN>,
                    !(first && step == 0));
}

template <Mistake M>
__global__ void __launch_bounds__(192) mistaken(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  const uint32_t blocks = layout::ceil_div(args.k, kBlockK);

  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    if constexpr (M != Mistake::barrier_not_initialised) mbarrier_init(shared_address(&shared.accumulated), 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulator = begin_cta(&shared.accumulator, kTileN);

  if (warp == 0) {
    if (elect_sync()) {
      Ring<kStages> at;
      for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
        const uint32_t full = shared_address(&shared.full[at.stage]);
        uint32_t bytes = sizeof(shared.a[0]) + sizeof(shared.b[0]);
        if constexpr (M == Mistake::expect_too_many) bytes += 16;
        if constexpr (M == Mistake::expect_too_few) bytes = sizeof(shared.a[0]);
        if constexpr (M != Mistake::producer_no_wait) {
          // A fresh barrier's producer must not wait: parity 1 first. With parity 0 it waits for itself.
          const uint32_t parity = M == Mistake::producer_parity ? at.parity : at.parity ^ 1;
          mbarrier_wait_parity(shared_address(&shared.empty[at.stage]), parity);
        }
        mbarrier_arrive_expect_tx(full, bytes);
        tensor_load_2d(shared_address(shared.a[at.stage]), &args.a_map, block * kBlockK, row, full);
        tensor_load_2d(shared_address(shared.b[at.stage]), &args.b_map, block * kBlockK, column, full);
      }
    }
  } else if (warp == 1) {
    if (elect_sync()) {
      Ring<kStages> at;
      for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
        if constexpr (M != Mistake::mma_no_wait)
          mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
        multiply<M>(accumulator, shared_address(shared.a[at.stage]), shared_address(shared.b[at.stage]), block == 0);
        if constexpr (M == Mistake::stage_not_released) {
          if (block == 2) continue;
        }
        tcgen05_commit(shared_address(&shared.empty[at.stage]));
      }
      tcgen05_commit(shared_address(&shared.accumulated));
    }
  } else {
    // Warp w may read lanes 32 · (w mod 4) … only.
    const uint32_t quarter = M == Mistake::wrong_lanes ? warp - 2 : warp % 4;
    if constexpr (M != Mistake::epilogue_no_wait) mbarrier_wait_parity(shared_address(&shared.accumulated), 0);
    tcgen05_fence_after_thread_sync();
    const uint32_t from = layout::tmem_address(accumulator, quarter * 32, 0);
    if constexpr (M == Mistake::load_not_waited) {
      for (uint32_t c = 0; c < kTileN; c += 32) {
        uint32_t r[32];
        tcgen05_ld_32x32b(r, from + c);
        const uint32_t to_row = row + quarter * 32 + threadIdx.x % 32;
        for (uint32_t i = 0; i < 32; ++i)
          if (to_row < args.m && column + c + i < args.n)
            static_cast<float*>(args.d)[size_t(to_row) * args.n + column + c + i] = __uint_as_float(r[i]);
      }
      tcgen05_wait_ld();
    } else {
      store_tile<float, kTileN>(&args.d_map, from, shared_address(shared.boxes[quarter]), row + quarter * 32, column);
      if (elect_sync()) bulk_wait_group_read<0>();
    }
  }

  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if constexpr (M != Mistake::no_dealloc) {
    if (warp == 1) tcgen05_dealloc(accumulator, kTileN);
  }
}

template <Mistake M>
void launch(const Problem& p) {
  const Arguments args = make_arguments(p, kTileN);
  const dim3 grid(layout::ceil_div(p.n, kTileN), layout::ceil_div(p.m, kTileM));
  GEN5_CUDA(cudaFuncSetAttribute(mistaken<M>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  mistaken<M><<<grid, 192, sizeof(Shared)>>>(args);
}

}  // namespace

void launch_mistake(Mistake m, const Problem& p) {
  switch (m) {
    case Mistake::mma_no_wait: return launch<Mistake::mma_no_wait>(p);
    case Mistake::epilogue_no_wait: return launch<Mistake::epilogue_no_wait>(p);
    case Mistake::producer_no_wait: return launch<Mistake::producer_no_wait>(p);
    case Mistake::producer_parity: return launch<Mistake::producer_parity>(p);
    case Mistake::expect_too_many: return launch<Mistake::expect_too_many>(p);
    case Mistake::expect_too_few: return launch<Mistake::expect_too_few>(p);
    case Mistake::stage_not_released: return launch<Mistake::stage_not_released>(p);
    case Mistake::barrier_not_initialised: return launch<Mistake::barrier_not_initialised>(p);
    case Mistake::descriptor_stride: return launch<Mistake::descriptor_stride>(p);
    case Mistake::descriptor_swizzle: return launch<Mistake::descriptor_swizzle>(p);
    case Mistake::wrong_lanes: return launch<Mistake::wrong_lanes>(p);
    case Mistake::load_not_waited: return launch<Mistake::load_not_waited>(p);
    case Mistake::no_dealloc: return launch<Mistake::no_dealloc>(p);
    default: throw std::invalid_argument("not a mistake of step 4");
  }
}

}  // namespace gemm
