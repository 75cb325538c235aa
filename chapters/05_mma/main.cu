// Chapter 05: tcgen05.mma, its descriptors, commit and fences.
//
//   scripts/run 05_mma                       every part
//   scripts/run 05_mma --part layouts        one of them
//   scripts/run 05_mma --mistake hopper_descriptor
//
// One thread asks the tensor core for D = A·B + D. A and B lie in shared memory and are described by two 64-bit words;
// D lies in Tensor Memory; what kind of numbers and how large a tile is a 32-bit word. Nothing waits: an mbarrier tells
// when it is done. Read this file from the top, notes/05_mma.md beside it.
#include <cuda_fp16.h>
#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/difference.h"
#include "common/harness/fused_sum.h"
#include "common/harness/inputs.h"
#include "common/harness/pipeline_run.h"
#include "common/harness/stamps.h"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;
using gen5::layout::Accumulator;
using gen5::layout::at_address;
using gen5::layout::Element;
using gen5::layout::Instruction;
using gen5::layout::instruction_descriptor;
using gen5::layout::Kind;
using gen5::layout::Major;
using gen5::layout::smem_descriptor;
using gen5::layout::Swizzle;

/// What every kernel here begins and ends with: one warp allocates columns, thread 0 makes a barrier, all meet.
__device__ uint32_t begin(uint32_t* slot, uint64_t* barrier, uint32_t columns) {
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(slot), columns);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(barrier), 1);
    fence_mbarrier_init();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  return *slot;
}

__device__ void end(uint32_t address, uint32_t columns) {
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(address, columns);
}

// ---- 1. The smallest kernel

constexpr uint32_t kM = 128, kN = 16, kK = 16;  // one instruction

// Without swizzle an operand is made of core matrices: 8 rows of 16 bytes, 128 contiguous bytes. Here the core matrices
// of one 16-byte column lie below each other (SBO = 128), and the second column follows the first (LBO).
constexpr uint32_t kSmallest =
    instruction_descriptor({.kind = Kind::f16, .a = Element::bf16, .b = Element::bf16, .m = kM, .n = kN});
constexpr uint64_t kSmallestA = smem_descriptor(
    {.element = Element::bf16, .major = Major::k, .swizzle = Swizzle::none, .leading = kM * 16, .stride = 128});
constexpr uint64_t kSmallestB = smem_descriptor(
    {.element = Element::bf16, .major = Major::k, .swizzle = Swizzle::none, .leading = kN * 16, .stride = 128});

// A is 128 x 16, B is 16 x 16 (N rows of K), both row-major in global memory; 128 threads.
__global__ void smallest(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);

  const uint32_t row = threadIdx.x;
  for (uint32_t k = 0; k < kK; ++k) tile_a[k / 8 * kM * 8 + row * 8 + k % 8] = a[row * kK + k];
  if (row < kN)
    for (uint32_t k = 0; k < kK; ++k) tile_b[k / 8 * kN * 8 + row * 8 + k % 8] = b[row * kK + k];
  // Ordinary stores belong to the generic proxy, the tensor core reads through the async proxy.
  fence_proxy_async_shared();
  __syncthreads();

  if (threadIdx.x == 0) {
    tcgen05_mma_f16(address, at_address(kSmallestA, shared_address(tile_a)),
                    at_address(kSmallestB, shared_address(tile_b)), kSmallest, /*accumulate=*/false);
    tcgen05_commit(shared_address(&barrier));
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();

  // D[m][n] is lane m, column n. Warp w reads lanes 32w to 32w+31.
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) d[row * kN + n] = r[n];
  end(address, 32);
}

void part_smallest(Report& r) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * kK, 1);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kK, 2);
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> dd(kM * kN);
  smallest<<<1, 128>>>(da.get(), db.get(), dd.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto d = dd.download();
  const auto want = fused_gemm({Format::bf16, kM, kN, kK, a.data(), b.data()});
  r.say("One tcgen05.mma: A 128 x 16, B 16 x 16 in bf16, D 128 x 16 in f32. Three descriptors describe it completely:");
  Table t({"word", "value", "fields"});
  t.row({"instruction descriptor", fmt::format("{:#010x}", kSmallest), "D f32, A and B bf16, N/8 = 2, M/16 = 8"});
  t.row({"A's matrix descriptor", fmt::format("{:#018x}", kSmallestA),
         "LBO 2048, SBO 128, no swizzle; + start address / 16"});
  t.row({"B's matrix descriptor", fmt::format("{:#018x}", kSmallestB),
         "LBO 256, SBO 128, no swizzle; + start address / 16"});
  r.table(t);
  r.check("every bit of D is the fused sum's", d == want, fmt::format("{} words", d.size()));
}

// ---- 2. Core matrices

constexpr uint32_t kPieces = 1024;  // of 16 bytes

/// D[m][k] = where the tensor core found A[m][k]: every half of the memory at `descriptor` holds the number of its
/// 16-byte piece, and B is the unit matrix.
__global__ void where(uint32_t* d, uint64_t descriptor, uint32_t idesc) {
  __shared__ alignas(128) __half memory[kPieces * 8], unit[kK * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < kPieces * 8; i += blockDim.x) memory[i] = __uint2half_rn(i / 8);
  for (uint32_t i = threadIdx.x; i < kK * kK; i += blockDim.x) {
    const uint32_t n = i / kK, k = i % kK;
    unit[k / 8 * kK * 8 + n * 8 + k % 8] = __uint2half_rn(n == k);
  }
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tcgen05_mma_f16(address, at_address(descriptor, shared_address(memory)),
                    at_address(kSmallestB, shared_address(unit)), idesc, /*accumulate=*/false);
    tcgen05_commit(shared_address(&barrier));
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  uint32_t r[kK];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  for (uint32_t k = 0; k < kK; ++k) d[threadIdx.x * kK + k] = r[k];
  end(address, 32);
}

void part_core(Report& r) {
  r.say(
      "Without a swizzle an operand is made of core matrices: 8 pieces of 16 bytes, one behind the other. K-major, a "
      "piece is one row and 8 elements along K; M-major, it is 8 rows and one element along K. LBO and SBO say how far "
      "it is from a core matrix to its neighbours. The program fills memory with its own addresses and multiplies by "
      "the unit matrix, so D shows the byte at which each core matrix of A, 128 x 16 in f16, begins:");
  struct Way {
    Major major;
    uint64_t descriptor;
  };
  constexpr Way ways[] = {
      {Major::k, smem_descriptor({.element = Element::f16, .swizzle = Swizzle::none, .leading = 2048, .stride = 128})},
      {Major::k, smem_descriptor({.element = Element::f16, .swizzle = Swizzle::none, .leading = 128, .stride = 256})},
      {Major::mn,
       smem_descriptor(
           {.element = Element::f16, .major = Major::mn, .swizzle = Swizzle::none, .leading = 2048, .stride = 128})},
      {Major::mn,
       smem_descriptor(
           {.element = Element::f16, .major = Major::mn, .swizzle = Swizzle::none, .leading = 128, .stride = 256})}};
  Table t({"A", "16 bytes on", "LBO", "SBO", "m 0-7, k 0-7", "m 8-15, k 0-7", "m 16-23, k 0-7", "m 0-7, k 8-15",
           "m 8-15, k 8-15"});
  bool whole = true;
  for (const Way& w : ways) {
    constexpr Instruction shape{.kind = Kind::f16, .a = Element::f16, .b = Element::f16, .m = kM, .n = kK};
    const uint32_t idesc = instruction_descriptor(shape) | uint32_t(w.major) << 15;
    DeviceBuffer<uint32_t> dd(kM * kK);
    where<<<1, 128>>>(dd.get(), w.descriptor, idesc);
    GEN5_CUDA(cudaDeviceSynchronize());
    const auto d = dd.download();
    const auto byte = [&](uint32_t m, uint32_t k) { return uint32_t(std::bit_cast<float>(d[m * kK + k])) * 16; };
    // Inside of a core matrix a step is 16 bytes: along M for K-major, along K for M-major.
    for (uint32_t m = 0; m < kM; ++m)
      for (uint32_t k = 0; k < kK; ++k)
        whole &= byte(m, k) == byte(m / 8 * 8, k / 8 * 8) + (w.major == Major::k ? m : k) % 8 * 16;
    const auto on = [&](uint32_t m, uint32_t k) { return byte(m, k) == byte(0, 0) + 16; };
    std::vector<std::string> row{w.major == Major::k ? "K-major" : "M-major",
                                 on(1, 0)   ? "m + 1"
                                 : on(0, 1) ? "k + 1"
                                            : "-",
                                 std::to_string((w.descriptor >> 16 & 0x3fff) * 16),
                                 std::to_string((w.descriptor >> 32 & 0x3fff) * 16)};
    for (const auto& [m, k] : {std::pair{0u, 0u}, {8u, 0u}, {16u, 0u}, {0u, 8u}, {8u, 8u}})
      row.push_back(std::to_string(byte(m, k)));
    t.row(row);
  }
  r.table(t);
  r.check("a core matrix is 128 contiguous bytes, whatever LBO and SBO are", whole);
  r.say(
      "Without a swizzle SBO leads along M and LBO along K, for both majornesses. With a swizzle an M-major operand "
      "has the two exchanged: see the next part.");
}

// ---- 3. Majors and swizzles

constexpr uint32_t kTileN = 64, kTileBytesK = 128;  // K: 64 elements of 16 bits, or 32 of 32

/// How a tile of `rows` x 128 bytes of K lies in shared memory, and what the hardware must be told.
struct Operand {
  Major major;
  Swizzle swizzle;
  uint32_t element_bytes;
  uint64_t descriptor;                // all but the start address
  uint32_t step;                      // bytes of start address from one MMA to the next along K, where that is constant
  uint32_t steps_in_span, span_step;  // K-major, swizzled: steps inside a row of the pattern, then to the next block
};

/// Where element (row, k) goes.
__device__ uint32_t offset_of(const Operand& o, uint32_t rows, uint32_t row, uint32_t k) {
  if (o.major == Major::k) return gen5::layout::k_major_offset(o.swizzle, rows, row, k * o.element_bytes);
  return gen5::layout::mn_major_offset(o.swizzle, kTileBytesK / o.element_bytes, row * o.element_bytes, k);
}

/// Start address of the MMA that covers the i-th 32 bytes of K.
__device__ uint32_t start_of(const Operand& o, uint32_t i) {
  return i / o.steps_in_span * o.span_step + i % o.steps_in_span * o.step;
}

// rows x 128 bytes: A with 128 rows, B with 64. Every descriptor below is evaluated by the compiler.
template <uint32_t kRows>
constexpr Operand k_major(Swizzle s) {
  const uint32_t span = gen5::layout::span_bytes(s);
  Operand o{Major::k, s, 2, 0, 32, span < 32 ? 1 : span / 32, span < 32 ? 2 * kRows * 16 : kRows * span};
  return o;
}
template <uint32_t kRows, Swizzle kSwizzle>
constexpr Operand k_major() {
  constexpr uint32_t span = gen5::layout::span_bytes(kSwizzle);
  Operand o = k_major<kRows>(kSwizzle);
  // Swizzled: SBO steps over 8 rows of the pattern, LBO is not read. None: LBO steps over a 16-byte column.
  o.descriptor = smem_descriptor({.element = Element::bf16,
                                  .major = Major::k,
                                  .swizzle = kSwizzle,
                                  .leading = kSwizzle == Swizzle::none ? kRows * 16 : 16,
                                  .stride = 8 * span});
  return o;
}
template <Swizzle kSwizzle, Element kElement = Element::bf16>
constexpr Operand mn_major() {
  constexpr uint32_t span = gen5::layout::span_bytes(kSwizzle), bytes = gen5::layout::stored_bits(kElement) / 8;
  constexpr uint32_t depth = kTileBytesK / bytes;
  constexpr bool none = kSwizzle == Swizzle::none;
  constexpr uint32_t group = (kSwizzle == Swizzle::b128_atom32 ? 4 : 8) * span;  // one group of k
  constexpr uint32_t block = depth * span;                                       // one span along M or N
  // The roles of LBO and SBO change with the swizzle.
  Operand o{Major::mn, kSwizzle, bytes, 0, 32 / bytes * span, 1, 32 / bytes * span};
  o.descriptor = smem_descriptor({.element = kElement,
                                  .major = Major::mn,
                                  .swizzle = kSwizzle,
                                  .leading = none ? group : block,
                                  .stride = none ? block : group});
  return o;
}

/// One 128 x 64 tile over 128 bytes of K: four MMAs. Operands come row-major from global memory.
template <class Word>
__global__ void tile(const Word* a, const Word* b, uint32_t* d, Operand oa, Operand ob, uint32_t idesc) {
  extern __shared__ __align__(1024) uint8_t shared[];  // swizzle patterns repeat every 1024 bytes at most
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 64);
  constexpr uint32_t depth = kTileBytesK / sizeof(Word);
  uint8_t* tile_b = shared + kM * kTileBytesK;
  for (uint32_t i = threadIdx.x; i < kM * depth; i += blockDim.x)
    *reinterpret_cast<Word*>(shared + offset_of(oa, kM, i / depth, i % depth)) = a[i];
  for (uint32_t i = threadIdx.x; i < kTileN * depth; i += blockDim.x)
    *reinterpret_cast<Word*>(tile_b + offset_of(ob, kTileN, i / depth, i % depth)) = b[i];
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint64_t da = at_address(oa.descriptor, shared_address(shared) + start_of(oa, i));
      const uint64_t db = at_address(ob.descriptor, shared_address(tile_b) + start_of(ob, i));
      if (sizeof(Word) == 2)
        tcgen05_mma_f16(address, da, db, idesc, i > 0);
      else
        tcgen05_mma_tf32(address, da, db, idesc, i > 0);
    }
    tcgen05_commit(shared_address(&barrier));
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  uint32_t r[kTileN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kTileN; ++n) d[threadIdx.x * kTileN + n] = r[n];
  end(address, 64);
}

const char* swizzle_name(Swizzle s) {
  switch (s) {
    case Swizzle::none: return "none";
    case Swizzle::b32: return "32B";
    case Swizzle::b64: return "64B";
    case Swizzle::b128: return "128B";
    case Swizzle::b128_atom32: return "128B, 32B atoms";
  }
  return "";
}

uint32_t leading_of(const Operand& o) { return uint32_t(o.descriptor >> 16 & 0x3fff) * 16; }
uint32_t stride_of(const Operand& o) { return uint32_t(o.descriptor >> 32 & 0x3fff) * 16; }

/// f32 words of A·Bᵀ for tf32 operands, step by step.
std::vector<uint32_t> fused_tf32(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t m, uint32_t n,
                                 uint32_t k) {
  std::vector<uint32_t> d(m * n);
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t j = 0; j < n; ++j)
      for (uint32_t s = 0; s < k; s += 8)
        d[i * n + j] = fused_step(Format::tf32, {&a[i * k + s], 8}, {&b[j * k + s], 8}, d[i * n + j], s > 0);
  return d;
}

void part_layouts(Report& r) {
  r.say(
      "The same 128 x 64 x 64 product with its operands laid out in every way that the descriptor allows. A step along "
      "K (32 bytes) is an addition to the start address.");
  struct Way {
    Operand a, b;
  };
  const Way ways[] = {{k_major<kM, Swizzle::none>(), k_major<kTileN, Swizzle::none>()},
                      {k_major<kM, Swizzle::b32>(), k_major<kTileN, Swizzle::b32>()},
                      {k_major<kM, Swizzle::b64>(), k_major<kTileN, Swizzle::b64>()},
                      {k_major<kM, Swizzle::b128>(), k_major<kTileN, Swizzle::b128>()},
                      {mn_major<Swizzle::none>(), mn_major<Swizzle::none>()},
                      {mn_major<Swizzle::b32>(), mn_major<Swizzle::b32>()},
                      {mn_major<Swizzle::b64>(), mn_major<Swizzle::b64>()},
                      {mn_major<Swizzle::b128>(), mn_major<Swizzle::b128>()},
                      {k_major<kM, Swizzle::b128>(), mn_major<Swizzle::b64>()},
                      {mn_major<Swizzle::b32>(), k_major<kTileN, Swizzle::none>()}};
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * 64, 3);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kTileN * 64, 4);
  const auto want = fused_gemm({Format::bf16, kM, kTileN, 64, a.data(), b.data()});
  DeviceBuffer<uint16_t> da(a), db(b);
  Table t({"A", "swizzle", "LBO", "SBO", "B", "swizzle", "LBO", "SBO", "equal"});
  bool all = true;
  constexpr uint32_t base =
      instruction_descriptor({.kind = Kind::f16, .a = Element::bf16, .b = Element::bf16, .m = kM, .n = kTileN});
  for (const Way& w : ways) {
    DeviceBuffer<uint32_t> dd(kM * kTileN);
    // Bits 15 and 16 of the instruction descriptor: A is M-major, B is N-major.
    const uint32_t idesc = base | uint32_t(w.a.major) << 15 | uint32_t(w.b.major) << 16;
    tile<uint16_t><<<1, 128, (kM + kTileN) * kTileBytesK>>>(da.get(), db.get(), dd.get(), w.a, w.b, idesc);
    GEN5_CUDA(cudaDeviceSynchronize());
    const bool equal = dd.download() == want;
    all &= equal;
    const auto cells = [](const Operand& o, const char* mn) {
      return std::vector<std::string>{o.major == Major::k ? "K-major" : mn, swizzle_name(o.swizzle),
                                      std::to_string(leading_of(o)), std::to_string(stride_of(o))};
    };
    auto row = cells(w.a, "M-major");
    for (const auto& c : cells(w.b, "N-major")) row.push_back(c);
    row.push_back(equal ? "yes" : "NO");
    t.row(row);
  }
  r.table(t);
  r.check("ten ways to lay out the operands, one result", all, "bit for bit");

  std::string picture =
      "K-major, 128B swizzle: which 16-byte piece of its row (0 to 7) lies where. A row is 128 bytes.\n\n";
  for (uint32_t row = 0; row < 8; ++row) {
    picture += fmt::format("  row {}  ", row);
    for (uint32_t piece = 0; piece < 8; ++piece)
      picture += fmt::format(" {}", gen5::layout::swizzled(Swizzle::b128, row * 128 + piece * 16) / 16 % 8);
    picture += "\n";
  }
  r.picture(picture);

  // 32-bit elements can be MN-major only in the 128-byte mode whose atoms are 32 bytes.
  std::vector<uint32_t> a32(kM * 32), b32(kTileN * 32);
  Random random(5);
  for (auto* v : {&a32, &b32})
    for (uint32_t& w : *v) w = std::bit_cast<uint32_t>(float(random.unit()));
  DeviceBuffer<uint32_t> da32(a32), db32(b32), dd(kM * kTileN);
  constexpr uint32_t idesc = instruction_descriptor({.kind = Kind::tf32,
                                                     .a = Element::tf32,
                                                     .b = Element::tf32,
                                                     .m = kM,
                                                     .n = kTileN,
                                                     .a_major = Major::mn,
                                                     .b_major = Major::mn});
  constexpr Operand o = mn_major<Swizzle::b128_atom32, Element::tf32>();
  tile<uint32_t><<<1, 128, (kM + kTileN) * kTileBytesK>>>(da32.get(), db32.get(), dd.get(), o, o, idesc);
  GEN5_CUDA(cudaDeviceSynchronize());
  r.say(fmt::format(
      "kind::tf32, both operands MN-major: swizzle 128B with 32-byte atoms, LBO {}, SBO {} (a group is 4 k).",
      leading_of(o), stride_of(o)));
  r.check("MN-major tf32", dd.download() == fused_tf32(a32, b32, kM, kTileN, 32));
}

// ---- 4. Accumulation

/// Runs `count` MMAs on the same operands into one accumulator, and tells the cycles from issue to the barrier.
__global__ void repeat(const uint16_t* a, const uint16_t* b, uint32_t* d, long long* cycles, uint32_t count) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  const uint32_t row = threadIdx.x;
  for (uint32_t k = 0; k < kK; ++k) tile_a[k / 8 * kM * 8 + row * 8 + k % 8] = a[row * kK + k];
  if (row < kN)
    for (uint32_t k = 0; k < kK; ++k) tile_b[k / 8 * kN * 8 + row * 8 + k % 8] = b[row * kK + k];
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint64_t da = at_address(kSmallestA, shared_address(tile_a)),
                   db = at_address(kSmallestB, shared_address(tile_b));
    const long long start = clock64();
    for (uint32_t i = 0; i < count; ++i) tcgen05_mma_f16(address, da, db, kSmallest, i > 0);
    tcgen05_commit(shared_address(&barrier));
    mbarrier_wait_parity(shared_address(&barrier), 0);
    *cycles = clock64() - start;
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) d[row * kN + n] = r[n];
  end(address, 32);
}

void part_accumulate(Report& r) {
  r.say(
      "enable-input-d is a predicate: false for the first MMA of a tile (the old D is not read), true afterwards. "
      "MMAs with the same accumulator, shape and kind execute in the order of issue, so a chain needs no wait in "
      "between.");
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * kK, 6);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kK, 7);
  DeviceBuffer<uint16_t> da(a), db(b);
  Table t({"MMAs in the chain", "cycles to the barrier", "D[0][0]", "equal"});
  bool all = true;
  for (uint32_t count : {1u, 2u, 4u, 8u, 16u, 32u}) {
    DeviceBuffer<uint32_t> dd(kM * kN);
    DeviceBuffer<long long> cycles(1);
    repeat<<<1, 128>>>(da.get(), db.get(), dd.get(), cycles.get(), count);
    GEN5_CUDA(cudaDeviceSynchronize());
    // The same as one product whose K is `count` copies of the operands' K.
    std::vector<uint16_t> la, lb;
    const auto lengthen = [&](const std::vector<uint16_t>& from, uint32_t rows, std::vector<uint16_t>& to) {
      for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t i = 0; i < count; ++i)
          to.insert(to.end(), from.begin() + row * kK, from.begin() + (row + 1) * kK);
    };
    lengthen(a, kM, la);
    lengthen(b, kN, lb);
    const auto d = dd.download();
    const bool equal = d == fused_gemm({Format::bf16, kM, kN, kK * count, la.data(), lb.data()});
    all &= equal;
    t.row({std::to_string(count), std::to_string(cycles.download()[0]),
           fmt::format("{:.6f}", std::bit_cast<float>(d[0])), equal ? "yes" : "NO"});
    r.value(fmt::format("chain_{}_cycles", count), double(cycles.download()[0]));
  }
  r.table(t);
  r.check("a chain is one long sum, K step by K step", all, "bit for bit");
}

// ---- 5. Commit and fences

/// What the commit part saw, in cycles after the first issue.
struct Times {
  long long empty, first, second;
};

// Two accumulators, each with its own commit; a barrier of another warp waits for each. And a commit with nothing
// before it.
__global__ void commits(uint32_t* d, Times* times) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier, other, none;
  __shared__ uint32_t slot;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&other), 1);
    mbarrier_init(shared_address(&none), 1);
  }
  const uint32_t address = begin(&slot, &barrier, 64);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += blockDim.x) tile_a[i] = 0x3f80;  // 1.0
  for (uint32_t i = threadIdx.x; i < kN * kK; i += blockDim.x) tile_b[i] = 0x3f80;
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint64_t da = at_address(kSmallestA, shared_address(tile_a)),
                   db = at_address(kSmallestB, shared_address(tile_b));
    const long long start = clock64();
    tcgen05_commit(shared_address(&none));  // nothing to wait for: arrives right away
    mbarrier_wait_parity(shared_address(&none), 0);
    times->empty = clock64() - start;
    const long long issue = clock64();
    tcgen05_mma_f16(address, da, db, kSmallest, false);
    tcgen05_commit(shared_address(&barrier));
    tcgen05_mma_f16(address + 32, da, db, kSmallest, false);
    tcgen05_mma_f16(address + 32, da, db, kSmallest, true);
    tcgen05_commit(shared_address(&other));  // tracks everything this thread has issued, the first MMA too
    mbarrier_wait_parity(shared_address(&barrier), 0);
    times->first = clock64() - issue;
    mbarrier_wait_parity(shared_address(&other), 0);
    times->second = clock64() - issue;
  }
  // commit acts as fence::before_thread_sync; the reader's side is fence::after_thread_sync behind the wait.
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  uint32_t r[kN], s[kN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  mbarrier_wait_parity(shared_address(&other), 0);
  tcgen05_fence_after_thread_sync();
  tcgen05_ld_32x32b(s, address + 32 + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  d[2 * threadIdx.x] = r[0];
  d[2 * threadIdx.x + 1] = s[0];
  end(address, 64);
}

constexpr uint32_t kChain = 8, kWide = 256;  // MMAs, and the columns of each
constexpr uint32_t kWideInstruction =
    instruction_descriptor({.kind = Kind::f16, .a = Element::bf16, .b = Element::bf16, .m = kM, .n = kWide});
constexpr uint64_t kWideB = smem_descriptor(
    {.element = Element::bf16, .major = Major::k, .swizzle = Swizzle::none, .leading = kWide * 16, .stride = 128});

// A chain of MMAs into one accumulator: a commit behind each and a wait for it, or one commit behind all.
template <bool kWaitEach, bool kStamped>
__global__ void chain(uint32_t* d, uint64_t* stamps) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[kWide * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, kWide);
  for (uint32_t i = threadIdx.x; i < kM * kK; i += blockDim.x) tile_a[i] = 0x3f80;  // 1.0
  for (uint32_t i = threadIdx.x; i < kWide * kK; i += blockDim.x) tile_b[i] = 0x3f80;
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    Stamps<kStamped> asked(stamps, Moment::asked), landed(stamps, Moment::landed), done(stamps, Moment::done);
    const uint64_t da = at_address(kSmallestA, shared_address(tile_a)), db = at_address(kWideB, shared_address(tile_b));
    for (uint32_t i = 0; i < kChain; ++i) {
      asked.take();
      landed.take();  // the operands are there before
      tcgen05_mma_f16(address, da, db, kWideInstruction, i > 0);
      if (kWaitEach || i + 1 == kChain) {
        tcgen05_commit(shared_address(&barrier));
        mbarrier_wait_parity(shared_address(&barrier), kWaitEach ? i & 1 : 0);
        done.take();
      }
    }
  }
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  d[threadIdx.x] = r[0];
  end(address, kWide);
}

template <bool kWaitEach>
void launch_chain(uint32_t* d, uint64_t* stamps) {
  if (stamps)
    chain<kWaitEach, true><<<1, 128>>>(d, stamps);
  else
    chain<kWaitEach, false><<<1, 128>>>(d, nullptr);
}

void part_commit(Report& r) {
  DeviceBuffer<uint32_t> dd(2 * kM);
  DeviceBuffer<Times> times(1);
  commits<<<1, 128>>>(dd.get(), times.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const Times t = times.download()[0];
  r.say(
      "tcgen05.commit makes an mbarrier receive one arrival when everything that this thread issued before it is "
      "complete. It does not wait itself. A commit with nothing before it arrives at once.");
  Table table({"barrier", "tracks", "cycles"});
  table.row({"first", "nothing", std::to_string(t.empty)});
  table.row({"second", "1 MMA", std::to_string(t.first)});
  table.row({"third", "those 1 and 2 more", std::to_string(t.second)});
  r.table(table);
  const auto d = dd.download();
  bool good = true;
  for (uint32_t i = 0; i < kM; ++i)
    good &= d[2 * i] == std::bit_cast<uint32_t>(16.0f) && d[2 * i + 1] == std::bit_cast<uint32_t>(32.0f);
  r.check("each accumulator is complete when its mbarrier's phase has ended", good, "16 and 32 in all 128 lanes");
  r.check("the later group comes later", t.second >= t.first);
  r.value("commit_first_cycles", double(t.first));

  const auto run = [&](auto launch) {
    DeviceBuffer<uint32_t> chained(kM);
    const Pipeline p = run_pipeline({.loads_of_a_block = 1, .work_of_a_block = 1}, r.stamps(),
                                    [&](uint64_t* stamps) { launch(chained.get(), stamps); });
    bool right = true;
    for (uint32_t w : chained.download()) right &= w == std::bit_cast<uint32_t>(float(kChain * kK));
    return std::pair(p, right);
  };
  // Stamps know of a chain no more than when its one commit has come: it is one span then.
  const PipelineNames names{.asks = "", .loads = "", .work = "tensor core", .outputs = ""};
  const auto [each, each_right] = run(launch_chain<true>);
  const auto [once, once_right] = run(launch_chain<false>);
  r.say(
      fmt::format("The cost of a wait: {} MMAs of {} columns into one accumulator, with a commit and a wait after "
                  "each, and with one commit after all.",
                  kChain, kWide));
  r.picture(draw({picture_of(each, "A wait behind each:", names), picture_of(once, "One commit behind all:", names)}));
  r.say(legend(once, names, "MMAs"));
  r.say(
      "What to see: an MMA of 256 columns keeps the tensor core busy for half the cycles that pass until its commit "
      "has been seen. A kernel that waits after each MMA leaves the tensor core idle for the rest; a chain needs no "
      "wait, and keeps it busy.");
  r.check("the sums of both are right", each_right && once_right, fmt::format("{} in all lanes", kChain * kK));
}

// ---- 6. Numbers

std::string bits_of(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f);
  return fmt::format("{} {:08b} {:023b}", u >> 31, u >> 23 & 255, u & 0x7fffff);
}

void part_numbers(Report& r) {
  r.say(
      "Sixteen products: 1, 2^-20, twelve of 0.75 * 2^-25, one of -2.25 * 2^-25 and one near -1. Each is exact; the "
      "three sums differ in when they drop bits. The tensor core cuts every term to 25 bits below the largest exponent "
      "(2^0 here), adds the cut terms exactly, and cuts the sum to f32 once. f32 in K order rounds after every "
      "addition. float64 keeps everything.");
  // Row 0 of A and of B hold the products; the other elements are zero.
  const float x[kK] = {1,          0x1p-10f,   0x1.8p-13f, 0x1.8p-13f, 0x1.8p-13f, 0x1.8p-13f, 0x1.8p-13f,  0x1.8p-13f,
                       0x1.8p-13f, 0x1.8p-13f, 0x1.8p-13f, 0x1.8p-13f, 0x1.8p-13f, 0x1.8p-13f, -0x1.8p-13f, -1};
  const float y[kK] = {1,        0x1p-10f, 0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f,   0x1p-13f,
                       0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1.8p-12f, 0x1.fcp-1f};
  std::vector<uint16_t> a(kM * kK), b(kN * kK);
  for (uint32_t k = 0; k < kK; ++k) {
    a[k] = bf16_of(x[k]);
    b[k] = bf16_of(y[k]);
  }
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> dd(kM * kN);
  smallest<<<1, 128>>>(da.get(), db.get(), dd.get());
  GEN5_CUDA(cudaDeviceSynchronize());

  Table terms({"k", "product", "bits below 2^0, to 2^-25", "kept"});
  double exact = 0;
  float ordered = 0;
  int64_t units = 0;  // of 2^-25
  for (uint32_t k = 0; k < kK; ++k) {
    const double p = double(x[k]) * y[k];
    const double kept = std::trunc(std::ldexp(p, 25));
    exact += p;
    ordered = float(double(ordered) + p);
    units += int64_t(kept);
    if (k < 4 || k > 12)
      terms.row({std::to_string(k), fmt::format("{:+.6e}", p), fmt::format("{:+.2f} units of 2^-25", std::ldexp(p, 25)),
                 fmt::format("{:+.0f}", kept)});
    if (k == 4) terms.row({"...", "", "", ""});
  }
  r.table(terms);
  const float fused = float(std::ldexp(double(units), -25));
  const float got = std::bit_cast<float>(dd.download()[0]);
  r.picture(fmt::format(
      "                     s exponent fraction\n  tensor core        {}  {:.10e}\n  fused sum (host)   {}  {:.10e}\n"
      "  f32 in K order     {}  {:.10e}\n  float64, to f32    {}  {:.10e}\n",
      bits_of(got), got, bits_of(fused), fused, bits_of(ordered), ordered, bits_of(float(exact)), exact));
  r.check("the tensor core's bits are the fused sum's", std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(fused));
  r.check("all three ways differ", fused != ordered && fused != float(exact) && ordered != float(exact));
}

// ---- Mistakes

// mistakes.txt says which lines are wrong in which kernel. These run a kernel and say whether its numbers are right.

Verdict smallest_right(void (*kernel)(const uint16_t*, const uint16_t*, uint32_t*)) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * kK, 1);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kK, 2);
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> dd(kM * kN);
  kernel<<<1, 128>>>(da.get(), db.get(), dd.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return difference("d", dd.download(), fused_gemm({Format::bf16, kM, kN, kK, a.data(), b.data()}), kN, Shown::floats);
}

/// Operands K-major, 128-byte swizzle.
Verdict tile_right(void (*kernel)(const uint16_t*, const uint16_t*, uint32_t*, Operand, Operand, uint32_t)) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * 64, 3);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kTileN * 64, 4);
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> dd(kM * kTileN);
  uint32_t idesc =
      instruction_descriptor({.kind = Kind::f16, .a = Element::bf16, .b = Element::bf16, .m = kM, .n = kTileN});
  kernel<<<1, 128, (kM + kTileN + 8) * kTileBytesK>>>(da.get(), db.get(), dd.get(), k_major<kM, Swizzle::b128>(),
                                                      k_major<kTileN, Swizzle::b128>(), idesc);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return difference("d", dd.download(), fused_gemm({Format::bf16, kM, kTileN, 64, a.data(), b.data()}), kTileN,
                    Shown::floats);
}

#include "mistakes.inc"

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter(
      "05", "tcgen05.mma",
      "The tensor core multiplies tiles that descriptors point at, into Tensor Memory, and an mbarrier reports when it "
      "is done.");
  chapter.part("smallest", "One MMA from shared memory filled by hand", part_smallest);
  chapter.part("core", "Core matrices, and where LBO and SBO lead", part_core);
  chapter.part("layouts", "Both majors, every swizzle", part_layouts);
  chapter.part("accumulate", "Chains along K", part_accumulate);
  chapter.part("commit", "Commit, and the cost of a wait", part_commit);
  chapter.part("numbers", "One sum, three answers", part_numbers);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}
