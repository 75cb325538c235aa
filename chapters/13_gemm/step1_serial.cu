// Step 1: one tile a CTA, everything in turn. 128 threads copy a block of A and B into shared memory in the plain
// layout that needs no swizzle, one thread multiplies it, all wait, and so on along K. Nothing overlaps with anything.
#include "chapters/13_gemm/gemm.cuh"

namespace gemm {
namespace {

constexpr uint32_t kTileN = 128;

/// Without swizzle the tensor core reads 8 × 16-byte core matrices: here each is 128 contiguous bytes, the next 8 rows
/// follow, and the next 16 bytes along K lie a whole column of core matrices (128 rows × 16 bytes) further.
template <layout::Element In>
constexpr uint64_t kPlainOperand = layout::smem_descriptor({.element = In,
                                                            .major = layout::Major::k,
                                                            .swizzle = layout::Swizzle::none,
                                                            .leading = 128 * 16,
                                                            .stride = 8 * 16});

struct Shared {
  uint8_t a[kTileM * kRowBytes], b[kTileN * kRowBytes];
  uint64_t empty;
  uint32_t accumulator;
};

/// Copies 128 rows × 64 elements from `matrix` (rows × k) into the plain layout, 16 bytes at a time; zeros outside.
__device__ void copy_block(uint8_t* tile, const uint16_t* matrix, uint32_t rows, uint32_t k, uint32_t row0,
                           uint32_t k0) {
  for (uint32_t i = threadIdx.x; i < 128 * 8; i += blockDim.x) {
    const uint32_t row = i / 8, chunk = i % 8, k_at = k0 + chunk * 8;
    uint4 words = {0, 0, 0, 0};
    if (row0 + row < rows && k_at < k) words = *reinterpret_cast<const uint4*>(matrix + size_t(row0 + row) * k + k_at);
    *reinterpret_cast<uint4*>(tile + layout::k_major_offset(layout::Swizzle::none, 128, row, chunk * 16)) = words;
  }
}

/// Thread t stores row t of the tile: Tensor Memory lane t.
template <class Out>
__device__ void store_row(const Arguments& args, uint32_t accumulator, uint32_t row, uint32_t column0) {
  constexpr uint32_t kColumns = Row<Out>::kColumns;
  for (uint32_t c = 0; c < kTileN; c += kColumns) {
    Row<Out> r;
    r.load(accumulator + c);
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      const uint32_t column = column0 + c + chunk * (kColumns / 8);
      if (row < args.m && column < args.n) {
        auto* to = static_cast<Out*>(args.d) + size_t(row) * args.n + column;
        *reinterpret_cast<uint4*>(to) =
            make_uint4(r.word[4 * chunk], r.word[4 * chunk + 1], r.word[4 * chunk + 2], r.word[4 * chunk + 3]);
      }
    }
  }
}

template <layout::Element In, class Out, bool kStamped>
__global__ void __launch_bounds__(128) serial(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  const uint32_t blocks = layout::ceil_div(args.k, kBlockK);

  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.empty), 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulator = begin_cta(&shared.accumulator, kTileN);

  const bool stamps = threadIdx.x == 0;
  Stamps<kStamped> asked(args.stamps, Moment::asked, stamps), landed(args.stamps, Moment::landed, stamps),
      done(args.stamps, Moment::done, stamps), ready(args.stamps, Moment::ready, stamps),
      stored(args.stamps, Moment::stored, stamps);
  for (uint32_t block = 0; block < blocks; ++block) {
    asked.take();
    copy_block(shared.a, args.a, args.m, args.k, row, block * kBlockK);
    copy_block(shared.b, args.b, args.n, args.k, column, block * kBlockK);
    // The tensor core reads shared memory through the async proxy: each writer's bytes must cross over first.
    fence_proxy_async_shared();
    __syncthreads();
    landed.take();
    if (warp == 0 && elect_sync()) {
      for (uint32_t step = 0; step < kBlockK / kInstructionK; ++step) {
        const uint32_t along_k = step * 2 * 128 * 16;  // two 16-byte columns of core matrices
        tcgen05_mma_f16(accumulator, layout::at_address(kPlainOperand<In>, shared_address(shared.a) + along_k),
                        layout::at_address(kPlainOperand<In>, shared_address(shared.b) + along_k),
                        kInstruction<In, kTileN>, block + step > 0);
      }
      // Arrives when the tensor core has read the stage, and so when it has added to the accumulator.
      tcgen05_commit(shared_address(&shared.empty));
    }
    mbarrier_wait_parity(shared_address(&shared.empty), block & 1);
    done.take();
  }
  tcgen05_fence_after_thread_sync();

  ready.take();
  store_row<Out>(args, layout::tmem_address(accumulator, warp * 32, 0), row + threadIdx.x, column);
  stored.take();
  end_cta(accumulator, kTileN);
}

}  // namespace

void launch_serial(const Problem& p) {
  for_types(p, [&]<layout::Element In, class Out, bool kStamped>() {
    serial<In, Out, kStamped><<<grid_of_tiles(p, kTileN), 128, sizeof(Shared)>>>(make_arguments(p, kTileN));
  });
}

}  // namespace gemm
