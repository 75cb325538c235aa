// Step 1: a CTA of 128 threads has one tile of queries, and everything happens in turn. For each block of keys: K and V
// are loaded; the tensor core makes scores; every thread makes exponentials of its row and writes them, as bf16, into
// shared memory; the tensor core multiplies them with V. All wait for each of these.
#include "chapters/14_attention/attention.cuh"

namespace attention {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kColumnsOfAll = 256;  // S, and O behind it

template <uint32_t Dim>
struct Shared {
  uint8_t q[kTileBytes<Dim>], k[kTileBytes<Dim>], v[kTileBytes<Dim>];
  uint8_t p[2 * kBoxBytes];
  uint64_t loaded, multiplied;
  uint32_t columns;
};

/// Writes this thread's row of P as TMA would: A of the second product in two boxes of 64 keys.
__device__ void store_weights(uint8_t* boxes, const uint32_t (&p)[kBlock / 2]) {
#pragma unroll
  for (uint32_t chunk = 0; chunk < kBlock / 8; ++chunk)
    store_shared(layout::swizzled(layout::Swizzle::b128, shared_address(boxes) + chunk / 8 * kBoxBytes +
                                                             threadIdx.x * kRowBytes + chunk % 8 * 16),
                 &p[4 * chunk]);
}

/// O += P·V with both in shared memory.
template <uint32_t Dim>
__device__ void multiply_shared(uint32_t o, const uint8_t* p, const uint8_t* v, bool first) {
  const uint64_t from_p = layout::at_address(kRows, shared_address(p)),
                 from_v = layout::at_address(kColumns, shared_address(v));
#pragma unroll
  for (uint32_t step = 0; step < kBlock / kInstructionK; ++step)
    tcgen05_mma_f16(o, further(from_p, along_row(step)), further(from_v, step * kInstructionK * kRowBytes),
                    kValues<Dim>, !(first && step == 0));
}

template <uint32_t Dim>
__global__ void __launch_bounds__(kThreads) serial(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared<Dim>*>(memory);
  const uint32_t warp = threadIdx.x / 32, row = blockIdx.x * kTile, head = blockIdx.y;
  const uint32_t blocks = blocks_of(args, row);

  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.loaded), 1);
    mbarrier_init(shared_address(&shared.multiplied), 1);
    fence_mbarrier_init();
  }
  const uint32_t columns = tensor_kernel::begin(&shared.columns, kColumnsOfAll);
  const uint32_t o = columns + kBlock, lanes = layout::tmem_address(0, warp * 32, 0);
  Softmax softmax;

  for (uint32_t block = 0; block < blocks; ++block) {
    const bool first = block == 0;
    if (warp == 0 && elect_sync()) {
      mbarrier_arrive_expect_tx(shared_address(&shared.loaded), (first ? 3 : 2) * kTileBytes<Dim>);
      if (first) load_tile<Dim>(&args.q_map, shared.q, row, head, shared.loaded);
      load_tile<Dim>(&args.k_map, shared.k, block * kBlock, head, shared.loaded);
      load_tile<Dim>(&args.v_map, shared.v, block * kBlock, head, shared.loaded);
    }
    __syncwarp();
    mbarrier_wait_parity(shared_address(&shared.loaded), block & 1);

    if (warp == 0 && elect_sync()) {
      multiply_scores<Dim>(columns, shared.q, shared.k);
      tcgen05_commit(shared_address(&shared.multiplied));
    }
    __syncwarp();
    tensor_kernel::wait(&shared.multiplied, 0);

    float s[kBlock];
    uint32_t p[kBlock / 2];
    load_scores(s, columns + lanes, args, row + threadIdx.x, block * kBlock);
    const float factor = follow_largest<false>(softmax, s, args.scale);
    exponentials<0>(p, softmax, s, args.scale);
    if (!first) rescale<Dim>(o + lanes, factor);
    store_weights(shared.p, p);
    // The tensor core reads what threads have written: into shared memory, through the async proxy, and into its own.
    tensor_kernel::ready();

    if (warp == 0 && elect_sync()) {
      multiply_shared<Dim>(o, shared.p, shared.v, first);
      tcgen05_commit(shared_address(&shared.multiplied));
    }
    __syncwarp();
    tensor_kernel::wait(&shared.multiplied, 1);
    __syncthreads();  // the next product must not end before all warps have seen this one
  }

  // No product reads Q any more, so O is stored through its buffer.
  store_output<Dim>(args, o + lanes, 1 / softmax.sum, shared.q, warp * 32, row + warp * 32, head);
  if (elect_sync()) bulk_wait_group_read<0>();
  tensor_kernel::end(columns, kColumnsOfAll);
}

}  // namespace

void launch_serial(const Problem& p) {
  for_dim(p, [&]<uint32_t Dim>() { launch_with(serial<Dim>, grid_of_tiles(p), kThreads, sizeof(Shared<Dim>), p); });
}

}  // namespace attention
