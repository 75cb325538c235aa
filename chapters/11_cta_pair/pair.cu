// The pair: two CTAs of a cluster whose tensor cores work on one product. Who holds what, who issues, who is told, and
// what it saves. Blackwell only.
#include <fmt/core.h>

#include <bit>

#include "chapters/11_cta_pair/parts.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/fused_sum.h"
#include "common/harness/inputs.h"
#include "common/harness/pipeline_run.h"
#include "common/harness/stamps.h"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;
using gen5::layout::at_address;
using gen5::layout::Element;
using gen5::layout::instruction_descriptor;
using gen5::layout::Major;
using gen5::layout::smem_descriptor;
using gen5::layout::Swizzle;

/// What every kernel of a pair begins and ends with. One warp in each CTA allocates: both get the same columns. The
/// cluster's barrier stands where chapter 05 had __syncthreads: neither CTA may signal a barrier, read shared memory or
/// free columns of the other before that one is ready for it.
__device__ void meet() {
  tcgen05_fence_before_thread_sync();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  tcgen05_fence_after_thread_sync();
}

__device__ uint32_t begin(uint32_t* slot, uint64_t* barrier, uint32_t columns) {
  if (threadIdx.x < 32) {
    tcgen05_alloc<2>(shared_address(slot), columns);
    tcgen05_relinquish_alloc_permit<2>();
  }
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(barrier), 1);
    fence_mbarrier_init();
  }
  meet();
  return *slot;
}

__device__ void end(uint32_t address, uint32_t columns) {
  meet();
  if (threadIdx.x < 32) tcgen05_dealloc<2>(address, columns);
}

bool has_pairs(Report& r) {
  if (current_device().major >= 10) return true;
  r.say("The pair needs a Blackwell; this device is none. Skipped.");
  return false;
}

// ---- 6. Who holds what

constexpr uint32_t kN = 32, kK = 16, kHalfN = kN / 2;
constexpr uint32_t kUntouched = 0xdeadbeef;

/// A column-by-column tile without swizzle, as in chapter 05: rows · 16 bytes to the next 16 bytes of K.
template <uint32_t kRows>
constexpr uint64_t kPlain = smem_descriptor(
    {.element = Element::bf16, .major = Major::k, .swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});

template <uint32_t kM>
constexpr uint32_t kPairInstruction =
    instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = kM, .n = kN, .cta_group = 2});

// One MMA of the pair: A is kM x 16, B is 32 x 16 (N rows of K), row-major in global memory. Each CTA loads its half of
// either. `issuer` issues for both. Each CTA writes down all 128 lanes x 32 columns of its Tensor Memory.
template <uint32_t kM>
__global__ void __cluster_dims__(2) smallest(const uint16_t* a, const uint16_t* b, uint32_t* cells, uint32_t issuer) {
  constexpr uint32_t kRows = kM / 2;  // of A, in each CTA
  __shared__ alignas(128) uint16_t tile_a[kRows * kK], tile_b[kHalfN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t rank = cluster_ctarank(), thread = threadIdx.x, quarter = thread / 32 << 21;
  const uint32_t address = begin(&slot, &barrier, 32);

  for (uint32_t i = thread; i < kRows * kK; i += blockDim.x)
    tile_a[i % kK / 8 * kRows * 8 + i / kK * 8 + i % 8] = a[rank * kRows * kK + i];
  for (uint32_t i = thread; i < kHalfN * kK; i += blockDim.x)
    tile_b[i % kK / 8 * kHalfN * 8 + i / kK * 8 + i % 8] = b[rank * kHalfN * kK + i];
  uint32_t r[kN];
  for (uint32_t& word : r) word = kUntouched;
  tcgen05_st_32x32b(address + quarter, r);
  tcgen05_wait_st();
  fence_proxy_async_shared();
  meet();  // both halves are there

  if (rank == issuer && thread == 0) {
    // One address, one descriptor for A and one for B: they hold in both CTAs, each in its own memory.
    tcgen05_mma_f16<2>(address, at_address(kPlain<kRows>, shared_address(tile_a)),
                       at_address(kPlain<kHalfN>, shared_address(tile_b)), kPairInstruction<kM>,
                       /*accumulate=*/false);
    tcgen05_commit_pair(shared_address(&barrier), 0b11);  // one arrival in each CTA
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  tcgen05_ld_32x32b(r, address + quarter);
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) cells[(rank * 128 + thread) * kN + n] = r[n];
  end(address, 32);
}

using Smallest = void (*)(const uint16_t*, const uint16_t*, uint32_t*, uint32_t);

std::vector<uint32_t> run_smallest(Smallest kernel, const std::vector<uint16_t>& a, const std::vector<uint16_t>& b,
                                   uint32_t issuer) {
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> cells(2 * 128 * kN);
  kernel<<<2, 128>>>(da.get(), db.get(), cells.get(), issuer);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return cells.download();
}

/// Which halves met in each cell. A is 1 in the even CTA's rows and 4 in the odd one's, B is 1 and 2: their product,
/// 16 times, names both.
template <uint32_t kM>
std::string map_of() {
  std::vector<uint16_t> a(kM * kK), b(kN * kK);
  for (uint32_t i = 0; i < a.size(); ++i) a[i] = bf16_of(i / kK < kM / 2 ? 1.f : 4.f);
  for (uint32_t i = 0; i < b.size(); ++i) b[i] = bf16_of(i / kK < kHalfN ? 1.f : 2.f);
  const auto cells = run_smallest(smallest<kM>, a, b, 0);
  const auto name = [](uint32_t word) -> std::string {
    const float value = std::bit_cast<float>(word);
    if (value == 16) return "A0 B0";
    if (value == 32) return "A0 B1";
    if (value == 64) return "A1 B0";
    if (value == 128) return "A1 B1";
    return word == kUntouched ? "-" : "?";
  };
  // Rows of 64 lanes, columns of 16: what all of their cells agree on.
  std::string text = fmt::format("  M = {}, N = {}            columns 0-15  columns 16-31\n", kM, kN);
  for (uint32_t rank = 0; rank < 2; ++rank)
    for (uint32_t lane = 0; lane < 128; lane += 64) {
      text += fmt::format("    {}  lanes {:>3}-{:<3}", lane ? "     " : fmt::format("CTA {}", rank), lane, lane + 63);
      for (uint32_t column = 0; column < kN; column += 16) {
        const std::string here = name(cells[(rank * 128 + lane) * kN + column]);
        bool same = true;
        for (uint32_t l = lane; l < lane + 64; ++l)
          for (uint32_t c = column; c < column + 16; ++c) same &= name(cells[(rank * 128 + l) * kN + c]) == here;
        text += fmt::format("{:>14}", same ? here : "mixed");
      }
      text += "\n";
    }
  return text;
}

/// Where D[row][column] of a pair's M x 32 is: CTA, lane, column.
struct Cell {
  uint32_t cta, lane, column;
};
Cell cell_of(uint32_t m, uint32_t row, uint32_t column) {
  if (m == 256) return {row / 128, row % 128, column};
  return {row / 64, row % 64 + column / kHalfN * 64, column % kHalfN};
}

template <uint32_t kM>
bool smallest_is_right(uint32_t issuer, Smallest kernel = smallest<kM>) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * kK, 31 + kM);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kK, 32 + kM);
  const auto want = fused_gemm({Format::bf16, kM, kN, kK, a.data(), b.data()});
  const auto cells = run_smallest(kernel, a, b, issuer);
  bool right = true;
  for (uint32_t row = 0; row < kM; ++row)
    for (uint32_t column = 0; column < kN; ++column) {
      const Cell at = cell_of(kM, row, column);
      right &= cells[(at.cta * 128 + at.lane) * kN + at.column] == want[row * kN + column];
    }
  return right;
}

void part_halves(Report& r) {
  if (!has_pairs(r)) return;
  r.say(
      "tcgen05.mma.cta_group::2 multiplies on the tensor cores of two SMs. The CTAs' ranks differ in bit 0 only: 0 and "
      "1 are a pair, 2 and 3 are one. Each holds half of the rows of A and half of the columns of B in its own shared "
      "memory, at the same offsets. One thread, in either CTA, issues for both, and its descriptors hold in both. Each "
      "tensor core reads both halves of B, one of them over the link between the two SMs. Which CTA then holds which "
      "product? A0 and B0 are the even CTA's halves, A1 and B1 the odd one's; a dash was not written.");
  r.picture(map_of<256>() + "\n" + map_of<128>());
  r.say(
      "M = 256: each CTA has its own 128 rows and all columns. M = 128: each has its own 64 rows and folds them: the "
      "second half of the columns lies in lanes 64 to 127, so that all lanes work. With cta_group::1, M = 64 uses half "
      "of them.");
  r.check("M = 256: every bit of D is the fused sum's, whichever CTA issues",
          smallest_is_right<256>(0) && smallest_is_right<256>(1));
  r.check("M = 128: every bit of D is the fused sum's, whichever CTA issues",
          smallest_is_right<128>(0) && smallest_is_right<128>(1));
}

// ---- 7. Who is told

struct Told {
  uint32_t mask, arrived;
};

// A cluster of four is two pairs. In each, the even CTA issues an MMA of ones and commits to both; each CTA waits on
// its own barrier, then reads its own half of D.
__global__ void __cluster_dims__(4) signals(Told* told, uint32_t* d) {
  constexpr uint32_t kRows = 128;
  __shared__ alignas(128) uint16_t tile_a[kRows * kK], tile_b[kHalfN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t rank = cluster_ctarank();
  const uint32_t address = begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < kRows * kK; i += blockDim.x) tile_a[i] = 0x3f80;  // 1.0
  for (uint32_t i = threadIdx.x; i < kHalfN * kK; i += blockDim.x) tile_b[i] = 0x3f80;
  fence_proxy_async_shared();
  meet();
  // Bit i of the mask is rank i of the cluster, not of the pair: both bits of this pair.
  const uint16_t mask = 0b11 << (rank & ~1u);
  if (rank % 2 == 0 && threadIdx.x == 0) {
    tcgen05_mma_f16<2>(address, at_address(kPlain<kRows>, shared_address(tile_a)),
                       at_address(kPlain<kHalfN>, shared_address(tile_b)), kPairInstruction<256>, false);
    tcgen05_commit_pair(shared_address(&barrier), mask);
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  d[rank * 128 + threadIdx.x] = r[kN - 1];
  end(address, 32);
  // A second arrival would have ended the next phase.
  if (threadIdx.x == 0)
    told[rank] = {rank % 2 == 0 ? mask : 0u, mbarrier_test_wait_parity(shared_address(&barrier), 1) ? 2u : 1u};
}

void part_signals(Report& r) {
  if (!has_pairs(r)) return;
  DeviceBuffer<Told> told(4);
  DeviceBuffer<uint32_t> d(4 * 128);
  signals<<<4, 128>>>(told.get(), d.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = told.download();
  r.say(
      "The issuing thread commits, and .multicast::cluster reports to the other CTA: an arrival at the same offset in "
      "every CTA whose bit is in the mask. In a cluster of four, two pairs, each even CTA's mask is 0b11 << (rank & "
      "~1):");
  Table t({"rank", "issues and commits to", "arrivals at its own barrier"});
  bool once = true;
  for (uint32_t i = 0; i < 4; ++i) {
    t.row(
        {std::to_string(i), seen[i].mask ? fmt::format("{:04b}", seen[i].mask) : "-", std::to_string(seen[i].arrived)});
    once &= seen[i].arrived == 1;
  }
  r.table(t);
  bool sixteen = true;
  for (uint32_t word : d.download()) sixteen &= word == std::bit_cast<uint32_t>(float(kK));
  r.check("every CTA was told once", once);
  r.check("and then found its half of D complete", sixteen);
}

// ---- 8. A pipeline of a pair

constexpr uint32_t kTileM = 128, kTileN = 128, kBlockK = 64, kBlocks = 12;
constexpr uint32_t kRowBytes = kBlockK * 2;

template <bool kPair>
struct Buffers {
  static constexpr uint32_t kRowsB = kPair ? kTileN / 2 : kTileN;
  static constexpr uint32_t kStages = kPair ? 4 : 3;  // 96 KiB in either case
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kRowsB * kRowBytes];
  uint64_t full[kStages], empty[kStages], done;
  uint32_t slot;
};

/// As TMA leaves a tile of 128-byte rows with the 128-byte swizzle (chapter 05).
constexpr uint64_t kSwizzled =
    smem_descriptor({.element = Element::bf16, .major = Major::k, .swizzle = Swizzle::b128, .stride = 8 * kRowBytes});
template <bool kPair>
constexpr uint32_t kProduct = instruction_descriptor({.a = Element::bf16,
                                                      .b = Element::bf16,
                                                      .m = kPair ? 2 * kTileM : kTileM,
                                                      .n = kTileN,
                                                      .cta_group = kPair ? 2 : 1});

// Two CTAs compute 256 x 128 of D over K = 768: each its 128 rows. Apart, each loads all of B and multiplies for
// itself. As a pair each loads half of B, and the even CTA multiplies for both.
template <bool kPair, bool kStamped>
__global__ void __cluster_dims__(2)
    product(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, float* d,
            long long* cycles, uint64_t* stamps) {
  constexpr int kGroup = kPair ? 2 : 1;
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Buffers<kPair>*>(memory);
  constexpr uint32_t kStages = Buffers<kPair>::kStages;
  constexpr uint32_t kBytes = sizeof(shared.a[0]) + sizeof(shared.b[0]);
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, rank = cluster_ctarank();
  if (warp == 0) {
    tcgen05_alloc<kGroup>(shared_address(&shared.slot), kTileN);
    tcgen05_relinquish_alloc_permit<kGroup>();
  }
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    mbarrier_init(shared_address(&shared.done), 1);
    fence_mbarrier_init();
  }
  meet();
  const uint32_t accumulator = shared.slot;
  const long long start = clock64();
  const uint16_t both = 0b11;

  if (warp == 0 && lane == 0) {
    // In each CTA: load what this CTA holds.
    Stamps<kStamped> asked(stamps, Moment::asked);
    for (uint32_t i = 0; i < kBlocks; ++i) {
      const uint32_t s = i % kStages, a = shared_address(shared.a[s]), b = shared_address(shared.b[s]);
      const uint32_t own = shared_address(&shared.full[s]);
      const int k = int(i * kBlockK), row = int(rank * kTileM);
      mbarrier_wait_parity(shared_address(&shared.empty[s]), (i / kStages & 1) ^ 1);
      asked.take();
      if constexpr (kPair) {
        // Both CTAs' bytes are counted where the MMAs wait: by the even CTA's barrier, which its thread arms for both.
        if (rank == 0) mbarrier_arrive_expect_tx(own, 2 * kBytes);
        tensor_load_2d_pair(a, &a_map, k, row, mapa(own, 0));
        tensor_load_2d_pair(b, &b_map, k, int(rank * kTileN / 2), mapa(own, 0));
      } else {
        mbarrier_arrive_expect_tx(own, kBytes);
        tensor_load_2d(a, &a_map, k, row, own);
        tensor_load_2d(b, &b_map, k, 0, own);
      }
    }
  }
  if (warp == 1 && lane == 0 && (!kPair || rank == 0)) {
    // In the even CTA, for both.
    Stamps<kStamped> landed(stamps, Moment::landed);
    for (uint32_t i = 0; i < kBlocks; ++i) {
      const uint32_t s = i % kStages;
      mbarrier_wait_parity(shared_address(&shared.full[s]), i / kStages & 1);
      landed.take();
      for (uint32_t step = 0; step < 4; ++step)
        tcgen05_mma_f16<kGroup>(accumulator, at_address(kSwizzled, shared_address(shared.a[s]) + step * 32),
                                at_address(kSwizzled, shared_address(shared.b[s]) + step * 32), kProduct<kPair>,
                                i > 0 || step > 0);
      // Both stages have been read, the peer's too: its producer waits for this arrival.
      if constexpr (kPair)
        tcgen05_commit_pair(shared_address(&shared.empty[s]), both);
      else
        tcgen05_commit(shared_address(&shared.empty[s]));
    }
    if constexpr (kPair)
      tcgen05_commit_pair(shared_address(&shared.done), both);
    else
      tcgen05_commit(shared_address(&shared.done));
  }
  __syncwarp();

  // In each CTA: store its own rows.
  Stamps<kStamped> ready(stamps, Moment::ready, threadIdx.x == 0), stored(stamps, Moment::stored, threadIdx.x == 0);
  mbarrier_wait_parity(shared_address(&shared.done), 0);
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x == 0 && rank == 0) *cycles = clock64() - start;
  ready.take();
  float* row = d + (rank * kTileM + threadIdx.x) * kTileN;
  for (uint32_t column = 0; column < kTileN; column += 32) {
    uint32_t r[32];
    tcgen05_ld_32x32b(r, accumulator + column + (warp << 21));
    tcgen05_wait_ld();
    for (uint32_t i = 0; i < 32; ++i) row[column + i] = __uint_as_float(r[i]);
  }
  stored.take();
  meet();
  if (warp == 0) tcgen05_dealloc<kGroup>(accumulator, kTileN);
}

/// Operands of the product, and what D must be.
struct Product {
  static constexpr uint32_t kM = 2 * kTileM, kDepth = kBlocks * kBlockK;
  std::vector<uint16_t> a = make_inputs(Format::bf16, Pattern::uniform, kM* kDepth, 61);
  std::vector<uint16_t> b = make_inputs(Format::bf16, Pattern::uniform, kTileN* kDepth, 62);
  DeviceBuffer<uint16_t> da{a}, db{b};
  DeviceBuffer<float> d{kM * kTileN};
  DeviceBuffer<long long> cycles{1};

  template <bool kPair>
  void launch(uint64_t* stamps) {
    start<kPair>(stamps ? product<kPair, true> : product<kPair, false>, stamps);
  }
  template <bool kPair>
  void start(void (*kernel)(CUtensorMap, CUtensorMap, float*, long long*, uint64_t*), uint64_t* stamps) {
    const auto map = [](void* data, uint32_t rows, uint32_t box_rows) {
      return matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, rows, kDepth, kDepth, box_rows, kBlockK,
                        CU_TENSOR_MAP_SWIZZLE_128B);
    };
    const uint32_t bytes = sizeof(Buffers<kPair>);
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    d.fill(0xff);
    kernel<<<2, 128, bytes>>>(map(da.get(), kM, kTileM), map(db.get(), kTileN, Buffers<kPair>::kRowsB), d.get(),
                              cycles.get(), stamps);
  }
  bool right() const {
    const auto want = fused_gemm({Format::bf16, kM, kTileN, kDepth, a.data(), b.data()});
    const auto got = d.download();
    for (size_t i = 0; i < want.size(); ++i)
      if (std::bit_cast<uint32_t>(got[i]) != want[i]) return false;
    return true;
  }
};

void part_pipeline(Report& r) {
  if (!has_pairs(r)) return;
  Product p;
  const auto run = [&](uint32_t stages, auto launch) {
    const PipelineShape shape{.blocks_of_a_tile = kBlocks, .stages = stages};
    const Pipeline pipeline = run_pipeline(shape, r.stamps(), launch);
    return std::tuple(pipeline, p.right(), p.cycles.download()[0]);
  };
  const auto [apart, apart_right, apart_cycles] =
      run(Buffers<false>::kStages, [&](uint64_t* s) { p.launch<false>(s); });
  const auto [pair, pair_right, pair_cycles] = run(Buffers<true>::kStages, [&](uint64_t* s) { p.launch<true>(s); });
  r.say(fmt::format(
      "Two CTAs compute {} x {} of D over K = {}. Apart, each loads its 128 rows of A and all 128 of B for a block of "
      "64, and multiplies 128 x 128. As a pair each loads its rows of A and half of B, and one thread of the even CTA "
      "multiplies 256 x 128. Both have 96 KiB for stages. Three signals change:",
      Product::kM, kTileN, Product::kDepth));
  Table roles({"who", "waits for", "tells"});
  roles.row({"producer, in each CTA", "its own empty", "the even CTA's full"});
  roles.row({"MMA thread, even CTA", "its own full: both CTAs' bytes", "empty and done of both (commit)"});
  roles.row({"epilogue, in each CTA", "its own done", "-"});
  r.table(roles);
  const PipelineNames names{.outputs = ""};
  r.picture(draw({picture_of(apart, "Apart:", names), picture_of(pair, "As a pair:", names)}, {.window = 4200}));
  r.say(legend(pair, names) + " Of the even CTA.");
  Table t({"", "a CTA loads", "a stage", "stages", "cycles to the last MMA"});
  const auto row = [&](const char* name, uint32_t rows, uint32_t stages, long long cycles) {
    t.row({name, with_unit(kBlocks * rows * kRowBytes), with_unit(rows * kRowBytes), std::to_string(stages),
           with_commas(uint64_t(cycles))});
  };
  row("apart", kTileM + kTileN, Buffers<false>::kStages, apart_cycles);
  row("pair", kTileM + kTileN / 2, Buffers<true>::kStages, pair_cycles);
  r.table(t);
  r.check("every bit of D is the fused sum's, apart and as a pair", apart_right && pair_right,
          fmt::format("{} words each", with_commas(Product::kM * kTileN)));
  r.value("apart_cycles", double(apart_cycles));
  r.value("pair_cycles", double(pair_cycles));
  r.say(
      "What to see: an MMA takes as long for the pair as for one CTA, but a block's loads are a quarter smaller, and "
      "so is a stage: the same shared memory holds one more stage, so one more load is on its way.");
}

// ---- Mistakes

// pair_mistakes.txt says which lines are wrong in which kernel. These run a kernel and say whether its numbers are
// right.

bool signals_right(void (*kernel)(Told*, uint32_t*)) {
  DeviceBuffer<Told> told(4);
  DeviceBuffer<uint32_t> d(4 * 128);
  kernel<<<4, 128>>>(told.get(), d.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return d.download() == std::vector<uint32_t>(4 * 128, std::bit_cast<uint32_t>(16.0f));
}

bool product_right(void (*kernel)(CUtensorMap, CUtensorMap, float*, long long*, uint64_t*)) {
  Product p;
  p.start<true>(kernel, nullptr);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return p.right();
}

#include "pair_mistakes.inc"

}  // namespace

void add_pair(Chapter& chapter) {
  chapter.part("halves", "One MMA of two CTAs: who holds what", part_halves);
  chapter.part("signals", "One commit, two barriers", part_signals);
  chapter.part("pipeline", "A product apart and as a pair", part_pipeline);
  chapter.mistakes(kMistakes);
}
